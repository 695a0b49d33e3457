"""``surtitle model``: what it makes runs, and every wrong input is answered in a sentence."""

import gzip
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from connectors.models.gguf import encode, read_gguf, write_gguf
from connectors.pairs import read_pairs
from flows.cli.app import app
from operators.errors import InputError, SurtitleError, UsageError
from operators.training.examples import example
from tests.adapters import noise, write_adapter
from tests.tiny_gguf import pieces, write_model


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["model", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny.gguf", pieces({}))


def test_inputs_that_cannot_be_assembled_are_reported(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.gguf"
    adapter = write_adapter(tmp_path / "adapter.gguf", noise())
    silent = read_gguf(adapter)
    entries = {key: entry for key, entry in silent.entries.items() if not key.startswith("surtitle.")}
    write_gguf(tmp_path / "silent.gguf", entries | {"general.name": encode("x")}, silent.tensors)
    asked = ["assemble", "--base", tiny, "-o", out, "--adapter"]
    wrong: list[tuple[list[object], type[SurtitleError], str]] = [
        ([*asked, tiny], InputError, "this is not a LoRA adapter"),
        ([*asked, tmp_path / "silent.gguf"], InputError, "name them with --from and --to"),
        ([*asked, adapter, "--from", "en"], UsageError, "give both --from and --to"),
        ([*asked, adapter, "--from", "en", "--to", "Greek"], UsageError, "no examples for English to Greek"),
        ([*asked, adapter, "--vocabulary", tiny], InputError, "this is not a list of tokens"),
    ]
    for arguments, kind, said in wrong:
        with pytest.raises(kind, match=said):
            run(*arguments)
    assert not out.exists()
    assert "sha256" in run(*asked, adapter)


def test_pairs_are_read_plain_and_compressed_and_invalid_lines_are_reported(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs"
    text = b"\xef\xbb\xbfGood morning.\tGuten Morgen.\tgreetings\nOnly this.\t\n"
    for data in (text, gzip.compress(text)):
        pairs.write_bytes(data)
        assert read_pairs(pairs) == [("Good morning.", "Guten Morgen.")]
    for data, said in (
        (b"Good morning.\n", "line 1: there is no tab"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (gzip.compress(text)[:-9], "is damaged"),
        (b"", "is empty"),
    ):
        pairs.write_bytes(data)
        with pytest.raises(InputError, match=said):
            read_pairs(pairs)


@given(st.integers(0, 2**32), st.sampled_from([" ", ""]))
def test_a_prefix_has_the_same_share_of_its_target(seed: int, joint: str) -> None:
    pair = "one two three four", "eins zwei drei vier"
    shown = example(pair, Random(seed), prefixes=1, joint=joint)
    words = len(shown.source.split())
    assert pair[0].startswith(shown.source)
    assert not shown.is_final
    wanted = " ".join(pair[1].split()[:words]) if joint else pair[1][: len(pair[1]) * words // 4]
    assert shown.target == wanted
    assert example(pair, Random(seed), prefixes=0, joint=joint) == (*pair, True)
