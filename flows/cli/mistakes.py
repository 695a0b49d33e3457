"""What somebody meant by a command or an option that does not exist or does not fit, in one sentence."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from flows.cli.synonyms import ARGUMENTS, COMMANDS, INSTEAD, OPTIONS
from operators.errors import UsageError
from operators.languages import is_language
from operators.nearest import nearest

# What a name given in place of a command shows about the command that was left out.
_SUFFIXES = {
    **dict.fromkeys(
        (".wav", ".flac", ".mp3", ".m4a", ".ogg", ".opus", ".aac", ".mp4", ".mkv", ".webm"), "file"
    ),
    **dict.fromkeys((".jsonl", ".ndjson"), "replay"),
    ".toml": "job",
}
# Maximum length of the rest of a command line that a suggestion repeats.
_MAX_REST = 60


class Command(NamedTuple):
    """A command as somebody may mistype it."""

    #: As it is typed: ``surtitle model train``.
    path: str
    #: Its options, with their dashes.
    options: frozenset[str]
    #: Its arguments, as the help names them.
    arguments: tuple[str, ...] = ()


def no_such_command(typed: Sequence[str], group: str, commands: Sequence[str]) -> str:
    """The sentence about a command that does not exist.

    Args:
        typed: What was typed in its place and after it.
        group: What was typed before it: ``surtitle``, or ``surtitle model``.
        commands: The commands that exist there.
    """
    given = typed[0]
    suffix = PurePath(given).suffix.lower()
    if suffix in _SUFFIXES and _SUFFIXES[suffix] in commands:
        return f"{given} is not a command; did you mean: {group} {_SUFFIXES[suffix]} {_shortened(typed)}"
    meant = _meant_command(given.lower(), commands)
    if meant is not None:
        corrected = f"{group} {meant} {_shortened(typed[1:])}".rstrip()
        return f"there is no command {given}; did you mean: {corrected}"
    return f"there is no command {given}; `{group} --help` lists those that exist: {', '.join(commands)}"


def too_much(words: str, command: Command) -> str:
    """The sentence about what a command cannot use, behind its arguments and options."""
    start, name = f"{command.path} cannot use {words}", command.path.rpartition(" ")[2]
    fitting = _SUFFIXES.get(PurePath(words).suffix.lower(), name)
    if fitting != name and not command.arguments:
        return f"{start}; did you mean: surtitle {fitting} {words}"
    if "--to" in command.options and is_language(words):
        return f"{start}; did you mean --to {words}?"
    return f"{start}; leave it out, or put quotes around a name with spaces"


def check_command(file: PurePath, command: str) -> None:
    """Raise `UsageError` for a file that by its suffix belongs to another of the commands for files."""
    fitting = _SUFFIXES.get(file.suffix.lower(), command)
    if fitting != command:
        takes = {"file": "sound", "replay": "events (JSONL)", "job": "settings (TOML)"}
        raise UsageError(
            f"{file}: `surtitle {command}` takes {takes[command]}; did you mean: "
            f"surtitle {fitting} {shlex.quote(str(file))}"
        )


def _shortened(words: Sequence[str]) -> str:
    text = shlex.join(words)
    return text if len(text) <= _MAX_REST else "…"


def _meant_command(word: str, commands: Sequence[str]) -> str | None:
    """The command that a word stands for; None if it resembles none."""
    word = word.strip("-").replace("_", "-")
    if word in commands:
        return word
    known = {one: meant for one, meant in COMMANDS.items() if meant.split()[0] in (*commands, "--help")}
    if word in known:
        return known[word]
    near = nearest(word, [*commands, *known])
    return known.get(near, near) if near else None


def no_such_option(given: str, command: Command, others: Iterable[Command]) -> str:
    """The sentence about an option that does not exist.

    Args:
        given: The option, with its dashes.
        command: The command that it was given to.
        others: The other commands: one of them may have it.
    """
    start, word = f"{command.path} has no option {given}", given.strip("-").lower().replace("_", "-")
    remedy = f"`{command.path} --help` lists its options"
    if f"--{word}" in command.options:  # -to, --To, --mask_k
        return f"{start}; did you mean --{word}?"
    if word in INSTEAD:
        return f"{start}; there is a command for that: {INSTEAD[word]}"
    if word in ARGUMENTS and command.arguments:
        return f"{start}; give the file without an option: {command.path} {' '.join(command.arguments)}"
    if (meant := _meant_option(word, command.options)) is not None:
        return f"{start}; did you mean {meant}?"
    for name in (f"--{word}", *OPTIONS.get(word, ())):
        if having := [one.path for one in others if name in one.options]:
            return f"{start}; {_has(having, name)}; {remedy}"
    return f"{start}; {remedy}"


def _has(having: Sequence[str], name: str) -> str:
    shown = having[:3]
    return f"{name} is an option of {' and '.join(filter(None, [', '.join(shown[:-1]), shown[-1]]))}"


def _meant_option(word: str, options: frozenset[str]) -> str | None:
    """The option that a word stands for; None if it resembles none."""
    own = [one.removeprefix("--") for one in options if one.startswith("--")]
    synonyms: Mapping[str, str] = {
        synonym: name
        for synonym, names in OPTIONS.items()
        if (name := next((name for name in names if name in options), None)) is not None
    }
    if word in synonyms:
        return synonyms[word]
    near = nearest(word, [*own, *(one for one in synonyms if len(one) > 2)])
    if near is None:
        return None
    return f"--{near}" if near in own else synonyms[near]
