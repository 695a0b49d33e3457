"""Normalised erasure (NE; Arivazhagan et al. 2020, section 3.2): how much shown text was erased.

    E(i) = |Y(i-1)| - |LCP(Y(i-1), Y(i))|        NE = sum of E(i) over all updates / |Y(last)|

There are two ways to aggregate a corpus. Pooled: all erasures over the lengths of all finals. Mean: the
average of the segments' own NE. Both are computed, because neither follows from the other.

Papers on re-translation score only finals, and erasure counts removed tokens, whatever replaced them. So
`support` compares the words of earlier updates with the final.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from operators.events import Caption, Erasure, ErasureRecord, Latency
from operators.metrics.tokenizers import erasure_signature, tokenizer
from operators.text import common_prefix

# Maximum number of unfinished segments of a stream; no recogniser has more than a few. Beyond it, the oldest
# one is counted as it is.
_MAX_OPEN = 1024


def erasure(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """E(i): tokens of ``before`` that must be erased before it can be extended to ``after``."""
    return len(before) - common_prefix(before, after)


class _TextState(msgspec.Struct, array_like=True):
    tokens: tuple[str, ...] = ()
    erased: int = 0

    def update(self, tokens: tuple[str, ...]) -> int:
        erased = erasure(self.tokens, tokens)
        self.tokens = tokens
        self.erased += erased
        return erased


class _Total(msgspec.Struct, array_like=True):
    length: int = 0
    erased: int = 0


class ErasureState(msgspec.Struct, array_like=True):
    open: dict[int, tuple[_TextState, _TextState]] = msgspec.field(default_factory=dict)
    raw: _Total = msgspec.field(default_factory=_Total)
    shown: _Total = msgspec.field(default_factory=_Total)


class ErasureMeter:
    """Turns the captions of one stream, in order, into erasure records.

    Args:
        name: The tokenizer in which erasure is counted.
        state: The state of an earlier meter of the stream.
    """

    def __init__(self, name: str, state: ErasureState | None = None) -> None:
        self._name = name
        self._tokenize = tokenizer(name)
        self.state = state or ErasureState()

    def record(self, caption: Caption) -> ErasureRecord:
        """Count the tokens of the previous caption that this one erased."""
        state = self.state
        if caption.segment not in state.open and len(state.open) >= _MAX_OPEN:
            self._close(next(iter(state.open)))
        raw, shown = state.open.setdefault(caption.segment, (_TextState(), _TextState()))
        words = _words(shown.tokens)
        record = ErasureRecord(
            stream=caption.stream,
            segment=caption.segment,
            revision=caption.revision,
            is_final=caption.is_final,
            language=caption.language,
            spoken=caption.spoken,
            speaker=caption.speaker,
            raw=self._count(raw, caption.text, 0),
            shown=self._count(shown, caption.shown, 1),
            accepted_over_drafted=_ratio(caption.effort.accepted, caption.effort.drafted),
            accepted_over_output=_ratio(
                caption.effort.accepted, caption.effort.accepted + caption.effort.decoded
            ),
            latency_from_speech_s=_seen_s(caption) - caption.end_s,
            latency_from_arrival_s=max(0.0, _seen_s(caption) - caption.arrival_s),
            latency=_latency(caption),
            changes_words=_words(self._tokenize(caption.shown)) != words,
            overtaken=caption.overtaken,
            effort=caption.effort,
            trouble=caption.trouble,
            signature=erasure_signature(self._name, caption.mask_k),
        )
        if caption.is_final:
            self._close(caption.segment)
        return record

    def _count(self, text: _TextState, now: str, which: int) -> Erasure:
        erased = text.update(self._tokenize(now))
        total = (self.state.raw, self.state.shown)[which]
        length = total.length + sum(len(texts[which].tokens) for texts in self.state.open.values())
        everything = total.erased + sum(texts[which].erased for texts in self.state.open.values())
        return Erasure(
            length=len(text.tokens),
            erased=erased,
            ne_segment=_ratio(text.erased, len(text.tokens)) or 0.0,
            ne_stream=_ratio(everything, length) or 0.0,
        )

    def _close(self, segment: int) -> None:
        for total, text in zip((self.state.raw, self.state.shown), self.state.open.pop(segment), strict=True):
            total.length += len(text.tokens)
            total.erased += text.erased


def _words(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if any(map(str.isalnum, token))]


def _seen_s(caption: Caption) -> float:
    return caption.ready_s if caption.shown_s is None else caption.shown_s


def _latency(caption: Caption) -> Latency:
    def between(begin_s: float | None, end_s: float | None) -> float | None:
        return None if begin_s is None or end_s is None else max(0.0, end_s - begin_s)

    return Latency(
        recogniser_s=caption.arrival_s - caption.end_s,
        queue_s=between(caption.arrival_s, caption.started_s),
        model_s=between(caption.started_s, caption.ready_s),
        display_s=between(caption.ready_s, caption.shown_s),
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class Step(NamedTuple):
    #: Tokens of the text.
    length: int
    #: E(i): erased tokens of the previous text.
    erased: int


class Marks(NamedTuple):
    """Which tokens of one update are kept later; each field is a number of tokens from its start."""

    #: Tokens that the update before already had; later ones are new.
    kept: int
    #: Tokens that the next update keeps; it erases later ones.
    stands: int
    #: Tokens that no later update erases.
    settled: int


def marks(steps: Sequence[Step]) -> list[Marks]:
    """The `Marks` of each update of one segment.

    Update i keeps the first L(i-1) - E(i) tokens of the update before it and has L(i) tokens. These numbers,
    which erasure records contain, are enough to compute when every token came and when it was erased.
    """
    kept, before = list[int](), 0
    for step in steps:
        # Never more than either text has, because a file may contradict itself.
        kept.append(max(0, min(before - step.erased, step.length)))
        before = step.length
    made: list[Marks] = []
    settled = before
    for own, stands in zip(reversed(kept), [before, *reversed(kept)], strict=False):
        settled = min(stands, settled)
        made.append(Marks(own, stands, settled))
    return made[::-1]


class Support(NamedTuple):
    words: int
    #: Words that no final contains.
    unsupported: int


def support(partial: Sequence[str], finals: Sequence[Sequence[str]]) -> Support:
    """How many words of an update the whole source supports: those that one of ``finals`` contains as often.

    Position does not matter, because a longer source may move a word. This is the complement of the clipped
    unigram precision (Papineni et al. 2002, section 2.1) of an update against the segment's finals. Words
    without letters or digits do not count; case is ignored.
    """
    said, *final = (Counter(map(str.casefold, _words(text))) for text in (partial, *finals))
    count = said.total()
    kept = sum(min(times, max((one[word] for one in final), default=0)) for word, times in said.items())
    return Support(count, count - kept)
