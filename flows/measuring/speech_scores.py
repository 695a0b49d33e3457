"""Trials of a speech benchmark, and their rows: time, passes, errors and erasure of each way to decode."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import regex

from flows.pages.table import Column, Table, tabulated
from operators.decoding.speech import SpeechMethod
from operators.metrics.erasure import erasure
from operators.text import common_prefix

_WORDS = regex.compile(r"[\p{L}\p{N}']+")


def spoken_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without punctuation; a hyphenated word is two words."""
    return tuple(_WORDS.findall(text.lower().replace("’", "'")))


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """The fewest substitutions, insertions and deletions that turn ``said`` into ``heard`` (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(said, start=1):
        before, row[0] = row[0], number
        for place, other in enumerate(heard, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (word != other))
    return row[-1]


class WindowUpdate(NamedTuple):
    """The result of one way of decoding for one window."""

    is_final: bool
    #: The text as decoded, and as shown at each requested certainty.
    text: str
    shown: tuple[str, ...]
    tokens: tuple[int, ...] = ()
    passes: int = 0
    decoder_s: float = 0.0
    #: Where the window ends in the recording.
    end_s: float = 0.0


class RecordingTrial(NamedTuple):
    """One recording, decoded in all ways."""

    #: The updates of each way.
    ways: tuple[list[WindowUpdate], ...]
    #: Seconds of the voice detector, and of the encoder at each update, which all ways share.
    detector_s: float
    encoder_s: list[float]


#: A way of decoding, pooled over all recordings; times are means per update.
Row = dict[str, Any]
#: The updates of each recording as a viewer saw them: ``shown`` has one text.
Said = Sequence[Sequence[WindowUpdate]]


def rows_of(
    trials: Sequence[RecordingTrial],
    methods: Sequence[SpeechMethod],
    certainties: Sequence[float | None],
    references: Sequence[str | None],
) -> list[Row]:
    """A row for each method and each certainty; the first method must be decoding from scratch."""
    rows = []
    for number, method in enumerate(methods):
        times = _times(trials, number)
        for place, least in enumerate(certainties):
            # Words that were not decoded because they would be hidden cannot be shown at another certainty.
            if method.stop_below not in (0, least):
                continue
            # At no certainty, all is shown as decoded.
            said = [
                [one._replace(shown=(one.text if least is None else one.shown[place],)) for one in updates]
                for updates in (trial.ways[number] for trial in trials)
            ]
            rows.append(
                {
                    "method": "draft" if method.use_draft else "scratch",
                    "bias": method.bias if method.use_draft else None,
                    "certainty": least,
                    "ends_early": method.stop_below > 0,
                    **times,
                    "wer": _wer(said, references),
                    **_stability(said),
                    "settled_s": _settled_s(said),
                }
            )
    return rows


def _times(trials: Sequence[RecordingTrial], way: int) -> Row:
    mine, scratch = ([one for trial in trials for one in trial.ways[number]] for number in (way, 0))
    shared_s = sum(trial.detector_s + sum(trial.encoder_s) for trial in trials)
    decoder_s, scratch_s = (sum(one.decoder_s for one in updates) for updates in (mine, scratch))
    count = max(1, len(mine))
    return {
        "updates": len(mine),
        "decoder_ms": 1000 * decoder_s / count,
        # Of the voice detector, the encoder and the decoder.
        "recognizer_ms": 1000 * (shared_s + decoder_s) / count,
        "decoder_ratio": decoder_s / scratch_s if scratch_s else None,
        "recognizer_ratio": (shared_s + decoder_s) / (shared_s + scratch_s) if scratch_s else None,
        "passes_per_update": sum(one.passes for one in mine) / count,
        "finals": sum(one.is_final for one in mine),
        "finals_equal": sum(
            one.is_final and one.tokens == other.tokens for one, other in zip(mine, scratch, strict=True)
        ),
    }


def _settled_s(said: Said) -> float:
    """The mean over all words of the finals, ignoring case and punctuation."""
    waited: list[float] = []
    for clip in said:
        shown: list[tuple[float, tuple[str, ...]]] = []
        for one in clip:
            shown.append((one.end_s, spoken_words(one.shown[0])))
            if one.is_final:
                waited += settled(shown)
                shown = []
    return sum(waited) / max(1, len(waited))


def _wer(said: Said, references: Sequence[str | None]) -> float | None:
    """The word error rate, pooled over the recordings with a reference."""
    errors = words = 0
    for clip, reference in zip(said, references, strict=True):
        if reference is not None:
            spoken = spoken_words(reference)
            heard = spoken_words(" ".join(one.text for one in clip if one.is_final))
            errors += word_errors(spoken, heard)
            words += len(spoken)
    return 100 * errors / words if words else None


def _stability(said: Said) -> dict[str, Any]:
    """The columns of erasure."""
    partials = [one for clip in said for one in clip if not one.is_final]
    held = sum(len(one.text.split()) - len(one.shown[0].split()) for one in partials)
    ne, revising = _erased(said, lambda text: tuple(text.split()))
    ne_words, revising_words = _erased(said, spoken_words)
    return {
        "ne": ne,
        "revising_share": revising,
        "ne_words": ne_words,
        "revising_share_words": revising_words,
        "held_back": held / max(1, len(partials)),
    }


def _erased(said: Said, split: Callable[[str], tuple[str, ...]]) -> tuple[float, float]:
    """Erased words per word of the finals, and the share of updates that erase any."""
    erased = final = revising = updates = 0
    for clip in said:
        before: tuple[str, ...] = ()
        for one in clip:
            words = split(one.shown[0])
            count = erasure(before, words)
            erased, revising, updates = erased + count, revising + (count > 0), updates + 1
            final += len(words) if one.is_final else 0
            before = () if one.is_final else words
    return erased / max(1, final), revising / max(1, updates)


def settled(shown: Sequence[tuple[float, tuple[str, ...]]]) -> list[float]:
    """When words are settled: every later update shows them, and all words before them, unchanged.

    For each word of the last text, the seconds from the utterance's first update until it is settled.

    Args:
        shown: The time and the words of each update; at least one update.
    """
    begin_s, words = shown[0][0], shown[-1][1]
    settled_s = [shown[-1][0]] * len(words)
    least = len(words)
    for end_s, before in reversed(shown):
        least = min(least, common_prefix(before, words))
        settled_s[:least] = [end_s] * least
    return [end_s - begin_s for end_s in settled_s]


def tables(found: Sequence[Row]) -> list[Table]:
    """The tables of times and of what is shown."""
    # The shown part of a hypothesis does not affect times, unless decoding of its window ended early.
    timed = [row for row in found if row["certainty"] is None or row["ends_early"]]
    return [
        tabulated("An update", timed, _TIMES, absent=""),
        tabulated("What is shown", found, _SHOWN, absent=""),
    ]


def _label(row: Row) -> str:
    parts = [row["method"]]
    if row["bias"] is not None:
        parts.append(f"β={row['bias']:g}")
    if row["certainty"] is not None:
        parts.append(f"certainty={row['certainty']:g}")
    if row["ends_early"]:
        parts.append("ending early")
    return " ".join(parts)


_TIMES = (
    Column("", _label),
    Column("updates", "updates"),
    Column("decoder ms", "decoder_ms", 1),
    Column("of scratch", "decoder_ratio", 2),
    Column("recogniser ms", "recognizer_ms", 1),
    Column("of scratch", "recognizer_ratio", 2),
    Column("passes", "passes_per_update", 1),
    Column("finals equal", lambda row: f"{row['finals_equal']} of {row['finals']}"),
)
_SHOWN = (
    Column("", _label),
    Column("WER %", "wer", 2),
    Column("NE", "ne", 2),
    Column("revising %", lambda row: 100 * row["revising_share"], 0),
    Column("NE, words alone", "ne_words", 2),
    Column("revising %", lambda row: 100 * row["revising_share_words"], 0),
    Column("held back", "held_back", 2),
    Column("settled s", "settled_s", 2),
)
