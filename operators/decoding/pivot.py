"""Translation over English, for languages that no model translates directly: two models in turn.

Also called pivot or cascaded translation (Utiyama and Isahara 2007). Each model has its own draft, so each
verifies what it said before; where the English stays as it was, the second one makes no pass.
"""

from msgspec.structs import replace

from operators.decoding.translator import Output, SegmentState, Translates, Updating


class PivotTranslator:
    """Translates the output of one translator with another.

    The methods of the first one run at once, in its own decoder; only those of the second one are yielded.
    """

    def __init__(self, first: Translates, second: Translates) -> None:
        """``first`` translates into the pivot language, and ``second`` from there.

        They must have different decoders, because both use the keys of the segments.
        """
        self._first = first
        self._second = second

    def update(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> tuple[SegmentState, Output]:
        """Translate the present text of segment ``key``."""
        pivot, said = self._first.update(key, _pivot(state), text, is_final=is_final, is_stable=is_stable)
        made = self._second.update(key, state, "".join(said.pieces), is_final=is_final, is_stable=is_stable)
        return _joined(pivot, said, *made)

    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        """Like `update`, for a caller that runs the second one's methods of several updates concurrently."""
        pivot, said = self._first.update(key, _pivot(state), text, is_final=is_final, is_stable=is_stable)
        made = yield from self._second.updating(
            key, state, "".join(said.pieces), is_final=is_final, is_stable=is_stable
        )
        return _joined(pivot, said, *made)

    def release(self, key: str, state: SegmentState) -> None:
        """Free the sessions of a segment that has ended."""
        self._first.release(key, _pivot(state))
        self._second.release(key, state)


def _pivot(state: SegmentState) -> SegmentState:
    return SegmentState(state.pivot)


def _joined(
    pivot: SegmentState, said: Output, state: SegmentState, output: Output
) -> tuple[SegmentState, Output]:
    """The states of both, and the second one's output with the effort of both and the worse trouble."""
    worse = output if output.trouble and not (said.trouble and said.trouble.is_loss) else said
    return replace(state, pivot=pivot.windows), output._replace(
        effort=said.effort + output.effort, trouble=worse.trouble, why=worse.why
    )
