"""What `surtitle` alone says: what one can do here, as commands to copy."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from flows.cli.language import suggested_language
from flows.running.loading import loading
from operators.errors import printable


def welcome(*, names_microphone: bool) -> str:
    """The commands to begin with, in the language of the system; beside them perhaps the microphone."""
    me, to = command(), shlex.quote(suggested_language().name)
    voice = f"{me} live --to {to}"
    if names_microphone:
        with loading():
            from connectors.microphone.default import default_microphone

        heard = default_microphone()
        voice += "" if heard is None else f"    # {printable(heard) or 'no microphone found'}"
    return f"""\
surtitle translates live speech into captions that hardly flicker. Try it:

  a demonstration  {me} demo
  your voice       {voice}
  a recording      {me} file talk.wav --to {to}
  a video          {me} subtitle talk.mp4 --to {to}
  this machine     {me} doctor
  more             {me} --help"""


def command() -> str:
    """How this program is called from here."""
    parts = Path(sys.prefix).parts
    # Those that run it without installing it.
    if any(one.startswith("archive-v") for one in parts):
        return "uvx surtitle"
    if "pipx" in parts and "venvs" not in parts:
        return "pipx run surtitle"
    own = Path(sys.argv[0])
    near = os.path.relpath(own)
    found = shutil.which("surtitle")
    if own.name != "surtitle" or near.startswith(os.pardir) or (found and Path(found).samefile(own)):
        return "surtitle"
    return near
