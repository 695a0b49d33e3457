"""The record of a training run: its data, its settings and its results."""

from pathlib import Path
from typing import Any

import msgspec

from connectors.files.atomic import write_atomically
from connectors.files.contents import read_json


class Used(msgspec.Struct, frozen=True):
    """An input file of the run."""

    name: str
    sha256: str
    #: Its share of the segments, relative to the other files.
    share: float | None = None
    pairs: int | None = None
    #: The language of its translations, unless that is the run's own.
    language: str | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the run after a number of tokens."""

    tokens: int
    #: Mean since the previous point, in nats per token of the answers.
    loss: float
    #: Whether it ends a branch, in which the learning rate fell to 0.
    decayed: bool = False
    chrf: float | None = None
    #: NE of re-translation.
    erasure: float | None = None
    #: Share of outputs that did not end.
    endless: float | None = None


class TrainingRecord(msgspec.Struct, kw_only=True):
    """The record of a training run."""

    settings: dict[str, Any]
    model: Used
    data: list[Used]
    versions: dict[str, str]
    points: list[Point] = []


class HeadsPoint(msgspec.Struct, frozen=True):
    """The state of the heads after a number of epochs."""

    epoch: int
    #: Mean since the previous point, in nats per token.
    loss: float
    #: Tokens per pass on held-out prompts with the first head, the first two, …, under exact acceptance.
    blocks: list[float]


class BlockSize(msgspec.Struct, frozen=True):
    """The effect of a number of heads on translations from scratch of held-out prompts."""

    heads: int
    #: The acceptance rule for their proposals.
    accept: str
    #: Tokens per pass: the mean accepted block size of Stern et al. (2018), whose k is one more.
    mean_block: float
    #: The speedup if a pass over n tokens costs 1 + n / 100.
    speedup_simulated: float


class HeadsRecord(msgspec.Struct, kw_only=True):
    """The record of proposal heads."""

    settings: dict[str, Any]
    model: Used
    data: list[Used]
    versions: dict[str, str]
    #: Number of prompts that were answered for training, and of tokens of the answers.
    prompts: int
    tokens: int
    #: Share of the held-out answers' tokens that the heads can predict.
    covered: float
    points: list[HeadsPoint] = []
    blocks: list[BlockSize] = []


def write_record(path: Path, record: TrainingRecord | HeadsRecord) -> None:
    """Write a record as JSON. Raises `OutputError`."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def read_record(path: Path) -> TrainingRecord:
    """Read a record that `write_record` wrote. Raises `InputError`."""
    remedy = "remove the run's state to start over"
    return read_json(path, TrainingRecord, "the record of a training run", remedy)
