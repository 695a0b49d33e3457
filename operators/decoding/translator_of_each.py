"""Several translators as one, where streams differ in their languages."""

from collections.abc import Callable

from operators.decoding.translator import Output, SegmentState, Translates, Updating


class TranslatorOfEach:
    """Translates each stream with a translator of its own, as its languages require."""

    def __init__(self, of: Callable[[str], Translates]) -> None:
        """``of`` gives the translator of a stream."""
        self._of = of

    def update(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> tuple[SegmentState, Output]:
        """Translate the present text of segment ``key``."""
        return self._of(_stream(key)).update(key, state, text, is_final=is_final, is_stable=is_stable)

    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        """Like `update`, for a caller that runs the methods of several updates concurrently."""
        return self._of(_stream(key)).updating(key, state, text, is_final=is_final, is_stable=is_stable)

    def release(self, key: str, state: SegmentState) -> None:
        """Free the sessions of a segment that has ended."""
        self._of(_stream(key)).release(key, state)


def _stream(key: str) -> str:
    """The stream of a segment's key."""
    return key.rpartition("/")[0]
