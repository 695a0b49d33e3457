"""Runs ``surtitle bench-speech``."""

from pathlib import Path

import msgspec

from connectors.files.distinct import check_distinct
from flows.measuring.clips import read_clips, samples, sign_clips
from flows.measuring.results import Results, publish
from flows.measuring.runner import running
from flows.measuring.speech.engine import open_engine
from flows.measuring.speech.native import NativeLibrary
from flows.measuring.speech.scores import native_row, rows, tables
from flows.measuring.speech.trial import run_trial
from operators.errors import InputError, UsageError
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


def run(job: SpeechBenchJob) -> None:
    """Measure, print the tables and write the JSON. Raises `SurtitleError`."""
    check_distinct([("--json", job.json)], [*job.audio, job.reference, job.model])
    clips = read_clips(job.audio, job.reference)
    if job.native and job.recognizer != "moonshine":
        raise UsageError("--native: only moonshine has a library of its own; leave it out")
    with running() as runner:
        engine = open_engine(job.recognizer, job.model, job.spoken, job.threads)
        # From scratch first, as the baseline of all others.
        stops = [0.0, *filter(None, job.certainties)]
        methods = [
            SpeechMethod(use_draft=False),
            *(SpeechMethod(bias=bias, stop_below=least) for bias in job.biases for least in stops),
        ]
        # As it was decoded, and as it is shown.
        certainties = [None, *job.certainties]
        shown = [least or 0.0 for least in certainties]
        library = NativeLibrary() if job.native else None
        trials, native = [], []
        for clip in runner.each(clips, "measuring", "recordings"):
            audio = samples(clip)
            trials.append(run_trial(engine, audio, methods, shown, job.interval_s))
            if library is not None:
                native.append(library.recognize(audio, job.interval_s))
        runner.end()
    if not any(trial.encoder_s for trial in trials):
        raise InputError(f"{job.audio[0]}: no speech was found; give recordings in which somebody speaks")
    references = [clip.text for clip in clips]
    found = rows(trials, methods, certainties, references)
    if library is not None:
        found.append(native_row(native, references))
    signature = sign_clips(
        engine.folder,
        clips,
        job.threads,
        interval_s=job.interval_s,
        margin=engine.margin,
        aggregation="wer,ne:pooled|times:mean-over-updates,ways-in-turns",
    )
    publish(Results(signature, {"rows": found}, tables(found)), json=job.json)
