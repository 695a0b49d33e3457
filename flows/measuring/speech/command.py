"""``surtitle bench-speech``: its options, and what it prints and writes."""

from pathlib import Path
from typing import Annotated

import typer

from flows.measuring.subjects import Json, subject
from flows.settings.lists import shares
from flows.settings.options import usual


@subject("bench-speech")
def bench_speech(
    audio: Annotated[list[Path], typer.Argument(help="Recordings (wav or flac).")],
    reference: Annotated[
        Path | None, typer.Option(help="Their transcripts: JSON lines with 'file' and 'text'.")
    ] = None,
    speech_model: Annotated[
        Path | None, typer.Option(help="Folder of the speech model.", show_default="moonshine's English one")
    ] = None,
    recognizer: Annotated[str, typer.Option(help="moonshine or whisper.")] = usual("recognize", "engine"),
    spoken: Annotated[str, typer.Option("--from", help="Language of the speech.")] = usual(
        "translate", "from"
    ),
    bias: Annotated[
        str, typer.Option(help="Biases towards the last hypothesis, 0 to 1.")
    ] = f"0,{usual('recognize', 'bias')}",
    certainty: Annotated[
        str, typer.Option(help="Minimum probabilities of the last word shown of unfinished speech.")
    ] = f"0,{usual('recognize', 'certainty')}",
    interval: Annotated[float, typer.Option(min=0.1, max=10, help="Seconds between two updates.")] = float(
        usual("recognize", "update_interval_s")
    ),
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
    from flows.measuring.speech.run import SpeechBenchJob, run

    run(
        SpeechBenchJob(
            audio=audio,
            reference=reference,
            recognizer=recognizer,
            model=speech_model,
            spoken=spoken,
            biases=shares("--bias", bias),
            certainties=shares("--certainty", certainty),
            interval_s=interval,
            threads=threads,
            native=native,
            json=json,
        )
    )
