"""Runs a speech benchmark, and prints and writes its results."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from tqdm import tqdm

from connectors.files.distinct import check_distinct
from flows.bench_speech.corpus import read_clips, samples
from flows.bench_speech.engine import open_engine
from flows.bench_speech.native import NativeLibrary
from flows.bench_speech.scores import SpeechRow, native_row, rows
from flows.bench_speech.signature import sign
from flows.bench_speech.trial import run_trial
from flows.pages.results import print_results, write_json
from flows.pages.table import Table
from operators.errors import InputError, UsageError
from operators.recognizers.moonshine.recognizer import bundled_model
from operators.recognizers.windowed.method import SpeechMethod


class SpeechBenchJob(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure, and where to write it."""

    audio: list[Path]
    reference: Path | None
    recognizer: str
    model: Path | None
    spoken: str
    biases: list[float]
    certainties: list[float]
    interval_s: float
    threads: int
    native: bool
    json: Path | None


class SpeechBenchResults(msgspec.Struct, frozen=True):
    """The content of the JSON file."""

    signature: dict[str, Any]
    rows: list[SpeechRow]


def run(job: SpeechBenchJob) -> None:
    """Measure, print the tables and write the JSON. Raises `SurtitleError`."""
    check_distinct([("--json", job.json)], [*job.audio, job.reference, job.model])
    clips = read_clips(job.audio, job.reference)
    if job.native and job.recognizer != "moonshine":
        raise UsageError("--native: only moonshine has a library of its own; leave it out")
    engine = open_engine(job.recognizer, job.model, job.spoken, job.threads)
    # From scratch first, as the baseline of all others.
    stops = [0.0, *filter(None, job.certainties)]
    methods = [
        SpeechMethod(use_draft=False),
        *(SpeechMethod(bias=bias, stop_below=least) for bias in job.biases for least in stops),
    ]
    # As it was decoded, and as it is shown.
    certainties = [None, *job.certainties]
    library = NativeLibrary() if job.native else None
    trials, native, references = [], [], []
    for clip in tqdm(clips, desc="recordings", disable=not sys.stderr.isatty(), leave=False):
        audio = samples(clip)
        trials.append(
            run_trial(engine, audio, methods, [least or 0.0 for least in certainties], job.interval_s)
        )
        if library is not None:
            native.append(library.recognize(audio, job.interval_s))
        references.append(clip.text)
    if not any(trial.encoder_s for trial in trials):
        raise InputError(f"{job.audio[0]}: no speech was found; give recordings in which somebody speaks")
    found = rows(trials, methods, certainties, references)
    if library is not None:
        found.append(native_row(native, references))
    signature = sign(job.model or bundled_model(), clips, job.interval_s, engine.margin, job.threads)
    write_json(job.json, SpeechBenchResults(signature, found))
    print_results([_times(found), _quality(found)], signature, [job.json])


def _times(found: Sequence[SpeechRow]) -> Table:
    # The shown part of a hypothesis does not affect times, unless decoding of its window ended early.
    timed = [row for row in found if row.certainty is None or row.ends_early]
    columns = (
        "",
        "updates",
        "decoder ms",
        "of scratch",
        "recogniser ms",
        "of scratch",
        "passes",
        "finals equal",
    )
    return Table(
        "An update",
        columns,
        tuple(
            (
                _label(row),
                str(row.updates),
                _number(row.decoder_ms, 1),
                _number(row.decoder_ratio, 2),
                _number(row.recognizer_ms, 1),
                _number(row.recognizer_ratio, 2),
                _number(row.passes_per_update, 1),
                "" if row.finals_equal is None else f"{row.finals_equal} of {row.finals}",
            )
            for row in timed
        ),
    )


def _quality(found: Sequence[SpeechRow]) -> Table:
    columns = ("", "WER %", "NE", "revising %", "NE, words alone", "revising %", "held back", "settled s")
    return Table(
        "What is shown",
        columns,
        tuple(
            (
                _label(row),
                _number(row.wer, 2),
                _number(row.ne, 2),
                _number(100 * row.revising_share, 0),
                _number(row.ne_words, 2),
                _number(100 * row.revising_share_words, 0),
                _number(row.held_back, 2),
                _number(row.settled_s, 2),
            )
            for row in found
        ),
    )


def _label(row: SpeechRow) -> str:
    parts = [row.method]
    if row.bias is not None:
        parts.append(f"β={row.bias:g}")
    if row.certainty is not None:
        parts.append(f"certainty={row.certainty:g}")
    if row.ends_early:
        parts.append("ending early")
    return " ".join(parts)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
