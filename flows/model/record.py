"""The record of a training run: what it learned from, how, and what came of it."""

from pathlib import Path
from typing import Any

import msgspec

from connectors.files.whole import write_whole
from operators.errors import InputError


class Used(msgspec.Struct, frozen=True):
    """A file that the run read."""

    name: str
    sha256: str
    #: Of the segments, relative to the other files'.
    share: float | None = None
    pairs: int | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """How the run stood after so many tokens."""

    tokens: int
    #: Mean since the point before, nats an answer's token.
    loss: float
    chrf: float | None = None
    #: NE of re-translation.
    erasure: float | None = None
    #: Share of outputs that did not end.
    endless: float | None = None


class TrainingRecord(msgspec.Struct, kw_only=True):
    """All of it."""

    settings: dict[str, Any]
    model: Used
    data: list[Used]
    versions: dict[str, str]
    points: list[Point] = []


class HeadsPoint(msgspec.Struct, frozen=True):
    """How heads stood after so many rounds through the answers."""

    epoch: int
    #: Mean since the point before, nats a token.
    loss: float
    #: Tokens of a pass on held-out prompts with the first head, the first two, …, under exact acceptance.
    blocks: list[float]


class Block(msgspec.Struct, frozen=True):
    """What so many heads do for translations from scratch of held-out prompts."""

    heads: int
    #: The rule by which their proposals stand.
    accept: str
    #: Tokens of a pass: the mean accepted block size of Stern et al. (2018), whose k is one more.
    mean_block: float
    #: The speedup where a pass over n tokens costs 1 + n / 100.
    speedup_simulated: float


class HeadsRecord(msgspec.Struct, kw_only=True):
    """The record of proposal heads."""

    settings: dict[str, Any]
    model: Used
    data: list[Used]
    versions: dict[str, str]
    #: Prompts that were answered to learn from, and the tokens of the answers.
    prompts: int
    tokens: int
    #: Share of the held-out answers' tokens that the heads can say.
    covered: float
    points: list[HeadsPoint] = []
    blocks: list[Block] = []


def write_record(path: Path, record: TrainingRecord | HeadsRecord) -> None:
    """Write it as JSON. Raises `OutputError`."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def read_record(path: Path) -> TrainingRecord:
    """Read what `write_record` wrote. Raises `InputError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=TrainingRecord)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read, {error.strerror}: remove the run's state to begin anew"
        ) from None
    except msgspec.DecodeError as error:
        raise InputError(
            f"{path} is no record of a training run ({error}): remove the run's state to begin anew"
        ) from None
