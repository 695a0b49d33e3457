"""``surtitle loadgen``: its options."""

import os
from contextlib import closing
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Annotated

import typer

from connectors.audio.decoder import AudioDecoder, probe
from connectors.files.distinct import check_distinct, named_files
from flows.cli.lists import integers, words
from flows.observe.audience import TOKEN_VARIABLE
from flows.settings.loading import load_settings
from flows.settings.options import TRANSLATION, Overrides, takes
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.extras import needs_extra

if TYPE_CHECKING:
    from flows.loadgen.into_flow import FlowTarget
    from flows.loadgen.into_server import ServerTarget

# More sound than this is not kept in memory; the rooms begin again.
_MAX_SOUND_BYTES = 32_000 * 3600
_MAX_ROOMS = 1000


@takes(TRANSLATION)
def loadgen(
    overrides: Overrides,
    recording: Annotated[
        Path,
        typer.Argument(help="What each room says: partials (JSONL), or a wav or flac file for --server."),
    ],
    server: Annotated[
        str | None,
        typer.Option(help="Address of a server of rooms.", show_default="straight into the flow, here"),
    ] = None,
    rooms: Annotated[str, typer.Option(help="Numbers of rooms, one after the other.")] = "1,4",
    seconds: Annotated[float, typer.Option(min=0.5, max=86_400, help="Seconds that they speak.")] = 30.0,
    server_metrics: Annotated[
        str | None,
        typer.Option(help="The server's metrics, which tell its memory: http://HOST:PORT/metrics."),
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write signature and rows here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the delays here (SVG).")] = None,
) -> None:
    """Let many rooms speak at once, and measure how late their captions come, what is dropped, and memory.

    Every room repeats the recording at its own pace, from a different position. With --server, --to may name
    several languages, and SURTITLE_WEB_TOKEN holds the server's token.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.loadgen.publish import publish
    from flows.loadgen.run import run_loads
    from flows.loadgen.target import Load, Target
    from flows.running.dataflow import interrupt_sets
    from flows.running.waiting import Waiting

    numbers = integers("--rooms", rooms)
    if any(not 1 <= number <= _MAX_ROOMS for number in numbers):
        raise UsageError(f"--rooms: there can be 1 to {_MAX_ROOMS} rooms")
    wanted = load_settings(None, overrides if server is None else {})
    model = wanted.translate
    read = named_files(model.model, model.template, model.glossary, model.heads, model.draft_model)
    check_distinct([("--json", json), ("--plot", plot)], [recording, *read])
    loads, stop = [Load(number, seconds) for number in numbers], Flag()
    with interrupt_sets(stop), Waiting(quiet=False, captions=False) as waiting:
        target: Target
        if server is None:
            target = _flow(wanted, recording, max(numbers), stop)
        else:
            target = _server(overrides, recording, server, server_metrics, stop)
        results = run_loads(target, loads, recording.name, waiting, stop)
    publish(results, json, plot)


def _flow(settings: Settings, recording: Path, rooms: int, stop: Flag) -> "FlowTarget":
    from flows.bench_rooms.source import read_source
    from flows.loadgen.into_flow import FlowTarget

    if recording.suffix.lower() in (".wav", ".flac"):
        raise UsageError(
            f"{recording} is sound, which needs a server: start surtitle serve, and add --server"
        )
    source = read_source(recording, None)
    return FlowTarget(settings, source.recording, rooms, stop)


def _server(
    overrides: Overrides, recording: Path, server: str, metrics: str | None, stop: Flag
) -> "ServerTarget":
    with needs_extra("web", "--server"):
        from flows.loadgen.into_server import ServerTarget
    to = overrides.get("translate", {}).get("to")
    languages = tuple(words("--to", to)) if to else ()
    token = os.environ.get(TOKEN_VARIABLE)
    return ServerTarget(server, _sound(recording), languages, token, metrics, stop)


def _sound(recording: Path) -> bytes:
    probe(recording)
    sound = bytearray()
    with closing(AudioDecoder(recording)) as decoder:
        for block in decoder.blocks():
            sound += block
            if len(sound) >= _MAX_SOUND_BYTES:
                break
    if len(sound) < 2 * 1600:
        raise UsageError(f"{recording} holds no speech; give a longer recording")
    return bytes(sound)
