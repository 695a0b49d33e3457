"""What drafts save Whisper: python docs/whisper_figures.py MODEL AUDIO… [--reference manifest.jsonl]

Each recording is one utterance, heard in windows that grow by half a second up to its end, and at most 29 s
of it. All methods decode the same windows, one after the other, in an order that changes from window to
window: only the ratios of times mean something on a machine that does other things, too. ``--reference`` has
a line of JSON for each recording, with ``file`` and ``text``.
"""

import argparse
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import NamedTuple

import msgspec
import numpy as np

from connectors.audio_decoder import AudioDecoder
from operators.events import SAMPLE_RATE
from operators.languages import language
from operators.prefix import common_prefix
from operators.recognizers.steady import steady_text
from operators.recognizers.voice import Samples
from operators.recognizers.whisper.decoder import SpeechMethod, decode
from operators.recognizers.whisper.model import Encoded, WhisperModel
from operators.recognizers.whisper.recognizer import CERTAINTY

METHODS = {
    "from scratch": SpeechMethod(use_draft=False),
    "draft, bias 0": SpeechMethod(bias=0.0),
    "draft, bias 0.2": SpeechMethod(bias=0.2),
}
_STEP = SAMPLE_RATE // 2
_LONGEST = 29 * SAMPLE_RATE


class Update(NamedTuple):
    """What one method made of one window."""

    text: str
    tokens: tuple[int, ...]
    #: What a viewer sees of it.
    shown: str
    passes: int
    decoder_ms: float


class Erasure(NamedTuple):
    """Words that updates erased, updates that did, and words of the finals."""

    erased: int
    revising: int
    words: int


_NOTHING = Update("", (), "", 0, 0.0)


class _Reference(msgspec.Struct):
    file: str
    text: str


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder of a Whisper model")
    parser.add_argument("audio", type=Path, nargs="+")
    parser.add_argument("--from", dest="spoken", default="English")
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--float32", action="store_true", help="compute in float32 instead of in 8 bits")
    parser.add_argument("--whole", action="store_true", help="encode 30 s each time, most of it silence")
    options = parser.parse_args()
    model = WhisperModel(options.model, options.threads, is_exact=options.float32)
    prompt = model.files.vocabulary.prompt(language(options.spoken))
    encoder_ms: list[float] = []
    clips: dict[Path, dict[str, list[Update]]] = {}
    for path in options.audio:
        clips[path] = _hear(model, prompt, _samples(path), encoder_ms, is_whole=options.whole)
        print(f"{path.name}: {clips[path]['draft, bias 0.2'][-1].text}")
    references = _references(options.reference) if options.reference else {}
    rows = [_row(name, clips, references) for name in METHODS]
    signature = {
        "model": options.model.name,
        "threads": options.threads,
        "step_s": 0.5,
        "float32": options.float32,
        "whole": options.whole,
        "encoder_ms": round(mean(encoder_ms), 1),
    }
    for row in rows:
        print(json.dumps(row))
    print(json.dumps({"signature": signature}))
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "signature": signature}, indent=1) + "\n")


def _hear(
    model: WhisperModel,
    prompt: Sequence[int],
    samples: Samples,
    encoder_ms: list[float],
    *,
    is_whole: bool,
) -> dict[str, list[Update]]:
    updates: dict[str, list[Update]] = {name: [] for name in METHODS}
    ends = [*range(_STEP, len(samples), _STEP), len(samples)]
    for number, end in enumerate(ends):
        heard = samples[:end]
        if is_whole:
            heard = np.pad(heard, (0, _LONGEST - len(heard)))
        began = perf_counter()
        encoded = model.encode(heard, prompt)
        encoder_ms.append(1000 * (perf_counter() - began))
        order = list(METHODS)
        for name in order[number % 3 :] + order[: number % 3]:
            before = updates[name][-1] if updates[name] else _NOTHING
            updates[name].append(_update(METHODS[name], encoded, before, is_final=end == len(samples)))
    return updates


def _update(method: SpeechMethod, encoded: Encoded, before: Update, *, is_final: bool) -> Update:
    began = perf_counter()
    heard = decode(method, encoded, before.tokens, is_final=is_final)
    took_ms = 1000 * (perf_counter() - began)
    pieces = [encoded.vocabulary.piece(token) for token in heard.tokens]
    shown = heard.text if is_final else steady_text(pieces, heard.probability, CERTAINTY, before.shown)
    return Update(heard.text, heard.tokens, shown, heard.cost.passes, took_ms)


def _row(
    name: str, clips: dict[Path, dict[str, list[Update]]], references: dict[str, str]
) -> dict[str, object]:
    updates = [update for clip in clips.values() for update in clip[name]]
    scratch = [update for clip in clips.values() for update in clip["from scratch"]]
    finals = [(clip[name][-1], clip["from scratch"][-1]) for clip in clips.values()]
    said = _erasure([[update.text for update in clip[name]] for clip in clips.values()])
    shown = _erasure([[update.shown for update in clip[name]] for clip in clips.values()])
    ratios = [one.decoder_ms / other.decoder_ms for one, other in zip(updates, scratch, strict=True)]
    known = [
        (clip[name][-1].text, references[path.name])
        for path, clip in clips.items()
        if path.name in references
    ]
    errors = sum(_distance(_words(heard), _words(reference)) for heard, reference in known)
    spoken = sum(len(_words(reference)) for _, reference in known)
    return {
        "method": name,
        "updates": len(updates),
        "decoder_ms": round(mean(update.decoder_ms for update in updates), 1),
        "decoder_ratio": round(sum(u.decoder_ms for u in updates) / sum(u.decoder_ms for u in scratch), 3),
        "decoder_ratio_median": round(median(ratios), 3),
        "passes_per_update": round(mean(update.passes for update in updates), 2),
        "wer": round(100 * errors / spoken, 2) if spoken else None,
        "ne": round(said.erased / said.words, 2),
        "revising_share": round(said.revising / len(updates), 3),
        "ne_shown": round(shown.erased / shown.words, 2),
        "revising_share_shown": round(shown.revising / len(updates), 3),
        "finals_equal": f"{sum(one.tokens == other.tokens for one, other in finals)} of {len(finals)}",
    }


def _erasure(clips: list[list[str]]) -> Erasure:
    erased, revising, words = 0, 0, 0
    for clip in clips:
        texts = [text.split() for text in clip]
        gone = [len(one) - common_prefix(one, other) for one, other in pairwise(texts)]
        erased, revising, words = erased + sum(gone), revising + sum(map(bool, gone)), words + len(texts[-1])
    return Erasure(erased, revising, words)


def _samples(path: Path) -> Samples:
    pcm = b"".join(AudioDecoder(path).blocks())[: 2 * _LONGEST]
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768.0


def _references(path: Path) -> dict[str, str]:
    lines = path.read_bytes().splitlines()
    return {one.file: one.text for one in (msgspec.json.decode(line, type=_Reference) for line in lines)}


def _words(text: str) -> list[str]:
    return re.sub(r"[^\w' ]", " ", text.lower()).split()


def _distance(one: list[str], other: list[str]) -> int:
    """Word edits from one text to the other."""
    row = list(range(len(other) + 1))
    for at, word in enumerate(one, 1):
        above, row[0] = row[0], at
        for place, wanted in enumerate(other, 1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (word != wanted))
    return row[-1]


if __name__ == "__main__":
    measure()
