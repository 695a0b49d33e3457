"""Conversion of a maker's weights: what is fetched, and what is written. tests/train runs llama.cpp's own."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.models import convert as module
from connectors.models.convert import RELEASE, SHA256, convert
from connectors.models.gguf import read_gguf
from operators.errors import InputError
from operators.notifications import silent
from tests.connectors.models.hub import COMMIT, Hub, connect
from tests.program import ROOT
from tests.tiny_gguf import byte_pairs, write_model

SHARDS = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
#: In place of llama.cpp's: needs all shards beside the configuration, and the model's name.
PROGRAM = """
import pathlib, shutil, sys
folder, _, made, _, name = sys.argv[1:]
assert name == "Tower", name
assert all((pathlib.Path(folder) / one).is_file() for one in {shards}), "a shard is missing"
shutil.copy({tiny!r}, made)
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    tiny = write_model(tmp_path / "tiny.gguf", byte_pairs({}))
    monkeypatch.setattr(module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    program = tmp_path / "cache" / "surtitle" / f"convert-{SHA256[:12]}" / "convert_hf_to_gguf.py"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(shards=SHARDS, tiny=str(tiny)))
    hub = Hub()
    index = json.dumps({"weight_map": {f"layer{number}": shard for number, shard in enumerate(SHARDS)}})
    hub.files["maker/Tower/config.json"] = b"{}"
    hub.files["maker/Tower/model.safetensors.index.json"] = index.encode()
    hub.files |= {f"maker/Tower/{shard}": shard.encode() for shard in SHARDS}
    with hub.serving():
        connect(hub, tmp_path, monkeypatch)
        yield hub


def test_a_repository_is_converted_with_all_its_shards_and_the_revision_is_said(
    hub: Hub, tmp_path: Path
) -> None:
    target = tmp_path / "made.gguf"
    assert convert("maker/Tower", target, None, silent) == COMMIT
    assert target.read_bytes() == (tmp_path / "tiny.gguf").read_bytes()
    asked = len(hub.requests)
    assert convert("maker/Tower", target, "q8_0", silent) == COMMIT
    assert {tensor.kind for tensor in read_gguf(target).tensors.values()} >= {8}, "Q8_0"
    assert len(hub.requests) == asked, "what is here needs no network"


def test_what_cannot_be_converted_leaves_the_old_file_alone(hub: Hub, tmp_path: Path) -> None:
    del hub.files["maker/Tower/config.json"]
    (target := tmp_path / "made.gguf").write_text("old")
    with pytest.raises(InputError, match=r"no config\.json of maker/Tower"):
        convert("maker/Tower", target, None, silent)
    (local := tmp_path / "Tower").mkdir()
    with pytest.raises(InputError, match=r"has no config\.json"):
        convert(str(local), target, None, silent)
    (local / "config.json").write_text("{}")
    with pytest.raises(InputError, match="a shard is missing"):
        convert(str(local), target, None, silent)
    assert target.read_text() == "old"
    assert not list(tmp_path.glob(".made*"))


def test_the_program_is_of_the_release_that_is_locked() -> None:
    locked = (ROOT / "requirements.lock").read_text()
    assert f"\n{RELEASE} \\\n    --hash=sha256:{SHA256}\n" in locked
