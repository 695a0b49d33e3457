"""``surtitle bench-speech``: all ways to recognise take turns on the same windows of speech."""

from pathlib import Path
from typing import Annotated

import typer

from connectors.files.distinct import check_distinct
from flows.measuring.subjects import Json, subject
from flows.settings.lists import shares
from flows.settings.translate import TranslateSettings
from operators.errors import InputError, UsageError
from operators.recognizers.part import RECOGNIZERS, USUAL

#: The recognisers that decode growing windows.
MEASURED = tuple(one.name for one in RECOGNIZERS.values() if one.is_windowed)


@subject("bench-speech")
def bench_speech(
    audio: Annotated[list[Path], typer.Argument(help="Recordings (wav or flac).")],
    reference: Annotated[
        Path | None, typer.Option(help="Their transcripts: JSON lines with 'file' and 'text'.")
    ] = None,
    speech_model: Annotated[
        Path | None, typer.Option(help="Folder of the speech model.", show_default="moonshine's English one")
    ] = None,
    recognizer: Annotated[str, typer.Option(help=f"{' or '.join(MEASURED)}.")] = USUAL.engine,
    spoken: Annotated[
        str, typer.Option("--from", help="Language of the speech.")
    ] = TranslateSettings().source,
    bias: Annotated[
        str, typer.Option(help="Biases towards the last hypothesis, 0 to 1.")
    ] = f"0,{USUAL.bias}",
    certainty: Annotated[
        str, typer.Option(help="Minimum probabilities of the last word shown of unfinished speech.")
    ] = f"0,{USUAL.certainty}",
    interval: Annotated[
        float, typer.Option(min=0.1, max=10, help="Seconds between two updates.")
    ] = USUAL.update_interval_s,
    threads: Annotated[int, typer.Option(min=1, max=64, help="Threads of the speech model.")] = 2,
    native: Annotated[
        bool, typer.Option("--native", help="Add Moonshine's own library, with its bundled model.")
    ] = False,
    json: Json = None,
) -> None:
    """Compare ways to recognise speech: time, errors, erasure.

    Each recording is decoded as fast as possible; all ways take turns on each of its windows.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.corpus import read_clips, samples
    from flows.measuring.results import Results, publish, running
    from flows.measuring.signature import of_clips
    from flows.measuring.speech.scores import native_row, rows, tables
    from flows.measuring.speech.trial import NativeLibrary, open_engine, run_trial, ways_of
    from operators.recognizers.moonshine.recognizer import bundled_model

    biases, certainties = shares("--bias", bias), shares("--certainty", certainty)
    check_distinct([("--json", json)], [*audio, reference, speech_model])
    clips = read_clips(audio, reference)
    if native and recognizer != "moonshine":
        raise UsageError("--native: only moonshine has a library of its own; leave it out")
    with running() as runner:
        engine = open_engine(recognizer, speech_model, spoken, threads)
        methods = ways_of(biases, certainties)
        library = NativeLibrary() if native else None
        trials, heard = [], []
        for clip in runner.each(clips, "measuring", "recordings"):
            sound = samples(clip)
            # As it was decoded, and as it is shown.
            trials.append(run_trial(engine, sound, methods, [0.0, *certainties], interval))
            if library is not None:
                heard.append(library.recognize(sound, interval))
    if not any(trial.encoder_s for trial in trials):
        raise InputError(f"{audio[0]}: no speech was found; give recordings in which somebody speaks")
    references = [clip.text for clip in clips]
    found = rows(trials, methods, [None, *certainties], references)
    if library is not None:
        found.append(native_row(heard, references))
    aggregation = "wer,ne:pooled|times:mean-over-updates,ways-in-turns"
    own = {"interval_s": interval, "margin": engine.margin, "aggregation": aggregation}
    signature = of_clips(speech_model or bundled_model(), clips, threads, **own)
    publish(Results(signature, {"rows": found}, tables(found)), json=json)
