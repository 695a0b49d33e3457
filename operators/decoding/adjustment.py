"""Logits rules: they change each row of logits before a decoding method receives it.

A rule depends only on the output before a row. To every decoding method the result is simply another model:
one pass still verifies a whole draft with any acceptance rule, and with an exact one the output does not
depend on the draft. The rules for all models are here: finals are not empty and end their sentence, and
figures end.
"""

from collections.abc import Callable, Iterator

import numpy as np
import regex

from operators.decoding.forward import (
    AskDraftModel,
    BeamForward,
    Logits,
    Method,
    ModelRequest,
    Request,
    Task,
    TreeForward,
    observed,
)
from operators.decoding.pieces import spelled
from operators.languages import SENTENCE_MARKS

#: Changes the row after an output, shape (vocabulary,), in place.
RowRule = Callable[[Logits, tuple[int, ...]], None]


def adjusted(method: Method, task: Task, *rules: RowRule) -> Method:
    """The method for this task, with ``rules`` applied in turn to each row after the prompt."""

    def change(request: Request, logits: Logits) -> None:
        # The draft model only proposes.
        if isinstance(request, AskDraftModel):
            return
        # Nodes at the end of a tree may be left out.
        for row, output in zip(logits, outputs(request, len(task.prompt)), strict=False):
            if output is not None:
                for rule in rules:
                    rule(row, output)

    return observed(method, change)


def outputs(request: ModelRequest, first: int) -> Iterator[tuple[int, ...] | None]:
    """The output before each row of a request; None inside the prompt. The output begins at ``first``."""
    tokens = tuple(request.tokens)
    if isinstance(request, BeamForward):
        yield from ((*tokens[first:], *path) for path in request.paths)
        return
    for end in range(request.logits_from + 1, len(tokens) + 1):
        yield tokens[first:end] if end >= first else None
    if isinstance(request, TreeForward):
        tree = request.tree
        for node in range(max(0, request.logits_from - len(tokens)), tree.size):
            yield (*tokens[first:], *(tree.tokens[one] for one in tree.path(node)))


def forbid(row: Logits, is_forbidden: Callable[[int], bool]) -> None:
    """Rule out forbidden tokens until the most probable one of a row is allowed; others are not checked."""
    while np.isfinite(row[best := int(row.argmax())]) and is_forbidden(best):
        row[best] = -np.inf


def nonempty(task: Task) -> RowRule:
    """No token ends the output while it is blank.

    A model trained to give an empty answer while nothing is certain may take a short complete sentence ("Ever
    tried.") for an unfinished one. Here the segment is known to have ended.

    In some vocabularies the space before the first word is a token of its own. If the model would end the
    output, or has output a space already, another space would only delay the end, so it is forbidden too.
    """

    def is_space(token: int) -> bool:
        return task.piece(token).decode("utf-8", "replace").isspace()

    def forbid_nothing(row: Logits, output: tuple[int, ...]) -> None:
        if not all(map(is_space, output)):
            return
        hesitates = bool(output) or int(row.argmax()) in task.stop
        forbid(row, lambda token: token in task.stop or (hesitates and is_space(token)))

    return forbid_nothing


# A sentence mark and any punctuation after it; searched from the end, which takes linear time.
_ENDED = regex.compile(rf"(?r)[{SENTENCE_MARKS}]\p{{P}}*\s*\Z")
#: An answer with this many tokens per source token may end anywhere, because more would be invented.
_FULL_LENGTH = 2


def lacks_end(answer: str, text: str) -> bool:
    """Whether the source ``text`` ends its sentence and the answer does not."""
    return bool(_ENDED.search(text)) and not _ENDED.search(answer)


def whole(task: Task, text: str) -> RowRule:
    """The output does not end before its sentence does, if the source ``text`` ends a sentence.

    A model trained to withhold uncertain words also withholds the end of a complete sentence that looks
    unfinished: "Which obtained at that time." No later update would add it.
    """
    most = _FULL_LENGTH * len(task.source) if _ENDED.search(text) else 0

    def forbid_end(row: Logits, output: tuple[int, ...]) -> None:
        if len(output) >= most or int(row.argmax()) not in task.stop:
            return
        if not _ENDED.search(spelled(output, task.piece)):
            forbid(row, lambda token: token in task.stop)

    return forbid_end


# Digits, and single marks or spaces between them.
_FIGURE = regex.compile(r"\d(?:[\p{P}\p{Zs}]?\d)*+")
_MARK = regex.compile(r"[\p{P}\p{Zs}]")
# At least nine digits that repeat one to four of them; twelve are enough to tell.
_REPEATED = regex.compile(r"(?=\d{9})(\d{1,4}?)\1{2,}$")
_REPEATED_DIGITS = 12
#: Maximum digits of a figure that the source may spell in words, such as two hundred trillion.
_IN_WORDS = 15


def ending_figures(task: Task, text: str) -> RowRule:
    """Figures of the output end; the source is ``text``.

    A small model that spells them digit by digit loses count: after a few equal groups, as in 1,000,000,000,
    another group is always the likeliest. So a figure that repeats itself and has as many digits as the
    longest one of the source gets no further digit, and the sentence continues.
    """
    longest = max(map(len, _figures(text)), default=0)
    most = longest if longest >= 9 else _IN_WORDS

    def forbid_digits(row: Logits, output: tuple[int, ...]) -> None:
        if len(output) < most or not _has_digit(spelled(output[-2:], task.piece)):
            return
        figures = _figures(spelled(output, task.piece))
        is_long = [len(figure) >= most for figure in figures]
        # A model that begins another long figure is lost; its answer is cut like any repetition.
        if is_long.count(True) == 1 and is_long[-1] and _REPEATED.search(figures[-1][-_REPEATED_DIGITS:]):
            forbid(row, lambda token: _has_digit(spelled([token], task.piece)))

    return forbid_digits


def _figures(text: str) -> list[str]:
    """The digits of each figure in a text."""
    return [_MARK.sub("", figure) for figure in _FIGURE.findall(text)]


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))
