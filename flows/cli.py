"""The command line: ``surtitle file``, ``surtitle replay`` and ``surtitle bench``."""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
import typer

from connectors.jsonl import JsonlSource, event_type_of, validate
from connectors.jsonl_sink import check_writable
from connectors.screen import Screen
from connectors.status_line import Status
from flows.bench.command import bench
from flows.captions import build
from flows.report import print_profile, print_summary, write_summary
from flows.run import run
from flows.runtime import Runtime
from flows.settings import Settings, TranslateSettings, load_settings
from flows.waiting import Waiting
from operators.errors import INTERNAL_EXIT_CODE, InputError, SurtitleError, UsageError
from operators.events import Caption, Event, Partial, Translation

app = typer.Typer(
    name="surtitle",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Live speech translation whose captions hardly flicker.",
)

app.command()(bench)

_REPLAYED: dict[type[Event], str] = {Partial: "partials", Translation: "translations", Caption: "captions"}

To = Annotated[str | None, typer.Option("--to", help="Language of the captions.", show_default="German")]
From = Annotated[str | None, typer.Option("--from", help="Language of the speech.", show_default="English")]
Model = Annotated[
    str | None, typer.Option(help="Path of a GGUF file, hub:OWNER/REPO:FILE.gguf, or 'default'.")
]
TemplateOption = Annotated[
    str | None,
    typer.Option("--template", help="few-shot, chat, tower or qwen3.", show_default="auto, by the model"),
]
MethodOption = Annotated[
    str | None, typer.Option("--method", help="ssbd, retranslate or continuous.", show_default="ssbd")
]
Bias = Annotated[
    float | None,
    typer.Option(help="How far decoding leans towards its last output, 0 to 1.", show_default="0.2"),
]
MaskK = Annotated[
    int | None, typer.Option(help="Tokens withheld from unfinished captions.", show_default="3")
]
FinalBias = Annotated[
    float | None,
    typer.Option(help="The same for the last update of a segment.", show_default="0"),
]
Commit = Annotated[
    int | None,
    typer.Option(help="Passes after which a draft token is believed unseen; 0 is off.", show_default="1"),
]
HoldBack = Annotated[
    int | None,
    typer.Option(help="Words at the end of unfinished speech that wait for more.", show_default="0"),
]
StripPunctuation = Annotated[
    bool | None,
    typer.Option("--strip-punctuation", help="Take away the closing punctuation of unfinished speech."),
]
Threads = Annotated[int | None, typer.Option(help="Threads of the model.", show_default="measured")]
Realtime = Annotated[bool | None, typer.Option("--realtime", help="At the pace of the recording.")]
SkipBad = Annotated[
    bool | None, typer.Option("--skip-bad", help="Put invalid lines aside in EVENTS.rejected and go on.")
]
SettingsFile = Annotated[Path | None, typer.Option("--settings", help="TOML file; options override it.")]
Log = Annotated[str | None, typer.Option(help="Write the erasure log here (JSONL).")]
SummaryFile = Annotated[str | None, typer.Option("--summary", help="Write the closing summary here (JSON).")]
SavePartials = Annotated[str | None, typer.Option(help="Write what the recogniser said (JSONL).")]
SaveTranslations = Annotated[str | None, typer.Option(help="Write the translations (JSONL).")]
SaveCaptions = Annotated[
    str | None, typer.Option("--captions", "--save-captions", help="Write the captions (JSONL).")
]
FromPartials = Annotated[str | None, typer.Option(help="Replay partials instead of recognising speech.")]
FromTranslations = Annotated[str | None, typer.Option(help="Replay translations instead of translating.")]
FromCaptions = Annotated[str | None, typer.Option(help="Replay captions.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Nothing on the terminal but errors.")]
Profile = Annotated[bool, typer.Option("--profile", help="Print what an update costs beside the model.")]


@app.command()
def file(
    context: typer.Context,
    audio: Annotated[Path | None, typer.Argument(help="A wav or flac file.", show_default=False)] = None,
    to: To = None,
    from_: From = None,
    model: Model = None,
    template: TemplateOption = None,
    method: MethodOption = None,
    bias: Bias = None,
    final_bias: FinalBias = None,
    commit: Commit = None,
    hold_back: HoldBack = None,
    strip_punctuation: StripPunctuation = None,
    mask_k: MaskK = None,
    threads: Threads = None,
    realtime: Realtime = None,
    from_partials: FromPartials = None,
    from_translations: FromTranslations = None,
    from_captions: FromCaptions = None,
    skip_bad: SkipBad = None,
    log: Log = None,
    captions: SaveCaptions = None,
    save_partials: SavePartials = None,
    save_translations: SaveTranslations = None,
    summary: SummaryFile = None,
    settings: SettingsFile = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Translate recorded speech into captions."""
    replays = {"partials": from_partials, "translations": from_translations, "captions": from_captions}
    given = {name: path for name, path in replays.items() if path}
    if len(given) + (audio is not None) > 1:
        raise UsageError(
            "give one input: AUDIO, or one of --from-partials, --from-translations, --from-captions"
        )
    overrides = {
        "input": {"audio": _text(audio), **given, "realtime": realtime, "skip_bad": skip_bad},
        "translate": _of_stage(TranslateSettings, context),
        "display": {"mask_k": mask_k},
        "output": _output(quiet, log, captions, save_partials, save_translations, summary),
    }
    _caption(load_settings(settings, overrides), quiet=quiet, profile=profile)


@app.command()
def replay(
    context: typer.Context,
    events: Annotated[Path, typer.Argument(help="Partials, translations or captions (JSONL).")],
    to: To = None,
    from_: From = None,
    model: Model = None,
    template: TemplateOption = None,
    method: MethodOption = None,
    bias: Bias = None,
    final_bias: FinalBias = None,
    commit: Commit = None,
    hold_back: HoldBack = None,
    strip_punctuation: StripPunctuation = None,
    mask_k: MaskK = None,
    threads: Threads = None,
    realtime: Realtime = None,
    skip_bad: SkipBad = None,
    log: Log = None,
    captions: SaveCaptions = None,
    save_translations: SaveTranslations = None,
    summary: SummaryFile = None,
    settings: SettingsFile = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Run the chain from recorded events on; the kind of event is found out from the file."""
    event_type = event_type_of(events)
    if event_type not in _REPLAYED:
        raise InputError(
            f"{events}: {event_type.__name__.lower()} events cannot be replayed into captions; "
            "give partials, translations or captions"
        )
    overrides = {
        "input": {_REPLAYED[event_type]: str(events), "realtime": realtime, "skip_bad": skip_bad},
        "translate": _of_stage(TranslateSettings, context),
        "display": {"mask_k": mask_k},
        "output": _output(quiet, log, captions, None, save_translations, summary),
    }
    _caption(load_settings(settings, overrides), quiet=quiet, profile=profile)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _of_stage(stage: type[msgspec.Struct], context: typer.Context) -> dict[str, Any]:
    """The options of a command that are settings of ``stage``, by the names that they have in a file."""
    names = (field.encode_name for field in msgspec.structs.fields(stage))
    params = {name.rstrip("_"): value for name, value in context.params.items()}
    return {name: params.get(name) for name in names}


def _output(
    quiet: bool,
    log: str | None,
    captions: str | None,
    partials: str | None,
    translations: str | None,
    summary: str | None,
) -> dict[str, Any]:
    return {
        "terminal": False if quiet else None,
        "log": log,
        "captions": captions,
        "partials": partials,
        "translations": translations,
        "summary": summary,
    }


def _caption(settings: Settings, *, quiet: bool, profile: bool) -> None:
    """Run the captions flow, and close with its summary."""
    with Waiting(quiet=quiet, captions=settings.output.terminal) as waiting:
        runtime = Runtime(settings, waiting.doing, waiting.at_position)
        if settings.output.terminal:
            runtime.at_position = _told_on(runtime.screen, waiting.at_position)
        dataflow = build(settings, runtime)
        _check(settings)
        if not settings.input.translations and not settings.input.captions:
            runtime.translator()
        if profile:
            runtime.overheads_s = []
        # A line that went on moving would get in between the captions.
        waiting.end()
        with runtime.screen:
            run(dataflow, runtime.stop)
    summary = runtime.summary()
    if settings.output.summary:
        write_summary(summary, Path(settings.output.summary))
    if not quiet:
        print_summary(summary, settings.output.log)
    if runtime.overheads_s is not None:
        print_profile(runtime.overheads_s, summary)
    _complain(runtime)


def _told_on(screen: Screen, at_position: Callable[[float, float], None]) -> Callable[[float, float], None]:
    def at(position_s: float, duration_s: float) -> None:
        at_position(position_s, duration_s)
        screen.status(
            Status(state="translating the recording", elapsed_s=position_s, duration_s=duration_s or None)
        )

    return at


def _complain(runtime: Runtime) -> None:
    """End with what was wrong with an input that was used as far as it went."""
    complaints = list(runtime.complaints)
    source = runtime.source
    if isinstance(source, JsonlSource) and source.rejected:
        lines = "1 line was" if source.rejected == 1 else f"{source.rejected} lines were"
        complaints.append(f"{lines} not valid and put aside in {source.rejected_path}; the others were used")
    if complaints:
        raise InputError("; ".join(complaints))


def _check(settings: Settings) -> None:
    """Look at all that was handed in before a model is loaded; the source itself checks a recording."""
    output, given = settings.output, settings.input
    files = (given.audio, given.partials, given.translations, given.captions)
    reading = [Path(path) for path in files if path]
    for path in (output.log, output.captions, output.partials, output.translations, output.summary):
        if path:
            check_writable(Path(path), reading=reading)
    for event_type, name in _REPLAYED.items():
        path = getattr(given, name)
        if path and not given.skip_bad:
            validate(Path(path), event_type)


def _forget_output() -> None:
    """Keep Python from complaining once more when it flushes into a pipe that nobody reads."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: SurtitleError) -> NoReturn:
    print(f"surtitle: {error}", file=sys.stderr)
    sys.exit(error.exit_code)


def main() -> NoReturn:
    """Run the command line; the exit code tells usage (2), input (3), output (4) and internal errors (70)."""
    try:
        app()
    except SurtitleError as error:
        _forget_output()
        _fail(error)
    except Exception:  # noqa: BLE001 - the last resort: whatever it is, it is our defect
        traceback.print_exc()
        print(
            "surtitle: this is a defect of surtitle; please report it with the lines above", file=sys.stderr
        )
        sys.exit(INTERNAL_EXIT_CODE)
    sys.exit(0)
