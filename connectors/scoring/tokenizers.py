"""Which of sacrebleu's tokenizers can be used without a download."""

import os
from importlib.util import find_spec
from pathlib import Path

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
