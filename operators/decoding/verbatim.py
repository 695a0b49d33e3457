"""Text that is shown as it was spoken, in the form of a translation."""

import regex
from typing_extensions import override

from operators.decoding.translator import Output, SegmentState, SegmentTranslator, Updating
from operators.events import Effort
from operators.languages import UNSPACED

# A word with the white space before it; in scripts without spaces, a character.
_PIECE = regex.compile(rf"\s*(?:[{UNSPACED}]|(?:(?![{UNSPACED}])\S)+)|\s+\Z")


class Verbatim(SegmentTranslator):
    """Passes text on; what the display withholds is counted in its words.

    Args:
        mark: Stands before the text, such as the name of a language that nobody expected.
    """

    def __init__(self, mark: str = "") -> None:
        self._mark = (f"[{mark}] ",) if mark else ()

    @override
    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        return state, Output((), (*self._mark, *_PIECE.findall(text)), Effort())
        yield  # it is a generator that asks for nothing

    @override
    def release(self, key: str, state: SegmentState) -> None:
        pass
