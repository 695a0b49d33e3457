"""The message of `surtitle` without a command: first steps, as commands to copy."""

import json
import os
import shlex
import shutil
import sys
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from flows.cli.language import suggested_language
from flows.running.loading import loading
from operators.errors import printable


def welcome(*, names_microphone: bool) -> str:
    """Commands for the first steps, with the system's language and optionally the name of the microphone."""
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
    """The shell command that starts this program."""
    parts, origin = Path(sys.prefix).parts, _origin()
    # uvx and pipx run it without installing it.
    if any(one.startswith("archive-v") for one in parts):
        return f"uvx --from {origin} surtitle" if origin else "uvx surtitle"
    if "pipx" in parts and "venvs" not in parts:
        return f"pipx run --spec {origin} surtitle" if origin else "pipx run surtitle"
    own = Path(sys.argv[0])
    found = shutil.which("surtitle")
    if own.name != "surtitle" or (found and Path(found).samefile(own)):
        return "surtitle"
    try:
        return str(own.absolute().relative_to(Path.cwd()))
    except ValueError:  # not below this folder; there may be an alias
        return "surtitle"


def _origin() -> str | None:
    """The file or folder that this was installed from, for a shell; None if that was an index (PEP 610)."""
    url = urlsplit(json.loads(distribution("surtitle").read_text("direct_url.json") or "{}").get("url", ""))
    if url.scheme != "file":
        return None
    path = url2pathname(url.path)
    with suppress(ValueError):
        # Without "./", it would be the name of a package.
        path = os.path.join(os.curdir, Path(path).relative_to(Path.cwd()))  # noqa: PTH118
    return shlex.quote(path)
