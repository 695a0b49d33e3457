"""Whether a model's answer can be a translation at all, not whether it is a good one."""

from collections.abc import Sequence

import regex

from operators.text import cleaned
from operators.trouble import Trouble

# A text of this many letters needs an answer; "uh" may rightly have none.
_MIN_LETTERS = 8
# Fewer letters of another script than this may be a name or a formula.
_MIN_FOREIGN_LETTERS = 4

_LETTER = regex.compile(r"\p{L}")


def judge(
    source: str, answer: str, scripts: Sequence[str], *, is_first: bool, may_wait: bool = False
) -> Trouble | None:
    """What is wrong with an answer, as far as it shows without understanding it; None if nothing.

    Args:
        scripts: Unicode scripts of the target language. Latin letters are always allowed, because names and
            loan words use them. If no scripts are given, any letter is.
        is_first: Whether there is no answer yet to an earlier state of this text. If there is one, an empty
            answer is wrong even for a short text: a caption that was read is not removed for it.
        may_wait: Whether the model was trained to answer nothing while nothing is certain.
    """
    if not cleaned(answer):
        if is_first and may_wait:
            return None
        said = sum(map(str.isalnum, source))
        return Trouble.EMPTY if said >= (_MIN_LETTERS if is_first else 1) else None
    if not scripts or answer.isascii():
        return None
    own = regex.compile("|".join(rf"\p{{{script}}}" for script in (*scripts, "Latin", "Common", "Inherited")))
    letters = _LETTER.findall(answer)
    foreign = sum(own.fullmatch(letter) is None for letter in letters)
    return Trouble.WRONG_SCRIPT if foreign >= _MIN_FOREIGN_LETTERS and 2 * foreign > len(letters) else None
