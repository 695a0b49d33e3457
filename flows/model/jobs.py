"""The jobs of the training commands: their options, the files next to their output, and their records."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from connectors.files.atomic import write_atomically
from connectors.files.contents import read_json
from flows.settings.translate import TranslateSettings
from operators.errors import UsageError, is_visible
from operators.languages import Language, language
from operators.models.tensor_types import USUAL, Types, parse_types


class Share(NamedTuple):
    """A file of pairs, and its share of the sampled segments."""

    path: Path
    share: float


def share_of(text: str) -> Share:
    """Parse ``FILE`` or ``FILE=SHARE``. Raises `UsageError`."""
    name, _, share = text.rpartition("=")
    if not name:
        return Share(Path(text), 1.0)
    try:
        number = float(share)
    except ValueError:
        return Share(Path(text), 1.0)
    if not 0 < number < float("inf"):
        raise UsageError(f"--pairs {text}: the share {share} is wrong; give a number above 0")
    return Share(Path(name), number)


class Lesson(NamedTuple):
    """A file of pairs, and the language of their translations."""

    target: Language
    path: Path
    share: float
    #: Whether its sentences follow each other as in a text.
    in_order: bool = False


def lesson_of(text: str, target: str) -> Lesson:
    """Parse ``LANGUAGE:FILE=SHARE``, where the language is ``target`` unless named. Raises `UsageError`."""
    name, colon, rest = text.partition(":")
    # A colon may also belong to the file's name.
    if not colon or "/" in name or is_visible(Path(text)):
        return Lesson(language(target), *share_of(text))
    return Lesson(language(name), *share_of(rest))


Source = Annotated[str, typer.Option("--from", help="Language of the speech.")]
Target = Annotated[str, typer.Option("--to", help="Language of the captions.")]
Rate = Annotated[float, typer.Option(min=1e-7, max=1e-1, help="Maximum learning rate.")]
Prefixes = Annotated[float, typer.Option(min=0, max=1, help="Share of examples that are unfinished speech.")]

_LANGUAGES = TranslateSettings()


class _Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job that writes one file."""

    output: Path

    def next_to(self, ending: str) -> Path:
        """The path of a file next to the output file."""
        return self.output.with_name(self.output.name + ending)

    @property
    def state(self) -> Path:
        """The state file, from which a stopped run resumes."""
        return self.next_to(".state")

    @property
    def record(self) -> Path:
        """The file with the record of the run."""
        return self.next_to(".json")

    def recorded(self, *without: str) -> dict[str, Any]:
        """The fields for a record: files by name only, and without the fields in ``without``."""
        fields = {name: value for name, value in msgspec.structs.asdict(self).items() if name not in without}
        return {name: value.name if isinstance(value, Path) else value for name, value in fields.items()}


class TrainingJob(_Job, frozen=True, kw_only=True):
    """``surtitle model train``."""

    model: Annotated[
        str,
        typer.Argument(help="The base model, with the vocabulary that the result will have: a GGUF file."),
    ]
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            help="Pairs written by 'surtitle model align'; FILE=SHARE says how often they are drawn, and "
            "LANGUAGE:FILE names a target language other than --to. May be repeated."
        ),
    ] = None
    documents: Annotated[
        list[str] | None,
        typer.Option(
            help="The same, of texts whose sentences follow each other: examples of several sentences are "
            "taken as they stand."
        ),
    ] = None
    target: Target
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the adapter here (.gguf).")]
    source: Source = _LANGUAGES.source
    tokens: Annotated[
        int, typer.Option(min=1, help="Number of tokens to train on; raise it to go on with an ended run.")
    ] = 2_000_000
    branch_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Tokens after which the adapter is finished, judged and written, and training goes on.",
            show_default="once, at the end",
        ),
    ] = None
    decay: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of these tokens in which the learning rate falls to 0."),
    ] = 0.1
    background: Annotated[
        bool,
        typer.Option(
            "--background", help="Run at the lowest priority, and pause while tests or benchmarks run."
        ),
    ] = False
    rank: Annotated[int, typer.Option(min=1, max=256, help="Rank of the adapter.")] = 32
    rate: Rate = 1e-4
    rows: Annotated[int, typer.Option(min=1, max=4096, help="Rows per batch, 256 tokens each.")] = 2
    prefixes: Prefixes = 0.5
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Share of sources with simulated recogniser errors.")
    ] = 0.3
    source_loss: Annotated[
        float,
        typer.Option(min=0, max=1, help="Weight of the source's tokens."),
    ] = 0.0
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1
    begin: Annotated[
        Path | None,
        typer.Option("--begin-with", help="Continue from this adapter, for instance on other data."),
    ] = None
    kinds: Annotated[
        str | None,
        typer.Option(
            "--type",
            help="Types that the weights will be stored in, as for 'surtitle model assemble': Q4_0, or "
            "ffn=Q4_0,attention=Q8_0. Training then uses the rounded weights.",
            show_default="not rounded",
        ),
    ] = None
    judged: Annotated[
        Path | None,
        typer.Option("--judge-sources", help="Texts to translate from time to time, one per line."),
    ] = None
    reference: Annotated[
        Path | None, typer.Option("--judge-references", help="Their translations, line by line.")
    ] = None
    judge_lines: Annotated[int, typer.Option(min=1, help="Number of their first lines to use.")] = 20
    judge_every: Annotated[int, typer.Option(min=1, help="Tokens between two such evaluations.")] = 200_000
    compiles: Annotated[
        bool,
        typer.Option(
            "--compile", help="Compile the model first, which takes a minute or two, and train faster."
        ),
    ] = False

    @property
    def lessons(self) -> list[Lesson]:
        """The files of pairs. Raises `UsageError`."""
        lessons = [lesson_of(text, self.target) for text in self.pairs or ()]
        in_order = [lesson_of(text, self.target)._replace(in_order=True) for text in self.documents or ()]
        return lessons + in_order

    @property
    def branch(self) -> Path:
        """The state of the branch in progress, in which the learning rate falls."""
        return self.next_to(".branch")

    @property
    def types(self) -> Types | None:
        """The storage types of the weights; None if training does not round them. Raises `UsageError`."""
        return None if self.kinds is None else parse_types(self.kinds, USUAL)


class HeadsJob(_Job, frozen=True, kw_only=True):
    """``surtitle model heads``."""

    model: Annotated[
        str, typer.Argument(help="The model to train heads for: a GGUF file, 'captions', 'base'.")
    ]
    pairs: Annotated[
        list[str],
        typer.Option(
            help="Pairs written by 'surtitle model align', whose sources are translated; FILE=SHARE "
            "says how often they are drawn. May be repeated."
        ),
    ]
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the heads here (.gguf).")]
    target: Target = _LANGUAGES.target
    source: Source = _LANGUAGES.source
    heads: Annotated[int, typer.Option(min=1, max=16, help="Number of heads.")] = 4
    hidden: Annotated[
        int | None, typer.Option(min=1, max=16384, help="Hidden units.", show_default="the model's width")
    ] = None
    prompts: Annotated[int, typer.Option(min=1, help="Number of prompts whose answers are learned from.")] = (
        3000
    )
    held_out: Annotated[int, typer.Option(min=1, help="Number of further prompts to measure on.")] = 100
    prefixes: Prefixes = 0.5
    tokens: Annotated[int, typer.Option(min=1, help="Number of tokens that the heads can propose.")] = 8192
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the answers.")] = 8
    rate: Rate = 1e-3
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of the model.", show_default="all cores")
    ] = None

    @property
    def shares(self) -> list[Share]:
        """The files of pairs. Raises `UsageError`."""
        return [share_of(text) for text in self.pairs]


class DistillJob(_Job, frozen=True, kw_only=True):
    """``surtitle model distill``."""

    pairs: Annotated[
        list[Path], typer.Argument(help="Pairs: a source, a tab and its translation in each line (.gz too).")
    ]
    model: Annotated[str, typer.Option(help="The model that translates: a GGUF file, 'captions', 'base'.")]
    target: Annotated[str, typer.Option("--to", help="Language of the translations.")]
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the new pairs here (.tsv, .tsv.gz).")]
    source: Annotated[str, typer.Option("--from", help="Language of the sources.")] = _LANGUAGES.source
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of pairs to draw.", show_default="all of them")
    ] = None
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Sentences translated together.")] = 32


class Used(msgspec.Struct, frozen=True):
    """An input file of the run."""

    name: str
    sha256: str
    #: Its share of the segments, relative to the other files.
    share: float | None = None
    pairs: int | None = None
    #: The language of its translations, unless that is the run's own.
    language: str | None = None
    #: Whether its sentences were taken in their order.
    in_order: bool = False


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the run after a number of tokens."""

    tokens: int
    #: Mean since the previous point, in nats per token of the answers.
    loss: float
    #: Whether it ends a branch, in which the learning rate fell to 0.
    decayed: bool = False
    #: Cross entropy of the references of ``--judge-references``, in nats per token.
    nats: float | None = None
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
