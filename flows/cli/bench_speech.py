"""``surtitle bench-speech``: its options, and what it prints and writes."""

from pathlib import Path
from typing import Annotated

import typer

from operators.errors import UsageError


def bench_speech(
    audio: Annotated[list[Path], typer.Argument(help="Recordings (wav or flac).")],
    reference: Annotated[
        Path | None, typer.Option(help="What is said in them: JSON lines with 'file' and 'text'.")
    ] = None,
    speech_model: Annotated[
        Path | None, typer.Option(help="Folder of the speech model.", show_default="moonshine's English one")
    ] = None,
    recognizer: Annotated[str, typer.Option(help="moonshine or whisper.")] = "moonshine",
    spoken: Annotated[str, typer.Option("--from", help="Language of the speech, for whisper.")] = "English",
    bias: Annotated[str, typer.Option(help="Biases towards the last hypothesis, 0 to 1.")] = "0,0.2",
    certainty: Annotated[
        str, typer.Option(help="Least probabilities of the last word shown of unfinished speech.")
    ] = "0,0.7",
    interval: Annotated[float, typer.Option(min=0.1, max=10, help="Seconds between two updates.")] = 0.5,
    threads: Annotated[int, typer.Option(min=1, max=64, help="Threads of the speech model.")] = 2,
    native: Annotated[
        bool, typer.Option("--native", help="Add Moonshine's own library, with the model that comes along.")
    ] = False,
    json: Annotated[Path | None, typer.Option("--json", help="Write signature and rows here.")] = None,
) -> None:
    """Measure ways to recognise speech side by side: time, errors, erasure.

    Each recording is heard once, as fast as it goes; every window of it is decoded in all ways, in turns.
    """
    # Imported here: the other commands need none of it, and start the sooner.
    from flows.bench_speech.run import SpeechBenchJob, run

    run(
        SpeechBenchJob(
            audio=audio,
            reference=reference,
            recognizer=recognizer,
            model=speech_model,
            spoken=spoken,
            biases=_shares("--bias", bias),
            certainties=_shares("--certainty", certainty),
            interval_s=interval,
            threads=threads,
            native=native,
            json=json,
        )
    )


def _shares(option: str, text: str) -> list[float]:
    """Numbers from 0 to 1, separated by commas."""
    numbers = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        try:
            number = float(word)
        except ValueError:
            number = -1.0
        if not 0.0 <= number <= 1.0:
            raise UsageError(f"{option}: {word!r} is not a number from 0 to 1; separate several by commas")
        numbers.append(number)
    return numbers
