"""The options that commands share; each overrides one setting, and ``--set`` any other."""

from pathlib import Path
from typing import Annotated

import typer

from flows.settings.lists import words
from flows.settings.loading import Overrides, assigned

#: The setting of an option, by the name of the command's parameter.
_SETTINGS = {
    "to": "translate.to",
    "source": "translate.from",
    "rooms_to": "rooms.to",
    "rooms_from": "rooms.from",
    "model": "translate.model",
    "glossary": "translate.glossary",
    "captions_only": "translate.captions_only",
    "finals_only": "translate.finals_only",
    "recognizer": "recognize.engine",
    "speech_model": "recognize.model",
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
    Text, typer.Option("--to", help="Languages of the captions: German,French.", show_default="German")
]
From = Annotated[Text, typer.Option("--from", help="Language of the speech.", show_default="English")]
RoomsTo = Annotated[
    Text,
    typer.Option(
        "--to", help="Languages that rooms may be captioned in: German,Spanish.", show_default="German"
    ),
]
RoomsFrom = Annotated[
    Text, typer.Option("--from", help="Languages that rooms may be spoken in.", show_default="English")
]
Model = Annotated[
    Text,
    typer.Option(
        help="A name of `surtitle models`, a GGUF file, a folder (Marian), hub:OWNER/REPO:FILE.gguf, or two "
        "with a + between them, over English.",
        show_default="default",
    ),
]
Glossary = Annotated[
    Texts,
    typer.Option(
        help="File of terms, a line `term<TAB>translation` each; for each of several languages fr=FILE.",
        show_default="none",
    ),
]
CaptionsOnly = Annotated[
    bool, typer.Option("--captions-only", help="Caption what is said, without translating it.")
]
FinalsOnly = Annotated[
    bool, typer.Option("--finals-only", help="Caption sentences when they are finished, not while they grow.")
]
Recognizer = Annotated[
    Text,
    typer.Option(
        help="moonshine, whisper, vosk, azure, or MODULE:NAME for one of your own.", show_default="moonshine"
    ),
]
SpeechModel = Annotated[
    Text, typer.Option(help="Folder of the speech model.", show_default="moonshine's English one")
]
Device = Annotated[
    Text, typer.Option(help="Microphone: its index, or part of its name.", show_default="the system's")
]
Realtime = Annotated[bool, typer.Option("--realtime", help="Play the recording at its own pace.")]
Captions = Annotated[Text, typer.Option(help="Write the captions here (JSONL).")]
Srt = Annotated[Texts, typer.Option(help="Write subtitles here (SubRip).")]
Vtt = Annotated[Texts, typer.Option(help="Write subtitles here (WebVTT).")]
Txt = Annotated[Texts, typer.Option(help="Write the finished captions here as plain text.")]
Web = Annotated[bool, typer.Option("--web", help="Show the captions in a browser, too.")]
Host = Annotated[
    Text, typer.Option(help="Address that the web page is served at.", show_default="this machine's own")
]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Its port, 0 for any.", show_default="8080")]
Recovery = Annotated[
    Text, typer.Option(help="Store snapshots in this folder; a killed run resumes from them.")
]
SettingsFile = Annotated[Path | None, typer.Option("--settings", help="TOML file; options override it.")]
Set = Annotated[
    Texts,
    typer.Option(
        "--set",
        help="Any other setting, such as translate.beam=2; docs/reference/settings.md lists all.",
        metavar="TABLE.KEY=VALUE",
    ),
]


def given_in(context: typer.Context) -> Overrides:
    """The settings that the options of a command override, by stage and key."""
    overrides = assigned(context.params.get("set_") or ())
    for name, value in context.params.items():
        if name in _SETTINGS and value is not None and value is not False and value not in ([], ()):
            stage, _, key = _SETTINGS[name].partition(".")
            of_rooms = stage == "rooms"
            overrides.setdefault(stage, {})[key] = words(f"--{key}", value) if of_rooms else value
    return overrides
