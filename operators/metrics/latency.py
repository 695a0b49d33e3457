"""Latency of captions in the field's terms, for captions that may be rewritten after they were shown.

A segment of speech lasts X seconds and ends up as J tokens. Token j came at d(j), in seconds from the start
of the segment. The speaker is assumed to speak evenly, so token j could have come at (j-1)·X/J.

A token came when it was *final*: at the update after which the text up to and including the token never
changed again. Re-translation is measured in this way (Arivazhagan et al. 2020, "Re-translation versus
Streaming for Simultaneous Translation", section 3.1). If nothing is revised this is when the token was first
shown, and all figures equal those of a system that only appends.

    AL      average lagging (Ma et al. 2019, "STACL", section 4; in seconds of speech as in Ma et al. 2020,
            "SimulMT to SimulST")
    LAAL    length-adaptive average lagging (Papi et al. 2022, "Over-Generation Cannot Be Rewarded")
    lag     d(j) - (j-1)·X/J of each token, none left out

AL and LAAL stop at the first token that came after the end of the speech, as in SimulEval.
"""

from collections.abc import Sequence
from typing import NamedTuple

from operators.text import common_prefix


class Clocks(NamedTuple):
    """The time of an update, in seconds of the stream, by two clocks."""

    #: Computation-unaware: the end of the speech that it covers.
    heard_s: float
    #: Computation-aware: when it was shown, or ready to be shown.
    seen_s: float


class TokenTimes:
    """When the tokens of a segment's current text came; both lists have an entry for each token."""

    def __init__(self) -> None:
        self._tokens: tuple[str, ...] = ()
        #: When each place first had a token, including the places of a longer earlier text.
        self._places: list[Clocks] = []
        #: When the text up to and including the token last changed.
        self.final: list[Clocks] = []

    def update(self, tokens: tuple[str, ...], at: Clocks) -> None:
        kept = common_prefix(self._tokens, tokens)
        self.final[kept:] = [at] * (len(tokens) - kept)
        self._places += [at] * (len(tokens) - len(self._places))
        self._tokens = tokens

    @property
    def first(self) -> list[Clocks]:
        """When the place of each token first had one."""
        return self._places[: len(self._tokens)]


def average_lagging(delays_s: Sequence[float], source_s: float, reference_length: int) -> float | None:
    """AL: how far the tokens lag behind a speaker whose translation would have the reference's length.

        1/τ · sum over j ≤ τ of d(j) - (j-1)·X/|Y*|,  τ the first j with d(j) ≥ X, or J

    Args:
        delays_s: d(j) of each token, in seconds from the segment's begin.
        source_s: Seconds of speech, X.
        reference_length: Tokens of the reference, |Y*|, or of the hypothesis itself if there is none.

    Returns:
        Seconds; d(1) if that is later than X; None without tokens or speech.
    """
    if not delays_s or source_s <= 0 or reference_length <= 0:
        return None
    if delays_s[0] > source_s:
        return delays_s[0]
    pace_s = source_s / reference_length
    total, counted = 0.0, 0
    for number, delay_s in enumerate(delays_s):
        total += delay_s - number * pace_s
        counted += 1
        if delay_s >= source_s:
            break
    return total / counted


def length_adaptive_average_lagging(
    delays_s: Sequence[float], source_s: float, reference_length: int
) -> float | None:
    """LAAL: AL without its reward for hypotheses that are longer than the reference.

    It uses max(J, |Y*|) instead of |Y*|. Arguments and result as in `average_lagging`.
    """
    return average_lagging(delays_s, source_s, max(len(delays_s), reference_length))


def token_lags(delays_s: Sequence[float], source_s: float) -> list[float]:
    """Re-translation lag: how far each token lags behind an even speaker, d(j) - (j-1)·X/J.

    Args:
        delays_s: d(j) of each token, in seconds from the segment's begin.
        source_s: Seconds of speech, X.

    Returns:
        Seconds, one figure per token; negative if a token came before its share was spoken.
    """
    pace_s = source_s / max(1, len(delays_s))
    return [delay_s - number * pace_s for number, delay_s in enumerate(delays_s)]
