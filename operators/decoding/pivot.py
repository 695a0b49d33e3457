"""Translation over English, for languages that no model translates directly: two models in turn.

Also called pivot or cascaded translation (Utiyama and Isahara 2007). Each model has its own draft, so each
verifies what it said before; where the English stays as it was, the second one makes no pass.
"""

from msgspec.structs import replace
from typing_extensions import override

from operators.decoding.translator import SegmentState, SegmentTranslator, Updating


class PivotTranslator(SegmentTranslator):
    """Translates the output of one translator with another.

    The methods of the first one run at once, in its own decoder; only those of the second one are yielded.
    """

    def __init__(self, first: SegmentTranslator, second: SegmentTranslator) -> None:
        """``first`` translates into the pivot language, and ``second`` from there.

        They must have different decoders, because both use the keys of the segments.
        """
        self._first = first
        self._second = second
        self.decoder = second.decoder

    @override
    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        how = {"is_final": is_final, "is_stable": is_stable}
        pivot, first = self._first.update(key, _pivot(state), text, **how)
        state, output = yield from self._second.updating(key, state, "".join(first.pieces), **how)
        worse = output if output.trouble and not (first.trouble and first.trouble.is_loss) else first
        return replace(state, pivot=pivot.windows), output._replace(
            effort=first.effort + output.effort, trouble=worse.trouble, why=worse.why
        )

    @override
    def release(self, key: str, state: SegmentState) -> None:
        self._first.release(key, _pivot(state))
        self._second.release(key, state)


def _pivot(state: SegmentState) -> SegmentState:
    return SegmentState(state.pivot)
