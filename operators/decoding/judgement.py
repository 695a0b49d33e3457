"""Whether what a model answered can be a translation at all: not whether it is a good one."""

from collections.abc import Sequence

import regex

from operators.text_layout import cleaned
from operators.trouble import Trouble

# Letters of a text to which nothing is no answer; "uh" may rightly be nothing.
_SAYS_SOMETHING = 8
# Letters of another script than the language's that are no name and no formula yet.
_FOREIGN = 4

_LETTER = regex.compile(r"\p{L}")


def judge(
    source: str, answer: str, scripts: Sequence[str], *, is_first: bool, may_wait: bool = False
) -> Trouble | None:
    """What is wrong with an answer, None if nothing that can be told without understanding it.

    Args:
        scripts: Unicode scripts of the target language. Latin letters are welcome in all, as names and loan
            words are spelled with them; any letter is where none are given.
        is_first: Whether nothing was answered to an earlier state of this text. If something was, even a
            short text is not answered with nothing: a caption that was read is not taken away for it.
        may_wait: Whether the model was trained to say nothing where nothing is certain yet.
    """
    if not cleaned(answer):
        if is_first and may_wait:
            return None
        said = sum(map(str.isalnum, source))
        return Trouble.EMPTY if said >= (_SAYS_SOMETHING if is_first else 1) else None
    if not scripts or answer.isascii():
        return None
    own = regex.compile("|".join(rf"\p{{{script}}}" for script in (*scripts, "Latin", "Common", "Inherited")))
    letters = _LETTER.findall(answer)
    foreign = sum(own.fullmatch(letter) is None for letter in letters)
    return Trouble.WRONG_SCRIPT if foreign >= _FOREIGN and 2 * foreign > len(letters) else None
