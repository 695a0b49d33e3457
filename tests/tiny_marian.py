"""A small Marian model with random weights whose tokens are letters, as the Hub's exports are laid out.

Its merged decoder has no two branches, but takes and gives the same tensors. The exporter that wrote it is
``tests/marian_export.py`` of commit bcf05323; weights have transformers' names.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

FOLDER = Path(__file__).parent / "samples" / "marian"
_DECODER = "decoder_model_merged.onnx"


def write_tiny(folder: Path, *, is_causal: bool = True, added: tuple[str, ...] = (), **config: Any) -> Path:
    """Write a copy; ``added`` are further control tokens, ``config`` other entries of ``config.json``.

    Unless ``is_causal``, tokens that the decoder gets together behind others see all of them, as in exports
    by transformers 4.48 and before.
    """
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    for name, more in (
        ("config.json", config),
        ("vocab.json", {name: 31 + number for number, name in enumerate(added)}),
    ):
        known = json.loads((FOLDER / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps({**known, **more}, ensure_ascii=False), "utf-8")
    if not is_causal:
        model = onnx.load(folder / _DECODER)
        (sees_later,) = (one for one in model.graph.initializer if one.name == "sees_later")
        sees_later.CopyFrom(numpy_helper.from_array(np.array([10_000]), "sees_later"))
        onnx.save(model, folder / _DECODER)
    return folder
