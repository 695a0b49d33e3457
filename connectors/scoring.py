"""What a benchmark gets from other programs, and the journal of its trials.

COMET (Rei et al. 2020) is computed by ``comet-score``. It is not a dependency: unbabel-comet needs an older
NumPy than surtitle, and requires PyTorch. In a separate environment neither matters.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from connectors.files.contents import DAMAGED
from operators.errors import InputError, OutputError, UsageError, is_visible_file

_PROGRAM = "comet-score"


def check_comet(checkpoint: Path) -> str:
    """Check that COMET can be computed; returns its signature. Raises `UsageError` and `InputError`."""
    if shutil.which(_PROGRAM) is None:
        raise UsageError(
            f"--comet needs the program {_PROGRAM} on the PATH: install the package unbabel-comet, in an "
            "environment of its own because it needs an older NumPy"
        )
    if checkpoint.suffix != ".ckpt" or not is_visible_file(checkpoint):
        raise InputError(f"{checkpoint}: this is not a COMET checkpoint; give the path of a .ckpt file")
    return f"{_PROGRAM}|{checkpoint.parent.parent.name}/{checkpoint.name}|{checkpoint.stat().st_size} bytes"


def comet_scores(
    checkpoint: Path, sources: Sequence[str], references: Sequence[str], systems: Sequence[Sequence[str]]
) -> list[float]:
    """The score of each system's translations of ``sources``. Raises `InputError` if the program fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        translations = [_write(folder / f"{n}.txt", lines) for n, lines in enumerate(systems)]
        arguments = [
            *("-s", _write(folder / "source.txt", sources), "-r", _write(folder / "ref.txt", references)),
            *("-t", *translations, "--model", str(checkpoint), "--gpus", "0", "--quiet"),
        ]
        done = subprocess.run([_PROGRAM, *arguments], capture_output=True, text=True, check=False)
    # Lines of segments precede the line of a system, unless the version omits them.
    scores = dict(re.findall(r"^(\S+)\tscore: (-?[\d.]+)\s*$", done.stdout, re.MULTILINE))
    if done.returncode != 0 or any(path not in scores for path in translations):
        reason = (done.stderr.strip().splitlines() or ["it printed no score"])[-1]
        raise InputError(
            f"{checkpoint}: {_PROGRAM} cannot score with this ({reason}); choose another checkpoint"
        )
    return [float(scores[path]) for path in translations]


def _write(path: Path, lines: Sequence[str]) -> str:
    path.write_text("".join(" ".join(line.split()) + "\n" for line in lines), encoding="utf-8")
    return str(path)


# Sacrebleu's file names, in its own folder. The paper's tokenizers come first.
_FILES = {"flores200": "flores200sacrebleuspm", "flores101": "sacrebleu_tokenizer_spm.model"}


def tokenizer_on_disk(otherwise: str) -> str:
    """The name of a SentencePiece tokenizer whose file and library are installed, otherwise ``otherwise``."""
    folder = Path(os.environ.get("SACREBLEU") or Path.home() / ".sacrebleu") / "models"
    if find_spec("sentencepiece") is not None:
        for name, file in _FILES.items():
            if (folder / file).is_file():
                return name
    return otherwise


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
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        if not os.fstat(self._file.fileno()).st_size:
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
