"""The commands that measure: ``surtitle bench``, ``partials`` and ``loadgen``.

Their implementations are imported on demand, so that other commands start fast.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from flows.running.loading import loading
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

Json = Annotated[Path | None, typer.Option("--json", help="Write the signature and all rows here (JSON).")]
Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        help="A text (one segment per line), partials (JSONL), or recordings (bench --task speech).",
        metavar="[SOURCE...]",
        show_default=False,
    ),
]
Reference = Annotated[
    list[str] | None,
    typer.Option(
        help="Reference translation, line by line; for several languages, repeat as de=FILE. For speech: "
        "JSON lines with 'file' and 'text'."
    ),
]
Comet = Annotated[
    str | None, typer.Option(help="Score with this COMET model: wmt22-comet-da, or a .ckpt file.")
]
Split = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="Count erasure in these tokens: flores101, 13a, …",
        show_default="those of the language",
    ),
]
Lag = Annotated[int, typer.Option(min=1, help="Number of words that each update adds to a text.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Maximum number of segments or recordings.")]
Skip = Annotated[int, typer.Option(min=0, help="Number of segments or recordings to skip at the beginning.")]
Repeat = Annotated[int, typer.Option(min=1, help="Number of timed runs.")]

Data = Annotated[
    str | None,
    typer.Option(help="A corpus by name, with its references: flores101, acl6060, acl6060-eval."),
]

Task = Literal["text", "drafts", "speech"]
_OF_TEXT = ("data", "lag", "repeat", "paper", "comet", "split", "likelihood", "fresh", "outputs")
#: The options that have no effect on a task.
_UNUSED: dict[Task, tuple[str, ...]] = {
    "text": ("recognizer", "speech_model"),
    "drafts": (*_OF_TEXT, "reference", "recognizer", "speech_model"),
    "speech": (*_OF_TEXT, "to", "model"),
}


def bench(
    context: typer.Context,
    sources: Sources = None,
    task: Annotated[
        Task,
        typer.Option(
            help="What to compare: methods of translating text, of drafting with a draft model, or of "
            "recognising speech."
        ),
    ] = "text",
    to: To = None,
    source: From = None,
    model: Model = None,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    reference: Reference = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Values of a setting to measure: translate.method=ssbd,jacobi or translate.bias=0,0.2. "
            "Repeat for other settings; all combinations are measured.",
            metavar="KEY=VALUES",
        ),
    ] = None,
    data: Data = None,
    lag: Lag = 3,
    limit: Limit = None,
    skip: Skip = 0,
    repeat: Repeat = 3,
    json: Json = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables here.")] = None,
    outputs: Annotated[Path | None, typer.Option(help="Write all translations here (JSONL).")] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Measure by the SSBD paper's protocol, and show its tables.")
    ] = False,
    comet: Comet = None,
    split: Split = None,
    likelihood: Annotated[
        bool, typer.Option("--likelihood", help="Also score all outputs with the model itself.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over even if an earlier run was interrupted.")
    ] = False,
    set_: Set = None,
) -> None:
    """Compare decoding methods on text or speech: speed, quality, erasure.

    Settings that are not varied have surtitle's defaults. For a text, --to and --model may name several, and
    an interrupted run resumes when started again.
    """
    for name in _UNUSED[task]:
        if context.get_parameter_source(name).name == "COMMANDLINE":  # type: ignore[union-attr]
            option = "tokenizer" if name == "split" else name.replace("_", "-")
            raise UsageError(f"--{option} has no effect with --task {task}; leave it out")
    _check_given(sources, data)
    with loading():
        from flows.measuring.plan import VARIED, BenchJob, Grid, bench_runs, read_grid
        from flows.settings.loading import load_settings, warn_of_unused_bias

    manifest = Path(reference[0]) if reference and task == "speech" else None
    job = BenchJob(
        sources or [], manifest, skip, limit, json, markdown,
        data=data, lag=lag, repeat=repeat, comet=comet, tokenizer=split, likelihood=likelihood, fresh=fresh,
        outputs=outputs,
    )  # fmt: skip
    overrides, grid = given_in(context), read_grid(vary or (), VARIED[task])
    if task == "drafts":
        with loading():
            from flows.measuring.drafts import bench_drafts

        bench_drafts(job, load_settings(None, overrides), grid)
        return
    if task == "speech":
        with loading():
            from flows.measuring.speech import bench_speech

        settings = load_settings(None, overrides)
        bench_speech(job, settings.recognize, settings.translate.spoken[0], grid)
        return
    if sources and len(sources) > 1:
        raise UsageError("one text can be measured at a time; give one file")
    with loading():
        from flows.measuring.bench import bench_texts
        from flows.measuring.measured import Paper
        from flows.measuring.ssbd import NAME, USUAL_TABLES, common_settings, grids_of, paper_tables

    common: dict[str, Any] = overrides.get("translate", {})
    grids: list[Grid] = [grid]
    if paper:
        common, grids = common_settings(common), [*grids_of(USUAL_TABLES), grid]
    runs = bench_runs(sources or [None], common, reference or (), lambda *_run: grids)
    methods = {one.method for run in runs for one in run.plan.variants[1:]}
    if any(grid.get("heads", ())) and "heads" not in methods:
        raise UsageError("--vary heads has no effect without the method; add --vary method=heads")
    warn_of_unused_bias(grid, methods, grid.get("accept", ("auto",)))
    bench_texts(job, runs, Paper(NAME, USUAL_TABLES, paper_tables) if paper else None)


def reproduce(
    context: typer.Context,
    paper: Annotated[
        Literal["ssbd", "jacobi", "blockwise"],
        typer.Argument(
            help="The paper: ssbd (Zeng et al.), jacobi (Santilli et al.) or blockwise (Stern et al.)."
        ),
    ],
    sources: Sources = None,
    to: To = None,
    source: From = None,
    model: Model = None,
    reference: Reference = None,
    tables: Annotated[
        str | None, typer.Option(help="Numbers of tables, such as 2,3, or deviations.", show_default="all")
    ] = None,
    data: Data = None,
    lag: Lag = 3,
    limit: Limit = None,
    skip: Skip = 0,
    repeat: Repeat = 3,
    comet: Comet = None,
    split: Split = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the page, the figures, and all translations.")
    ] = Path("reproduced"),
    set_: Set = None,
) -> None:
    """Measure the tables of a paper by its protocol, and write them next to the paper's figures.

    --to and --model may name several. Tables 3, 4 and 7 of ssbd show one language pair, as in the paper:
    that with Chinese, or else the first one, with the first model. The folder keeps all trials: an
    interrupted run resumes, and --comet can be added without measuring again.
    """
    _check_given(sources, data)
    with loading():
        from flows.measuring.plan import BenchJob
        from flows.measuring.reproduce import reproduce as reproduced

    job = BenchJob(
        sources or [], None, skip, limit, None, None,
        data=data, lag=lag, repeat=repeat, comet=comet, tokenizer=split,
    )  # fmt: skip
    reproduced(paper, job, given_in(context).get("translate", {}), reference or (), tables, output)


def _check_given(sources: list[Path] | None, data: str | None) -> None:
    if not sources and data is None:
        raise UsageError("there is nothing to measure: give a SOURCE, or --data with the name of a corpus")


def partials(
    source: Annotated[Path | None, typer.Argument(help="A text, one segment per line.")] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write (JSONL), for bench, replay and trace.")
    ] = Path("/dev/stdout"),
    spoken: Annotated[str, typer.Option("--from", help="Language of the text from --data.")] = "English",
    data: Data = None,
    lag: Lag = 3,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of segments.")] = None,
) -> None:
    """Convert a text to partials like a recogniser's, which grow by a few words each; a word takes 0.4 s."""
    if (source is None) == (data is None):
        raise UsageError("give a text, or --data with the name of a corpus")
    with loading():
        import msgspec

        from connectors.files.atomic import write_atomically
        from connectors.files.distinct import check_distinct
        from flows.measuring.corpus import as_partials, load_corpus, load_named
        from operators.languages import Direction

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
        Path, typer.Argument(help="Speech of each room: a wav or flac file, or partials (JSONL).")
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
        typer.Option(help="Address of a running `surtitle serve`.", show_default="the flow in this process"),
    ] = None,
    rooms: Annotated[str, typer.Option(help="Numbers of rooms to measure, one after the other.")] = "1,4",
    seconds: Annotated[float, typer.Option(min=0.5, max=86_400, help="Seconds for which they speak.")] = 30.0,
    json: Json = None,
    set_: Set = None,
) -> None:
    """Load test: let many rooms speak at once; measure the delay of captions, and what is dropped.

    Every room repeats the recording in real time, from a different position. With --server, --to may name
    several languages, and SURTITLE_WEB_TOKEN holds the server's token.
    """
    with loading():
        from flows.measuring.load.run import generate_load

    generate_load(given_in(context), recording, server, rooms, seconds, json)
