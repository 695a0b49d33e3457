"""``surtitle loadgen``: its options."""

import os
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Annotated

import typer

from connectors.files.distinct import check_distinct
from flows.measuring.subjects import Json, subject
from flows.observe.audience import TOKEN_VARIABLE
from flows.settings.lists import integers, words
from flows.settings.loading import load_settings
from flows.settings.options import RECOGNITION, TRANSLATION, Overrides, takes
from flows.settings.schema import Settings
from operators.errors import InputError, UsageError
from operators.extras import needs_extra

if TYPE_CHECKING:
    from flows.measuring.load.run import Target

_MAX_ROOMS = 1000


@subject("loadgen")
@takes(TRANSLATION, RECOGNITION)
def loadgen(
    overrides: Overrides,
    recording: Annotated[
        Path, typer.Argument(help="What each room says: a wav or flac file, or partials (JSONL).")
    ],
    server: Annotated[
        str | None,
        typer.Option(help="Address of a server of rooms.", show_default="straight into the flow, here"),
    ] = None,
    job: Annotated[
        Path | None,
        typer.Option(help="Settings of a job that reads partials from Kafka and writes captions to it."),
    ] = None,
    rooms: Annotated[str, typer.Option(help="Numbers of rooms, one after the other.")] = "1,4",
    seconds: Annotated[float, typer.Option(min=0.5, max=86_400, help="Seconds that they speak.")] = 30.0,
    server_metrics: Annotated[
        str | None,
        typer.Option(
            help="Metrics of the server or the job, which tell its memory: http://HOST:PORT/metrics."
        ),
    ] = None,
    json: Json = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the delays here (SVG).")] = None,
) -> None:
    """Let many rooms speak at once, and measure how late their captions come, what is dropped, and memory.

    Every room repeats the recording at its own pace, from a different position. With --server, --to may name
    several languages, and SURTITLE_WEB_TOKEN holds the server's token. With --job, the brokers and the topics
    are those of the settings file.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.load.run import plot as plotted
    from flows.measuring.load.run import run_loads
    from flows.measuring.playback import Load
    from flows.measuring.results import files_of, publish, running

    numbers = integers("--rooms", rooms)
    if any(not 1 <= number <= _MAX_ROOMS for number in numbers):
        raise UsageError(f"--rooms: give numbers from 1 to {_MAX_ROOMS}")
    if server is not None and job is not None:
        raise UsageError("a load goes to --server or to --job; leave one of them out")
    if job is not None and overrides:
        raise UsageError(f"--job: the job translates as {job} says; leave out the options about translation")
    wanted = load_settings(None, overrides if server is None else {})
    heard = Path(wanted.recognize.model) if wanted.recognize.model else None
    read = [recording, job, heard, *files_of(wanted.translate)]
    check_distinct([("--json", json), ("--plot", plot)], read)
    loads = [Load(number, seconds) for number in numbers]
    with running() as runner:
        if server is not None:
            target = _server(overrides, recording, server, server_metrics, runner.stop)
        elif job is not None:
            target = _job(recording, load_settings(job), server_metrics, runner.stop)
        else:
            target = _flow(wanted, recording, max(numbers), runner.stop)
        results, failure = run_loads(target, loads, recording.name, runner)
    rows = results.rows["rows"]
    publish(results, json=json, others=[(plot, lambda: plotted(rows).encode())])
    if failure is not None:
        raise failure
    if cut := sum(row.cut for row in rows):
        rooms_were = "1 room was" if cut == 1 else f"{cut} rooms were"
        raise InputError(f"{rooms_were} cut off before the last caption; see what the server reports")


def _is_sound(recording: Path) -> bool:
    return recording.suffix.lower() in (".wav", ".flac")


def _flow(settings: Settings, recording: Path, rooms: int, stop: Flag) -> "Target":
    from flows.engine.recognition import check_recognizer
    from flows.measuring.load.flow import FlowTarget
    from flows.measuring.playback import chunks, partials, read_recorded, read_sound
    from operators.events import AudioChunk, Partial

    if _is_sound(recording):
        check_recognizer(settings.recognize, spoken=settings.translate.source, is_live=True)
        sound = read_sound(recording)
        return FlowTarget(settings, lambda load: chunks(sound, load), AudioChunk, rooms, stop)
    said = read_recorded(recording, None).recording
    return FlowTarget(settings, lambda load: partials(said, load), Partial, rooms, stop)


def _server(overrides: Overrides, recording: Path, server: str, metrics: str | None, stop: Flag) -> "Target":
    from flows.measuring.playback import read_sound

    with needs_extra("web", "--server"):
        from flows.measuring.load.server import ServerTarget
    to = overrides.get("translate", {}).get("to")
    languages = tuple(words("--to", to)) if to else ()
    token = os.environ.get(TOKEN_VARIABLE)
    return ServerTarget(server, read_sound(recording), languages, token, metrics, stop)


def _job(recording: Path, job: Settings, metrics: str | None, stop: Flag) -> "Target":
    from flows.measuring.playback import read_recorded

    if _is_sound(recording):
        raise UsageError(
            f"{recording} is sound, and a job reads partials; make them with: "
            f"surtitle file {recording} --save-partials partials.jsonl"
        )
    with needs_extra("kafka", "--job"):
        from flows.measuring.load.kafka import KafkaTarget
    return KafkaTarget(job, read_recorded(recording, None).recording, metrics, stop)
