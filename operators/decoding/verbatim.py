"""Text that is shown untranslated, in the form of a translation."""

import regex
from typing_extensions import override

from operators.decoding.translator import Output, SegmentState, SegmentTranslator, Updating
from operators.events import Effort
from operators.languages import UNSPACED

# A word with the white space before it; in scripts without spaces, a character.
_PIECE = regex.compile(rf"\s*(?:[{UNSPACED}]|(?:(?![{UNSPACED}])\S)+)|\s+\Z")


class Verbatim(SegmentTranslator):
    """Passes the text through. Its words count as tokens, of which the display may withhold some.

    Args:
        mark: Precedes the text, such as the name of an unexpected language.
    """

    def __init__(self, mark: str = "") -> None:
        self._mark = (f"[{mark}] ",) if mark else ()

    @override
    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        return state, Output((), (*self._mark, *_PIECE.findall(text)), Effort())
        yield  # makes this a generator; it requests nothing

    @override
    def release(self, key: str, state: SegmentState) -> None:
        pass
