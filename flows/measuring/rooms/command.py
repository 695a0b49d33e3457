"""``surtitle bench-rooms``: its options."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from flows.measuring.subjects import Json, subject
from flows.settings.lists import integers
from flows.settings.options import DECODING, Overrides, asks_for, takes

#: Draft models are benchmarked by another command.
_TRANSLATED = tuple(option for option in DECODING if not option.key.startswith("draft"))


class RoomsJob(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure and simulate, and where the results go."""

    partials: Annotated[Path, typer.Argument(help="Speech in each room (partials, JSONL).")]
    rooms: Annotated[str, typer.Option(help="Numbers of rooms on one model, or none.")] = "1,4,16"
    simulate: Annotated[str | None, typer.Option(
        help="Numbers of rooms to simulate as well, up to 100,000.", show_default="none",
    )] = None  # fmt: skip
    modes: Annotated[str, typer.Option(
        help="Translated together (batched), one after the other (alone), or together by the stage of a run "
        "(flow).",
    )] = "batched,alone"  # fmt: skip
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds of speech in each room.")] = (
        30.0
    )
    limit: Annotated[int | None, typer.Option(min=1, help="Number of segments of the recording.")] = None
    costs: Annotated[Path | None, typer.Option(
        help="Costs of simulated passes (JSON).", show_default="as measured here",
    )] = None  # fmt: skip
    sessions: Annotated[int, typer.Option(min=1, max=1_000_000, help="Segments that it has memory for.")] = (
        255
    )
    json: Json = None

    @property
    def measured(self) -> list[int]:
        """The numbers of rooms to measure."""
        return [] if self.rooms.strip() == "none" else integers("--rooms", self.rooms)

    @property
    def simulated(self) -> list[int]:
        """Those to simulate."""
        return [] if self.simulate is None else integers("--simulate", self.simulate)


@subject("bench-rooms")
@takes(_TRANSLATED)
@asks_for(RoomsJob)
def bench_rooms(job: RoomsJob, overrides: Overrides) -> None:
    """Measure many live rooms on one model: throughput, delay, dropped updates, memory.

    Every room replays the recording at its recorded pace, each from a different position.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.results import publish
    from flows.measuring.rooms.run import run_rooms

    publish(run_rooms(job, overrides), json=job.json)
