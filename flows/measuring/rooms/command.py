"""``surtitle bench-rooms``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from connectors.files.distinct import check_distinct
from flows.measuring.subjects import Json, subject
from flows.settings.lists import integers, words
from flows.settings.loading import load_settings
from flows.settings.options import DECODING, Overrides, takes
from operators.errors import UsageError

#: Draft models are benchmarked by another command.
_TRANSLATED = tuple(option for option in DECODING if not option.key.startswith("draft"))


@subject("bench-rooms")
@takes(_TRANSLATED)
def bench_rooms(
    overrides: Overrides,
    partials: Annotated[Path, typer.Argument(help="Speech in each room (partials, JSONL).")],
    rooms: Annotated[str, typer.Option(help="Numbers of rooms on one model, or none.")] = "1,4,16",
    simulate: Annotated[
        str | None,
        typer.Option(help="Numbers of rooms to simulate as well, up to 100,000.", show_default="none"),
    ] = None,
    modes: Annotated[
        str,
        typer.Option(
            help="Translated together (batched), one after the other (alone), or together by the stage of a "
            "run (flow)."
        ),
    ] = "batched,alone",
    seconds: Annotated[
        float, typer.Option(min=0.1, max=86_400, help="Seconds of speech in each room.")
    ] = 30.0,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of segments of the recording.")] = None,
    costs: Annotated[
        Path | None, typer.Option(help="Costs of simulated passes (JSON).", show_default="as measured here")
    ] = None,
    sessions: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Segments that it has memory for.")
    ] = 255,
    json: Json = None,
) -> None:
    """Measure many live rooms on one model: throughput, delay, dropped updates, memory.

    Every room replays the recording at its recorded pace, each from a different position.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.results import files_of, publish
    from flows.measuring.rooms.run import MODES, RoomsJob, run_rooms

    named = words("--modes", modes)
    if unknown := [word for word in named if word not in MODES]:
        raise UsageError(f"--modes: {unknown[0]!r} is no mode; choose from {', '.join(MODES)}")
    chosen = [mode for mode in MODES if mode in named]
    settings = load_settings(None, overrides).translate
    check_distinct([("--json", json)], [partials, costs, *files_of(settings)])
    results = run_rooms(
        RoomsJob(
            source=partials,
            settings=settings,
            rooms=[] if rooms.strip() == "none" else integers("--rooms", rooms),
            simulated=[] if simulate is None else integers("--simulate", simulate),
            modes=chosen,
            seconds=seconds,
            limit=limit,
            costs=costs,
            sessions=sessions,
        )
    )
    publish(results, json=json)
