"""Scores of other packages: COMET (Rei et al. 2020), computed by ``comet-score``, and sacrebleu's tokenizers.

COMET is not a dependency: unbabel-comet needs an older NumPy than surtitle, and requires PyTorch. In a
separate environment neither matters.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from operators.errors import InputError, UsageError, is_visible_file

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
