"""The commands that measure: ``surtitle bench``, ``partials`` and ``loadgen``.

Their implementations are imported on demand, so that other commands start fast.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from connectors.files.atomic import write_atomically
from connectors.files.distinct import check_distinct
from flows.measuring.plan import VARIED, BenchJob, make_plan, read_grid
from flows.settings.loading import load_settings, warn_of_unused_bias
from flows.settings.options import (
    CaptionsOnly,
    From,
    Glossary,
    Model,
    Recognizer,
    Set,
    SpeechModel,
    To,
    given_in,
)
from operators.errors import UsageError
from operators.languages import Direction

Json = Annotated[Path | None, typer.Option("--json", help="Write signature and rows here.")]


Data = Annotated[
    str | None,
    typer.Option(help="A corpus by name, with its references: flores101, acl6060, acl6060-eval."),
]
Lag = Annotated[int, typer.Option(min=1, help="Number of words that each update adds to a text.")]

Task = Literal["text", "drafts", "speech"]
_OF_TEXT = ("data", "lag", "repeat", "paper", "comet", "split", "likelihood", "fresh")
#: The options that a task has no use for.
_UNUSED: dict[Task, tuple[str, ...]] = {
    "text": ("recognizer", "speech_model"),
    "drafts": (*_OF_TEXT, "reference", "recognizer"),
    "speech": (*_OF_TEXT, "to", "model"),
}


def bench(
    context: typer.Context,
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A text (one segment per line) or partials (JSONL); recordings for speech.",
            metavar="[SOURCE...]",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        Task,
        typer.Option(
            help="Compare decoding methods on a text, ways of drafting with a draft model, or ways to "
            "recognise speech."
        ),
    ] = "text",
    to: To = None,
    source: From = None,
    model: Model = None,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Its translation, line by line; of speech JSON lines with 'file' and 'text'."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Values of a setting to measure: translate.method=ssbd,jacobi or translate.bias=0,0.2; "
            "again for other settings, whose values are crossed.",
            metavar="KEY=VALUES",
        ),
    ] = None,
    data: Data = None,
    lag: Lag = 3,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of segments, recordings or utterances.")
    ] = None,
    skip: Annotated[int, typer.Option(min=0, help="How many of these to skip at the beginning.")] = 0,
    repeat: Annotated[int, typer.Option(min=1, help="Number of timed runs.")] = 3,
    json: Json = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables here.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The tables of the SSBD paper.")] = False,
    comet: Annotated[
        str | None, typer.Option(help="Score with this COMET model: wmt22-comet-da, or a .ckpt file.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Count erasure in these tokens: flores101, 13a, …"),
    ] = None,
    likelihood: Annotated[
        bool, typer.Option("--likelihood", help="Also score all outputs with the model itself.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over even if an earlier run was interrupted.")
    ] = False,
    set_: Set = None,
) -> None:
    """Compare decoding methods: speed, quality, erasure; or ways of drafting, or ways to recognise speech.

    Settings that are not varied have surtitle's defaults. An interrupted run on a text resumes when started
    again.
    """
    for name in _UNUSED[task]:
        if context.get_parameter_source(name).name == "COMMANDLINE":  # type: ignore[union-attr]
            option = "tokenizer" if name == "split" else name.replace("_", "-")
            raise UsageError(f"--{option} has no effect with --task {task}; leave it out")
    if not sources and data is None:
        raise UsageError("there is nothing to measure: give a SOURCE, or --data with the name of a corpus")
    job = BenchJob(
        sources or [], reference, skip, limit, json, markdown,
        data=data, lag=lag, repeat=repeat, paper=paper, comet=comet, tokenizer=split, likelihood=likelihood,
        fresh=fresh,
    )  # fmt: skip
    overrides, grid = given_in(context), read_grid(vary or (), VARIED[task])
    if task == "drafts":
        from flows.measuring.drafts import bench_drafts

        bench_drafts(job, load_settings(None, overrides), grid)
        return
    if task == "speech":
        from flows.measuring.speech import bench_speech

        settings = load_settings(None, overrides)
        bench_speech(job, settings.recognize, settings.translate.source, grid)
        return
    from flows.measuring.bench import bench_texts
    from flows.measuring.paper import GRIDS

    plan = make_plan(overrides.get("translate", {}), [grid, *(GRIDS if paper else ())])
    methods = {one.method for one in plan.variants[1:]}
    if any(grid.get("heads", ())) and "heads" not in methods:
        raise UsageError("--vary heads has no effect without the method; add --vary method=heads")
    warn_of_unused_bias(grid, methods, grid.get("accept", ("auto",)))
    bench_texts(job, plan)


def partials(
    source: Annotated[Path | None, typer.Argument(help="A text, one segment per line.")] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write (JSONL), for bench, replay and trace.")
    ] = Path("/dev/stdout"),
    spoken: Annotated[str, typer.Option("--from", help="Language of a corpus.")] = "English",
    data: Data = None,
    lag: Lag = 3,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of segments.")] = None,
) -> None:
    """Write a text as a recogniser's partials, a few words more each time; a word takes 0.4 s."""
    from flows.measuring.corpus import as_partials, load_corpus, load_named

    if (source is None) == (data is None):
        raise UsageError("give a text, or --data with the name of a corpus")
    check_distinct([("--output", output)], [source])
    if source is None:
        corpus = load_named(str(data), Direction.of(spoken, spoken), None, lag=lag, chosen=slice(0, limit))
    else:
        corpus = load_corpus(source, lag=lag, chosen=slice(0, limit))
    lines = [msgspec.json.encode(one) + b"\n" for one in as_partials(corpus)]
    write_atomically(output, b"".join(lines))


def loadgen(
    context: typer.Context,
    recording: Annotated[
        Path, typer.Argument(help="What each room says: a wav or flac file, or partials (JSONL).")
    ],
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    server: Annotated[
        str | None,
        typer.Option(help="Address of a server of rooms.", show_default="straight into the flow, here"),
    ] = None,
    rooms: Annotated[str, typer.Option(help="Numbers of rooms, one after the other.")] = "1,4",
    seconds: Annotated[float, typer.Option(min=0.5, max=86_400, help="Seconds that they speak.")] = 30.0,
    json: Json = None,
    set_: Set = None,
) -> None:
    """Let many rooms speak at once, and measure how late their captions come, and what is dropped.

    Every room repeats the recording at its own pace, from a different position. With --server, --to may name
    several languages, and SURTITLE_WEB_TOKEN holds the server's token.
    """
    from flows.measuring.load.run import generate_load

    generate_load(given_in(context), recording, server, rooms, seconds, json)
