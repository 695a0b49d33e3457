"""The command ``surtitle subtitle``."""

from pathlib import Path, PurePath
from typing import Annotated

import typer

from flows.cli.program import check_command
from flows.running.loading import loading
from flows.settings.options import (
    CaptionsOnly,
    From,
    Glossary,
    Model,
    Quiet,
    Recognizer,
    Set,
    SettingsFile,
    SpeakerNames,
    Speakers,
    SpeechModel,
    To,
    given_in,
)

Recordings = Annotated[
    list[str],
    typer.Argument(help="Sound or video: files or https:// addresses; each gets its own subtitles."),
]
Vtt = Annotated[
    bool, typer.Option("--vtt", help="Also write WebVTT (talk.de.vtt) and chapters (talk.chapters.vtt).")
]
Txt = Annotated[bool, typer.Option("--txt", help="Also write plain text: talk.de.txt.")]
Speech = Annotated[bool, typer.Option("--speech", help="Also write the transcript: talk.en.srt.")]
Mux = Annotated[
    bool, typer.Option("--mux", help="Also write a copy with subtitle tracks: talk.captioned.mp4.")
]
MuxInto = Annotated[
    Path | None, typer.Option("--mux-into", help="Like --mux, for one recording: the file, .mp4 or .mkv.")
]
Burn = Annotated[
    bool, typer.Option("--burn", help="Also write a copy with burnt-in subtitles: talk.burnt.de.mp4.")
]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Write to this folder instead of the recording's.")
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace existing files; without it, --mux and --burn use existing subtitles."
    ),
]


def subtitle(
    context: typer.Context,
    recordings: Recordings,
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    speakers: Speakers = None,
    speaker_names: SpeakerNames = None,
    with_vtt: Vtt = False,
    with_txt: Txt = False,
    speech: Speech = False,
    mux: Mux = False,
    mux_into: MuxInto = None,
    burn: Burn = False,
    folder: Folder = None,
    overwrite: Overwrite = False,
    settings: SettingsFile = None,
    set_: Set = None,
    quiet: Quiet = False,
) -> None:
    """Write subtitles of recordings and videos to files named after them."""
    for one in recordings:
        check_command(PurePath(one), "subtitle")
    with loading():
        from flows.captions.subtitling import Wanted, subtitle_recordings
        from flows.cli.language import choose_language
        from flows.settings.loading import begin_settings

    subtitle_recordings(
        recordings,
        begin_settings(settings, given_in(context), choose_language),
        Wanted(
            vtt=with_vtt, txt=with_txt, speech=speech, mux=mux, mux_into=mux_into, burn=burn, folder=folder,
            overwrite=overwrite,
        ),
        quiet=quiet,
        settings_file=settings,
    )  # fmt: skip
