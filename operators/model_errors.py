"""Failures of a language model: recognised from its answer, counted by kind and reported once.

If an answer is lost, the last good caption stays, and the next update is translated from there. A truncated
answer is shown as it is.
"""

from collections.abc import Sequence
from enum import StrEnum
from threading import Lock

import regex

from operators.text import cleaned


class ErrorKind(StrEnum):
    """The kinds of trouble, as events and summaries name them."""

    #: llama.cpp could not run the model.
    FAILED_PASS = "failed_pass"
    #: Its logits are NaN or infinite.
    NOT_A_NUMBER = "not_a_number"
    #: It gave an empty answer to a text.
    EMPTY = "empty"
    #: It answered mostly in a script that the target language does not use.
    WRONG_SCRIPT = "wrong_script"
    #: It repeated itself endlessly; the repeated text is kept once.
    REPETITION = "repetition"
    #: It did not end; the answer was cut at its length limit.
    LONG_ANSWER = "long_answer"
    #: The text is too long for one update; the rest is left for the next one, or omitted from a final.
    LONG_SOURCE = "long_source"

    @property
    def is_failure(self) -> bool:
        """Whether the model itself failed, so that another try may succeed."""
        return self in (ErrorKind.FAILED_PASS, ErrorKind.NOT_A_NUMBER)

    @property
    def is_cut(self) -> bool:
        """Whether the answer did not end, and only its start is shown."""
        return self in (ErrorKind.REPETITION, ErrorKind.LONG_ANSWER)

    @property
    def is_loss(self) -> bool:
        return self.is_failure or self in (ErrorKind.EMPTY, ErrorKind.WRONG_SCRIPT)


class ModelError(Exception):
    """The model gave no usable answer; the message says why."""

    def __init__(self, kind: ErrorKind, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class CacheFullError(ModelError):
    """The KV cache has no space for a pass; there may be space once other sequences are removed."""

    def __init__(self, why: str) -> None:
        super().__init__(ErrorKind.FAILED_PASS, why)


#: After this many updates in a row without an answer, the model counts as broken until it answers again.
MAX_FAILURES = 20

# Viewers see the effect of the other kinds in the captions; those are only counted.
_SAID = {
    ErrorKind.FAILED_PASS: "the model failed; the caption stays as it was, and the next update tries again",
    ErrorKind.NOT_A_NUMBER: "the model computed no numbers; the caption stays as it was, and the next update "
    "tries again",
    ErrorKind.EMPTY: "the model gave an empty answer; the caption stays as it was",
    ErrorKind.WRONG_SCRIPT: "the model answered in another language's script; the caption stays as it was",
    ErrorKind.LONG_SOURCE: "a text is too long to be translated in one update; the rest waits for the "
    "next one, and is left out of a final",
}


class ModelErrorLog:
    """Records the outcome of each update, and returns messages for the user; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._said: set[ErrorKind] = set()
        self._answered = False
        self._lost_in_a_row = 0

    def note(self, trouble: ErrorKind | None, why: str) -> list[str]:
        """Record an update; ``why`` names it, with details for a person.

        Returns:
            Messages for the user: at the first trouble of most kinds, when the model breaks and when it
            answers again.
        """
        with self._lock:
            was_broken = self._lost_in_a_row >= MAX_FAILURES
            is_lost = trouble is not None and trouble.is_loss
            self._lost_in_a_row = self._lost_in_a_row + 1 if is_lost else 0
            self._answered = self._answered or not is_lost
            sentences = []
            if trouble in _SAID and trouble not in self._said:
                self._said.add(trouble)
                sentences.append(f"{_SAID[trouble]} ({why}); further cases are only counted")
            if self._lost_in_a_row == MAX_FAILURES:
                sentences.append(
                    f"the model gave no answer {MAX_FAILURES} times in a row; captions stand still"
                )
            elif was_broken and not is_lost:
                sentences.append("the model answers again")
        return sentences

    def complaint(self) -> str | None:
        """The message at the end of a run whose model failed until the end; None otherwise."""
        with self._lock:
            count = self._lost_in_a_row
            if count == 0 or (self._answered and count < MAX_FAILURES):
                return None
        updates = "the last update" if count == 1 else f"the last {count} updates"
        return f"the model gave no answer to {updates}, whose captions stayed as they were; use another model"


# A text with this many letters needs an answer; "uh" may have none.
_MIN_LETTERS = 8
# Fewer letters of another script than this may be a name or a formula.
_MIN_FOREIGN_LETTERS = 4

_LETTER = regex.compile(r"\p{L}")


def answer_error(
    source: str, answer: str, scripts: Sequence[str], *, is_first: bool, may_wait: bool = False
) -> ErrorKind | None:
    """The error that an answer shows without being understood; None if there is none.

    Args:
        scripts: Unicode scripts of the target language. Latin letters are always allowed, because names and
            loan words use them. Without scripts all letters are allowed.
        is_first: Whether there is no answer yet to an earlier state of this text. If there is one, an empty
            answer is wrong even for a short text, because it would remove a caption that was read.
        may_wait: Whether the model was trained to give an empty answer while nothing is certain.
    """
    if not cleaned(answer):
        if is_first and may_wait:
            return None
        said = sum(map(str.isalnum, source))
        return ErrorKind.EMPTY if said >= (_MIN_LETTERS if is_first else 1) else None
    if not scripts or answer.isascii():
        return None
    own = regex.compile("|".join(rf"\p{{{script}}}" for script in (*scripts, "Latin", "Common", "Inherited")))
    letters = _LETTER.findall(answer)
    foreign = sum(own.fullmatch(letter) is None for letter in letters)
    return ErrorKind.WRONG_SCRIPT if foreign >= _MIN_FOREIGN_LETTERS and 2 * foreign > len(letters) else None
