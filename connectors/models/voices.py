"""The model of voices: the weights of a voice encoder, in a package whose code is not run.

The package requires PyTorch and others, which are not needed here. So it is not a dependency: pip or uv
downloads it alone, and the weights stay in the cache. If the package is installed, its weights are used.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_cache_path

from connectors.files.atomic import write_atomically
from connectors.http.download import OFFLINE_VARIABLE, is_offline
from connectors.messages import log_event
from connectors.models.joining import cached
from operators.errors import InputError
from operators.notifications import Progress, silent
from operators.text import cleaned

#: Its name for `surtitle models get`, its licence, and the size of the download.
VOICES, LICENCE, MEGABYTES = "voices", "Apache-2.0", 16
_REQUIREMENT = "Resemblyzer==0.1.4"
_PACKAGE, _FILE = "resemblyzer", "pretrained.pt"
_SHA256, _BYTES = "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e", 17_090_379
_GETS = f"`surtitle models get {VOICES}`"


def voices_file() -> Path | None:
    """The weights, as PyTorch stores them, in the cache or in the installed package; None if not here."""
    package = find_spec(_PACKAGE)
    places = [Path(one) / _FILE for one in (package and package.submodule_search_locations) or ()]
    return next(filter(_is_whole, (_in_cache(), *places)), None)


def fetch_voices(progress: Progress = silent) -> Path:
    """The weights, downloaded if they are not here.

    Raises:
        InputError: downloads are forbidden, pip and uv are missing, or the checksum is wrong.
        OutputError: the cache cannot store them.
    """
    return voices_file() or cached(_in_cache(), _is_whole, partial(_download, progress))


def _in_cache() -> Path:
    return user_cache_path("surtitle") / f"voices-{_SHA256[:12]}" / _FILE


def _is_whole(file: Path) -> bool:
    return file.is_file() and file.stat().st_size == _BYTES


def _download(progress: Progress, target: Path) -> None:
    if is_offline():
        raise InputError(
            f"{OFFLINE_VARIABLE} forbids downloading the model of voices; with a network, start {_GETS}"
        )
    log_event("model_download", f"downloading the model of voices ({MEGABYTES} MB, {LICENCE}), once")
    progress("downloading the model of voices", None)
    with TemporaryDirectory(prefix="surtitle-") as folder:
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", folder]
        done = subprocess.run(
            [*_installer(target), *options, _REQUIREMENT],
            # pip's settings may select the user's packages, which would conflict with --target.
            env={"PIP_RETRIES": "1", **os.environ, "PIP_USER": "0"},
            capture_output=True,
            check=False,
        )
        file = Path(folder) / _PACKAGE / _FILE
        content = file.read_bytes() if file.is_file() else b""
    if done.returncode:
        reason = cleaned(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])[:200]
        raise InputError(
            f"the model of voices cannot be downloaded ({reason}); check the network, and start {_GETS} again"
        )
    if (found := hashlib.sha256(content).hexdigest()) != _SHA256:
        raise InputError(
            f"the downloaded model of voices is another one (sha256 {found} instead of {_SHA256}); check the "
            f"package index that is configured here, and start {_GETS} again"
        )
    write_atomically(target, content)


def _installer(target: Path) -> list[str]:
    """The command that installs packages. An environment that uv made has no pip."""
    if find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise InputError(
        f"the model of voices needs pip or uv, and neither is installed; install one, start {_GETS} again, "
        f"or put the file {_FILE} of {_REQUIREMENT} there as {target}"
    )
