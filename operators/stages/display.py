"""The display stage: display-only mask-k.

The next update most likely rewrites the last k tokens of an unfinished translation. They are withheld from
the viewer and kept in the draft (Zeng et al., section 3.3; mask-k: Arivazhagan et al. 2020). A final shows
everything. In the paper exactly k tokens are withheld. The default rule here differs: the visible part ends
with a whole word, shown words that are unchanged are not erased, and a stable translation, after which the
speaker pauses, shows all words.
"""

from collections.abc import Callable

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream
from typing_extensions import override

from operators.events import Caption, Translation, moment_of
from operators.languages import SENTENCE_MARKS
from operators.masking import MaskRule, still_shown, visible_length
from operators.serving.queues import MAX_OPEN
from operators.stages.snapshots import StreamLogic, unpack


@operator
def display(
    step_id: str,
    up: Stream[Translation],
    mask_k: int | Callable[[Translation], int],
    rule: MaskRule = "steady",
) -> Stream[Caption]:
    """Decide which part of each translation the viewer sees.

    The state of a segment, its shown text, is freed with its final, or if its stream is silent for a day.

    Args:
        up: Translations of any number of streams.
        mask_k: Number of tokens to withhold from an unfinished translation, or a function that returns it.
        rule: See `MaskRule`.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, TestingSource, run_main
        >>> from operators import Translation, display
        >>> one = Translation(stream="talk", segment=0, revision=0, is_final=False, source="It was good",
        ...                   text="Es war gut", tokens=(1, 2, 3), pieces=("Es", " war", " gut"),
        ...                   start_s=0.2, end_s=0.9, arrival_s=1.0, ready_s=1.2)
        >>> flow, shown = Dataflow("example"), []
        >>> translations = op.input("in", flow, TestingSource([one]))
        >>> op.output("out", display("display", translations, mask_k=1), TestingSink(shown))
        >>> run_main(flow)
        >>> shown[0].shown, shown[0].withheld
        ('Es war', ' gut')
    """
    masked = mask_k if callable(mask_k) else lambda _translation: mask_k

    def build(resume: bytes | None) -> _Stream:
        return _Stream(masked, rule, DisplayState() if resume is None else unpack(resume, DisplayState))

    keyed: KeyedStream[Translation] = op.key_on("key", up, lambda translation: translation.channel)
    return op.key_rm("unkey", op.stateful_batch("mask", keyed, build))


class DisplayState(msgspec.Struct, array_like=True):
    """The state of a stream: the shown text of its open segments, the most recently updated last."""

    open: dict[int, str] = {}


class _Stream(StreamLogic[Translation, Caption, DisplayState]):
    def __init__(self, mask_k: Callable[[Translation], int], rule: MaskRule, state: DisplayState) -> None:
        super().__init__(state)
        self._mask_k = mask_k
        self._rule = rule

    @override
    def take(self, event: Translation) -> list[Caption]:
        shown = self.state.open
        before = shown.pop(event.segment, "")
        made = caption(event, self._mask_k(event), before, self._rule)
        if not made.is_final:
            shown[made.segment] = made.shown
            if len(shown) > MAX_OPEN:
                del shown[next(iter(shown))]
        return [made]

    @override
    def is_done(self) -> bool:
        return not self.state.open


def caption(translation: Translation, mask_k: int, before: str = "", rule: MaskRule = "steady") -> Caption:
    """The caption of one translation, its last ``mask_k`` tokens withheld unless it is final.

    Args:
        before: The shown text of the segment's last update.
    """
    text = translation.text
    if translation.is_final:
        visible = len(text)
    elif translation.is_stable and rule == "steady":
        # Whether a stable sentence ends here is not known yet.
        visible = max(len(text.rstrip(SENTENCE_MARKS)), still_shown(before, text))
    else:
        visible = visible_length(translation.pieces, mask_k, before, rule)
    return Caption(
        **moment_of(translation),
        source=translation.source,
        shown=text[:visible],
        withheld=text[visible:],
        started_s=translation.started_s,
        ready_s=translation.ready_s,
        overtaken=translation.overtaken,
        effort=translation.effort,
        trouble=translation.trouble,
        mask_k=mask_k,
    )
