"""Figures that end: a small model that spells them digit by digit loses count.

After a few equal groups, as in 1,000,000,000 or 0.3333333333, one more of them is the likeliest, without end.
A figure that repeats itself and has as many digits as the longest one of the source gets no further digit,
and the sentence goes on.
"""

import numpy as np
import regex

from operators.decoding.adjusted import adjusted
from operators.decoding.forward import Logits, Method, Task
from operators.decoding.pieces import spelled

# Digits, and single marks or spaces between them.
_FIGURE = regex.compile(r"\d(?:[\p{P}\p{Zs}]?\d)*+")
_MARK = regex.compile(r"[\p{P}\p{Zs}]")
# At least nine digits that repeat one to four of them.
_REPEATED = regex.compile(r"(?=\d{9})(\d{1,4}?)\1{2,}$")
#: Digits of a figure that the source may give in words, such as two hundred trillion.
_IN_WORDS = 15


def ending_figures(method: Method, task: Task, text: str) -> Method:
    """The method on the same task, whose source is ``text``, with figures that end."""
    longest = max(map(len, _figures(text)), default=0)
    most = longest if longest >= 9 else _IN_WORDS

    def forbid_digits(row: Logits, output: tuple[int, ...]) -> None:
        if len(output) < most or not _has_digit(spelled(output[-2:], task.piece)):
            return
        figures = _figures(spelled(output, task.piece))
        is_long = [len(figure) >= most for figure in figures]
        # A model that begins another one is lost; its answer is cut like any repetition.
        if is_long.count(True) == 1 and is_long[-1] and _REPEATED.search(figures[-1]):
            while np.isfinite(row[best := int(row.argmax())]) and _has_digit(spelled([best], task.piece)):
                row[best] = -np.inf

    return adjusted(method, task, forbid_digits)


def _figures(text: str) -> list[str]:
    """The digits of each figure in a text."""
    return [_MARK.sub("", figure) for figure in _FIGURE.findall(text)]


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))
