"""COMET scores and tokenizers from other programs for a benchmark, and the journal of its trials.

COMET (Rei et al. 2020) is computed by ``comet-score``, on a GPU where its environment has one. It is not a
dependency: unbabel-comet needs an older NumPy than surtitle, and requires PyTorch. In a separate environment
neither matters.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
from sacrebleu.utils import SACREBLEU_DIR

from connectors.files.contents import DAMAGED
from connectors.files.locks import lock
from connectors.http.download import download
from operators.errors import InputError, OutputError, UsageError, is_visible_file
from operators.notifications import Progress

_PROGRAM = "comet-score"
#: Run by the Python of that program, because its PyTorch is not the one here.
_ITS_DEVICE = """
from importlib.metadata import version
import torch
device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"
print(version("unbabel-comet"), device, sep="|")
"""
_INTERPRETER = re.compile(r"/\S*python[\w.]*")
#: Checkpoints that need no owner's name.
_OWNER = "Unbabel"
_HUB_NAME = re.compile(r"(?:[\w.-]+/)?[\w-][\w.-]*", re.ASCII)


class Comet(NamedTuple):
    """A COMET model that can be computed here."""

    #: ``OWNER/NAME`` on the hub, or the path of a checkpoint.
    model: str
    version: str
    #: The name of a GPU, or ``cpu``.
    device: str

    @property
    def signature(self) -> str:
        path = Path(self.model)
        is_file = is_visible_file(path)
        model = f"{path.parent.parent.name}/{path.name}" if is_file else self.model
        size = f"|{path.stat().st_size} bytes" if is_file else ""
        return f"{_PROGRAM} {self.version}|{model}{size}|{self.device}"

    def scores(
        self, sources: Sequence[str], references: Sequence[str], systems: Sequence[Sequence[str]]
    ) -> list[float]:
        """The score of each system's translations. Raises `InputError` if the program fails."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            translations = [_write(folder / f"{n}.txt", lines) for n, lines in enumerate(systems)]
            arguments = [
                *("-s", _write(folder / "source.txt", sources), "-r", _write(folder / "ref.txt", references)),
                *("-t", *translations, "--model", self.model),
                *("--gpus", "0" if self.device == "cpu" else "1", "--quiet"),
            ]
            done = subprocess.run([_PROGRAM, *arguments], capture_output=True, text=True, check=False)
        # Lines of segments precede the line of a system, unless the version omits them.
        scores = dict(re.findall(r"^(\S+)\tscore: (-?[\d.]+)\s*$", done.stdout, re.MULTILINE))
        if done.returncode != 0 or any(path not in scores for path in translations):
            reason = (done.stderr.strip().splitlines() or ["it printed no score"])[-1]
            raise InputError(
                f"{self.model}: {_PROGRAM} cannot score with this ({reason}); choose another model"
            )
        return [float(scores[path]) for path in translations]


def find_comet(model: str) -> Comet:
    """Find the program, and the device that its own PyTorch computes on.

    Args:
        model: ``wmt22-comet-da``, ``OWNER/NAME`` on the hub, or the path of a ``.ckpt`` file.

    Raises:
        UsageError: the program is not there.
        InputError: ``model`` is none of these.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        raise UsageError(
            f"--comet needs the program {_PROGRAM} on the PATH: install the package unbabel-comet, in an "
            "environment of its own because it needs an older NumPy"
        )
    if model.endswith(".ckpt"):
        if not is_visible_file(Path(model).expanduser()):
            raise InputError(
                f"{model}: there is no such checkpoint of COMET; give a name of the hub or a path"
            )
        model = str(Path(model).expanduser())
    elif not _HUB_NAME.fullmatch(model):
        raise InputError(
            f"{model}: this is not a COMET checkpoint; give the path of a .ckpt file, or OWNER/NAME"
        )
    elif "/" not in model:
        model = f"{_OWNER}/{model}"
    return Comet(model, *_version_and_device(Path(program)))


def _version_and_device(program: Path) -> tuple[str, str]:
    """unbabel-comet's version and device, from its interpreter; ``unknown`` and ``cpu`` if that fails."""
    with program.open("rb") as file:
        # Pip writes a long path into the second line.
        found = _INTERPRETER.search(file.read(1000).decode("utf-8", "replace"))
    if found is not None:
        with suppress(OSError):
            done = subprocess.run([found[0], "-c", _ITS_DEVICE], capture_output=True, text=True, check=False)
            own_version, _, device = done.stdout.strip().rpartition("\n")[2].partition("|")
            if done.returncode == 0 and device:
                return own_version, device
    return "unknown", "cpu"


def _write(path: Path, lines: Sequence[str]) -> str:
    path.write_text("".join(" ".join(line.split()) + "\n" for line in lines), encoding="utf-8")
    return str(path)


_MAX_TOKENIZER_BYTES = 50_000_000


def tokenizer_file(name: str, progress: Progress) -> Path | None:
    """The SentencePiece model of a sacrebleu tokenizer, downloaded to sacrebleu's own folder at first use.

    None for a tokenizer without such a model. sacrebleu itself would download it silently, and in the middle
    of a run. It publishes no checksum: the one of the file is part of the signature.

    Raises `InputError` and `OutputError`.
    """
    if name not in ("flores101", "flores200"):
        return None
    url = SPM_MODELS[name]["url"]
    path = Path(SACREBLEU_DIR) / "models" / url.rpartition("/")[2]
    # After a failed download, sacrebleu leaves an empty file.
    if not path.is_file() or not path.stat().st_size:
        download(url, path, progress, sha256=None, max_bytes=_MAX_TOKENIZER_BYTES)
    return path


class Journal:
    """Appends results to a file of JSON lines, and returns those of an interrupted run.

    Delivery: at least once. A result counts once its line is complete; a killed process loses at most the one
    that it was writing. Two processes never write the same journal.
    """

    def __init__(self, path: Path, result_type: type, *, fresh: bool = False) -> None:
        """Open or create ``path``; with ``fresh`` discard its contents. Raises `OutputError`."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
            lock(self._file.fileno())
        except BlockingIOError:
            self._file.close()
            raise OutputError(
                f"the same command is already running, and writes {path}; wait for it"
            ) from None
        except OSError as error:
            raise self._error(error) from None
        if fresh:
            self._file.truncate(0)
        #: Results of this type that the file has.
        self.results = self._read(result_type)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_exception: object) -> None:
        if not self._file.closed and not os.fstat(self._file.fileno()).st_size:
            # A run that could not begin leaves no file behind.
            self.remove()
        self._file.close()

    def append(self, result: object) -> None:
        """Add one result. Raises `OutputError` if the disk is full."""
        line = msgspec.json.encode(result) + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise self._error(error) from None

    def remove(self) -> None:
        if sys.platform == "win32":
            self._file.close()  # Windows does not remove open files
        self.path.unlink(missing_ok=True)

    def _read(self, result_type: type) -> list[Any]:
        """All results up to the first incomplete line; the rest of the file is cut off."""
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(result_type)
        results, good = list[Any](), 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                if not line.endswith(b"\n"):
                    break
                results.append(decoder.decode(line))
            except DAMAGED:
                break
            good += len(line)
        self._file.truncate(good)
        return results

    def _error(self, error: OSError) -> OutputError:
        return OutputError(
            f"{self.path}: the results so far cannot be saved there ({error.strerror}); "
            "free space, or set XDG_CACHE_HOME to another folder"
        )
