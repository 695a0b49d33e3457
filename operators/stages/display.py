"""The display stage: display-only mask-k.

The next update most likely rewrites the last k tokens of an unfinished translation. They are withheld from
the viewer and kept in the draft (Zeng et al., section 3.3; mask-k: Arivazhagan et al. 2020). A stable
translation, behind which the speaker pauses, shows all words; a final shows everything.
"""

from collections.abc import Callable

import regex
from bytewax import operators as op
from bytewax.dataflow import Stream, operator

from operators.events import Caption, Translation, moment_of
from operators.languages import SENTENCE_MARKS
from operators.text import CLUSTER


@operator
def display(step_id: str, up: Stream[Translation], mask_k: int | Callable[[str], int]) -> Stream[Caption]:
    """Decide which part of each translation the viewer sees.

    Args:
        up: Translations of any number of streams.
        mask_k: Tokens to withhold from an unfinished translation; or gives them for a stream (or for a
            language of it).

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
    of_stream = mask_k if callable(mask_k) else lambda _stream: mask_k
    return op.map("mask", up, lambda translation: caption(translation, of_stream(translation.channel)))


def caption(translation: Translation, mask_k: int) -> Caption:
    """The caption of one translation, its last ``mask_k`` tokens withheld unless it is final or stable."""
    text = translation.text
    if translation.is_final:
        visible = len(text)
    elif translation.is_stable:
        # Whether the sentence ends here is not known yet.
        visible = len(text.rstrip(SENTENCE_MARKS))
    else:
        visible = mask_tail(translation.pieces, mask_k)
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


# Where a word may end (Unicode word boundaries, UAX 29); in scripts without spaces, after each ideograph.
_BOUNDARY = regex.compile(r"(?w)\b")
# Half a flag. To find a boundary next to one, the regex scans the whole row of them. So they are replaced by
# an ideograph, which stands alone; the code below makes sure that flags are not cut in two.
_FLAG_LETTER = regex.compile(r"\p{RI}")
# Number of characters examined around the cut.
_MAX_DISTANCE = 500


def mask_tail(pieces: tuple[str, ...], mask_k: int) -> int:
    """Number of characters that stay visible when at least the last ``mask_k`` tokens are withheld.

    Half a word says little and is likely to be rewritten, so the visible part ends with a whole word, and
    never inside a grapheme cluster or with white space.
    """
    text = "".join(pieces)
    if mask_k <= 0:
        return len(text)
    cut = len("".join(pieces[:-mask_k]))
    # The end of a word is near, but the text may be long.
    begin = max(0, cut - _MAX_DISTANCE)
    near = text[begin : cut + _MAX_DISTANCE]
    words = {begin + boundary.start() for boundary in _BOUNDARY.finditer(_FLAG_LETTER.sub("字", near))}
    visible = begin
    for cluster in CLUSTER.finditer(near):
        if begin + cluster.end() > cut:
            break
        if begin + cluster.end() in words:
            visible = begin + cluster.end()
    return len(text[:visible].rstrip())
