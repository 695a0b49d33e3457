"""``surtitle loadgen``: its options."""

import os
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Annotated, Any

import typer

from connectors.files.distinct import check_distinct
from flows.measuring.subjects import Json, subject
from flows.observe.audience import TOKEN_VARIABLE
from flows.settings.lists import integers, words
from flows.settings.loading import load_settings
from flows.settings.options import RECOGNITION, TRANSLATION, Overrides, takes
from flows.settings.schema import Settings
from operators.errors import InputError, SurtitleError, UsageError
from operators.extras import needs_extra

if TYPE_CHECKING:
    from flows.measuring.load.rows import Target

_MAX_ROOMS = 1000


@subject("loadgen", alone=False)
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
    rooms: Annotated[str, typer.Option(help="Numbers of rooms, one after the other.")] = "1,4",
    seconds: Annotated[float, typer.Option(min=0.5, max=86_400, help="Seconds that they speak.")] = 30.0,
    server_metrics: Annotated[
        str | None,
        typer.Option(help="Metrics of the server, with its memory: http://HOST:PORT/metrics."),
    ] = None,
    json: Json = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the delays here (SVG).")] = None,
) -> None:
    """Let many rooms speak at once, and measure how late their captions come, what is dropped, and memory.

    Every room repeats the recording at its own pace, from a different position. With --server, --to may name
    several languages, and SURTITLE_WEB_TOKEN holds the server's token.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.load.playback import Load
    from flows.measuring.load.rows import measured, table
    from flows.measuring.load.rows import plot as plotted
    from flows.measuring.results import Results, files_of, publish, running
    from flows.measuring.signature import sign

    numbers = integers("--rooms", rooms)
    if any(not 1 <= number <= _MAX_ROOMS for number in numbers):
        raise UsageError(f"--rooms: give numbers from 1 to {_MAX_ROOMS}")
    wanted = load_settings(None, overrides if server is None else {})
    heard = Path(wanted.recognize.model) if wanted.recognize.model else None
    check_distinct([("--json", json), ("--plot", plot)], [recording, heard, *files_of(wanted.translate)])
    rows, failure = list[dict[str, Any]](), list[SurtitleError]()
    with running() as runner:
        if server is not None:
            target = _server(overrides, recording, server, server_metrics, runner.stop)
        else:
            target = _flow(wanted, recording, max(numbers), runner.stop)
        for number in numbers:
            runner.doing(f"{number} rooms speak for {seconds:g} seconds", None)
            try:
                rows.append(measured(target, Load(number, seconds)))
            except SurtitleError as error:
                # What was measured before is worth a table.
                failure.append(error)
            runner.go_on()
            if failure:
                break
    if rows:
        results = Results(sign(recording=recording.name), {"rows": rows}, [table(rows)])
        publish(results, json=json, others=[(plot, lambda: plotted(rows).encode())])
    if failure:
        raise failure[0]
    if cut := sum(row["cut"] for row in rows):
        rooms_were = "1 room was" if cut == 1 else f"{cut} rooms were"
        raise InputError(f"{rooms_were} cut off before the last caption; see what the server reports")


def _flow(settings: Settings, recording: Path, rooms: int, stop: Flag) -> "Target":
    from flows.engine.recognition import check_recognizer
    from flows.measuring.load.flow import flow_target
    from flows.measuring.load.playback import chunks, partials, read_partials, read_sound
    from operators.events import AudioChunk, Partial

    if recording.suffix.lower() in (".wav", ".flac"):
        check_recognizer(settings.recognize, spoken=settings.translate.source, is_live=True)
        sound = read_sound(recording)
        return flow_target(settings, lambda load: chunks(sound, load), AudioChunk, rooms, stop)
    said = read_partials(recording)
    return flow_target(settings, lambda load: partials(said, load), Partial, rooms, stop)


def _server(overrides: Overrides, recording: Path, server: str, metrics: str | None, stop: Flag) -> "Target":
    from flows.measuring.load.playback import read_sound

    with needs_extra("web", "--server"):
        from flows.measuring.load.server import server_target
    to = overrides.get("translate", {}).get("to")
    languages = tuple(words("--to", to)) if to else ()
    token = os.environ.get(TOKEN_VARIABLE)
    return server_target(server, read_sound(recording), languages, token, metrics, stop)
