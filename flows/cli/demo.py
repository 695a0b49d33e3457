"""The command ``surtitle demo``."""

import shlex
import wave
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from flows.cli.welcome import command
from flows.running.loading import loading
from flows.settings.options import Set, given_in

#: Begin and end of the excerpt in seconds: six sentences, from just before the first word to the last pause.
_PLAYED = 1.0, 20.9


def demo(
    context: typer.Context,
    to: Annotated[
        list[str] | None,
        typer.Option("--to", help="Language of the captions, or several.", show_default="Portuguese"),
    ] = None,
    set_: Set = None,
) -> None:
    """Caption a recording of 20 seconds that comes with surtitle, in real time.

    Captions in Portuguese need no network.
    """
    overrides = given_in(context)
    overrides.setdefault("translate", {}).setdefault("to", "Portuguese")
    with loading():
        from flows.captions.runner import caption
        from flows.settings.loading import begin_settings
        from operators.recognizers.moonshine import bundled_recording

    with TemporaryDirectory(prefix="surtitle-") as folder:
        talk = Path(folder) / "two_cities.wav"
        _copy_part(bundled_recording(), talk)
        overrides.setdefault("input", {}).update(audio=str(talk), realtime=True)
        settings = begin_settings(None, overrides)
        caption(settings, quiet=False, settings_file=None)
    shown = shlex.quote(",".join(settings.translate.targets))
    print(f"\nNow yours:  {command()} live --to {shown}\n     more:  {command()}", flush=True)


def _copy_part(recording: Path, part: Path) -> None:
    with wave.open(str(recording), "rb") as read, wave.open(str(part), "wb") as copy:
        copy.setparams(read.getparams())
        begin, end = (int(second * read.getframerate()) for second in _PLAYED)
        read.setpos(begin)
        copy.writeframes(read.readframes(end - begin))
