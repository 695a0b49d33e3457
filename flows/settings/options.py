"""The options that commands share; each overrides one setting, and ``--set`` any other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flows.settings.overrides import Overrides, assigned
from operators.errors import UsageError

#: The setting of an option, by the name of the command's parameter.
_SETTINGS = {
    "to": "translate.to",
    "source": "translate.from",
    "rooms_to": "rooms.to",
    "rooms_from": "rooms.from",
    "model": "translate.model",
    "glossary": "translate.glossary",
    "captions_only": "translate.captions_only",
    "recognizer": "recognize.engine",
    "speech_model": "recognize.model",
    "speakers": "speakers.voices",
    "speaker_names": "speakers.names",
    "device": "input.microphone",
    "realtime": "input.realtime",
    "captions": "output.captions",
    "srt": "output.srt",
    "vtt": "output.vtt",
    "txt": "output.txt",
    "web": "web.enabled",
    "host": "web.host",
    "port": "web.port",
    "recovery": "recovery.folder",
}

Text = str | None
Texts = list[str] | None
To = Annotated[
    Texts,
    typer.Option(
        "--to", help="Language of the captions, or several: German,French.", show_default="the system's"
    ),
]
From = Annotated[
    Text,
    typer.Option(
        "--from", help="Language of the speech, or several; auto detects it.", show_default="English"
    ),
]
RoomsTo = Annotated[
    Texts, typer.Option("--to", help="Languages that rooms may be captioned in.", show_default=False)
]
RoomsFrom = Annotated[
    Texts, typer.Option("--from", help="Languages that rooms may be spoken in.", show_default="English")
]
Model = Annotated[
    Text,
    typer.Option(
        help="Translation model: a name of `surtitle models`, a GGUF file, a folder (OPUS-MT, Firefox), "
        "hub:OWNER/REPO:FILE.gguf, or two joined by + to translate via English.",
        show_default="default",
    ),
]
Glossary = Annotated[
    Texts,
    typer.Option(
        help="Glossary, one `term<TAB>translation` per line. For several languages, repeat as fr=FILE.",
        show_default="none",
    ),
]
CaptionsOnly = Annotated[
    bool, typer.Option("--captions-only", help="Show the transcript; no translation model is loaded.")
]
Recognizer = Annotated[
    Text,
    typer.Option(
        help="Speech recogniser: auto, moonshine, whisper, sherpa, vosk, azure, or MODULE:NAME for your own.",
        show_default="auto",
    ),
]
SpeechModel = Annotated[
    Text,
    typer.Option(
        help="Speech model: a name of `surtitle models --speech`, or a folder.",
        show_default="by the language",
    ),
]
Speakers = Annotated[
    Text,
    typer.Option(
        metavar="[N]",
        help="Distinguish speakers: any number of them, or at most N; 1: each stream has one speaker.",
        show_default="off",
    ),
]
SpeakerNames = Annotated[
    Text,
    typer.Option(help="File with known speakers, one `name<TAB>recording` per line.", show_default="none"),
]
Device = Annotated[
    Text, typer.Option(help="Microphone: its index, or part of its name.", show_default="the system's")
]
Realtime = Annotated[
    bool, typer.Option("--realtime", help="Process the input in real time, not as fast as possible.")
]
Captions = Annotated[Text, typer.Option(help="Write the captions to this file (JSONL).")]
Srt = Annotated[Texts, typer.Option(help="Write subtitles to this file (SubRip).")]
Vtt = Annotated[Texts, typer.Option(help="Write subtitles to this file (WebVTT).")]
Txt = Annotated[Texts, typer.Option(help="Write finished sentences to this file (plain text).")]
Web = Annotated[bool, typer.Option("--web", help="Also show the captions in a browser.")]
Host = Annotated[
    Text, typer.Option(help="Host name or address of the web server.", show_default="this machine only")
]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Port of the web server; 0 picks a free one.", show_default="8080"),
]
Recovery = Annotated[Text, typer.Option(help="Folder for snapshots, from which a killed run resumes.")]
SettingsFile = Annotated[
    Path | None, typer.Option("--settings", help="Settings file (TOML); options override it.")
]
Set = Annotated[
    Texts,
    typer.Option(
        "--set",
        help="Any other setting, such as translate.beam=2; docs/reference/settings.md lists all.",
        metavar="TABLE.KEY=VALUE",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only errors and the address of the web page.")]


def given_in(context: typer.Context) -> Overrides:
    """The settings that a command's options override, by table and key."""
    overrides = assigned(context.params.get("set_") or ())
    for name, value in context.params.items():
        if name not in _SETTINGS or value is None or value is False or value in ([], ()):
            continue
        stage, _, key = _SETTINGS[name].partition(".")
        if name == "speakers" and value.isdecimal():
            value = int(value)
        if isinstance(value, list) and key in ("to", "from"):
            names = words(f"--{key}", ",".join(value))
            value = names if stage == "rooms" else ",".join(names)
        overrides.setdefault(stage, {})[key] = value
    return overrides


def with_number(arguments: Sequence[str]) -> list[str]:
    """Attach the number that follows ``--speakers`` to it, or "any" if none follows.

    The parser supports no optional values, and would take the recording as the value.
    """
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    for place in reversed([place for place in range(end) if given[place] == "--speakers"]):
        behind = given[place + 1] if place + 1 < end else ""
        is_value = behind == "any" or behind.isdecimal()
        given[place : place + 1 + is_value] = [f"--speakers={behind if is_value else 'any'}"]
    return given


def words(option: str, text: str) -> list[str]:
    """Split at commas; raises `UsageError` if no word is left."""
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise UsageError(f"{option}: there is no value; give at least one")
    return found
