"""The program's command groups, and the message and exit code of each error."""

import logging
import shlex
import sys
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typing_extensions import override

from connectors.files.streams import is_of_output
from connectors.messages import begin_messages, log_event
from flows.cli.exits import end_interrupted, end_unwritten, fail, wants_json
from flows.cli.renamed import COMMANDS, in_new_form
from flows.cli.welcome import welcome
from flows.settings.options import with_number
from operators.errors import INTERNAL_EXIT_CODE, INTERRUPTED_EXIT_CODE, SurtitleError, UsageError

# The exception that Typer raises for an invalid command line; it has no public name.
_BAD_COMMAND_LINE: Any = typer.BadParameter.__bases__[0]

# The command that takes files with these suffixes.
_SUFFIXES = {
    **dict.fromkeys(
        (".wav", ".flac", ".mp3", ".m4a", ".ogg", ".opus", ".aac", ".mp4", ".mkv", ".webm"), "file"
    ),
    **dict.fromkeys((".jsonl", ".ndjson"), "replay"),
    ".toml": "job",
}
_TAKES = {"file": "sound", "subtitle": "sound", "replay": "events (JSONL)", "job": "settings (TOML)"}


class Commands(TyperGroup):
    """A group of commands; the outermost one introduces the program when no command is given."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Shell completion and the manual only read the options.
        if not args and not ctx.resilient_parsing:
            if ctx.parent is None:
                typer.echo(welcome(names_microphone=sys.stdout.isatty()))
                ctx.exit()
            if not self.invoke_without_command:
                typer.echo(ctx.get_help())
                ctx.exit()
        return super().parse_args(ctx, args)

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in COMMANDS and not ctx.resilient_parsing:
            raise UsageError(f"there is no {args[0]} any more; use `surtitle {COMMANDS[args[0]]}`")
        command = _SUFFIXES.get(PurePath(args[0]).suffix.lower())
        if command in self.commands and args[0] not in self.commands and not ctx.resilient_parsing:
            raise UsageError(
                f"there is no command {args[0]}; did you mean: surtitle {command} {shlex.quote(args[0])}"
            )
        name, found, rest = super().resolve_command(ctx, args)
        if found and not ctx.resilient_parsing:
            known = {flag for param in found.params for flag in (*param.opts, *param.secondary_opts)}
            if "--set" in known:
                rest = in_new_form(rest, known)
            if "--speakers" in known:
                rest = with_number(rest)
        return name, found, rest


def check_command(file: PurePath, command: str) -> None:
    """Raise `UsageError` for a file that by its suffix belongs to another of the commands for files."""
    fitting = _SUFFIXES.get(file.suffix.lower(), command)
    if _TAKES[fitting] != _TAKES[command]:
        raise UsageError(
            f"{file}: `surtitle {command}` takes {_TAKES[command]}; did you mean: "
            f"surtitle {fitting} {shlex.quote(str(file))}"
        )


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"surtitle {version('surtitle')}")
        raise typer.Exit


def about(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Live speech translation whose captions hardly flicker."""


def program() -> typer.Typer:
    app = typer.Typer(
        name="surtitle",
        cls=Commands,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(about)
    return app


def run(app: typer.Typer) -> NoReturn:
    """Run the command line of this process.

    Exit codes: those of our errors, such as usage (2), input (3) and output (4), and internal errors (70).
    """
    arguments = sys.argv[1:]
    begin_messages("json" if wants_json(arguments) else "text")
    code = 0
    try:
        _check_text(arguments)
        code = app(prog_name=app.info.name, standalone_mode=False)
    except SurtitleError as error:
        fail(error)
    except _BAD_COMMAND_LINE as error:
        fail(_refusal(error, arguments))
    except Exception as error:  # noqa: BLE001 - the last resort: any other exception is our bug
        if isinstance(error, OSError) and is_of_output(error):
            end_unwritten(error)
        sentence = "this is a defect in surtitle; please report it with the lines above"
        log_event(
            "internal_error", sentence, level=logging.CRITICAL, error=error, exit_code=INTERNAL_EXIT_CODE
        )
        sys.exit(INTERNAL_EXIT_CODE)
    if code == INTERRUPTED_EXIT_CODE:
        end_interrupted()
    try:
        sys.stdout.flush()
    except OSError as error:
        end_unwritten(error)
    sys.exit(code or 0)


def _check_text(arguments: Sequence[str]) -> None:
    """Reject lone surrogates: they can be neither printed nor written."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{argument} is not UTF-8; give the file another name") from None


def _refusal(error: Any, arguments: Sequence[str]) -> UsageError:
    """One sentence for an error of Typer's, such as "No such option: --lagn Did you mean …"."""
    # Some of Typer's errors have no context.
    command = error.ctx.command_path if error.ctx else " ".join(["surtitle", *arguments[:1]])
    what = " ".join(error.format_message().split()).rstrip(".?").replace(": Value error, ", ": ")
    return UsageError(f"{what[:1].lower()}{what[1:]}; see `{command} --help`")
