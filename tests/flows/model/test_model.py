"""``surtitle model``: what it makes runs, and every wrong input is answered in a sentence."""

import gzip
import re
from contextlib import closing
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from connectors.gguf.file import encode, read_gguf, write_gguf
from connectors.models.adapter import adapter_file
from connectors.terminology import read_dictionary
from flows.cli.app import app
from operators.decoding.forward import Logits
from operators.errors import InputError, OutputError, SurtitleError, UsageError
from operators.glossary import Lexicon, Translation
from operators.languages import Direction
from operators.models.adapter import Adapter, LowRank
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from tests.adapters import noise, write_adapter
from tests.near_ties import agree
from tests.tiny_gguf import pieces, write_model

TALK = "We will talk about how the old station became a museum.\tWir werden über den alten Bahnhof reden.\n"


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["model", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "talk.tsv.gz"
    path.write_bytes(gzip.compress(TALK.encode()))
    return path


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny.gguf", pieces({}))


@pytest.mark.real_model
def test_the_base_model_is_pruned_and_assembled(model: LlamaModel, texts: Path, tmp_path: Path) -> None:
    small, words, made = (tmp_path / f"{name}.gguf" for name in ("small", "words", "made"))
    printed = run(
        "prune", "base", "-o", small, "--texts", texts, "--language", "English", "--language", "de",
        "--keep-ids", 5000, "--vocabulary", words,
    )  # fmt: skip
    assert "of 262144 tokens" in printed
    assert "the texts are tokenised as before" in printed
    # One matrix of rank 1, which adds nothing: what is assembled is what was pruned.
    nothing = LowRank(np.zeros((1, 640), np.float32), np.zeros((1024, 1), np.float32))
    adapter = adapter_file(Adapter(1.0, {"blk.0.attn_q.weight": nothing}), "gemma3", {})
    write_gguf(tmp_path / "nothing.gguf", adapter.entries, adapter.tensors)
    run(
        "assemble", "--adapter", tmp_path / "nothing.gguf", "--vocabulary", words,
        "--from", "en", "--to", "de", "--type", "head=Q8_0,attention=Q8_0,ffn=Q8_0,ffn_down=Q8_0", "-o", made,
    )  # fmt: skip
    assert agree(_following(made, model), _following(small, model))
    small.unlink()
    made.unlink()


def _following(path: Path, whole: LlamaModel) -> Logits:
    """Logits after a text, which is tokenised as with the whole vocabulary."""
    text = TALK.partition("\t")[0]
    pruned = LlamaModel(path)
    tokens = pruned.tokenize(text)
    assert [pruned.spelled(token) for token in tokens] == [
        whole.spelled(token) for token in whole.tokenize(text)
    ]
    with closing(LlamaContext(pruned, ContextSettings(cells=64, sequences=1, threads=2))) as context:
        rows = context.evaluate(0, [*pruned.begin, *tokens], 0, 1).copy()
    pruned.close()
    return rows


def test_only_so_many_tokens_stay(texts: Path, tmp_path: Path) -> None:
    model, out = write_model(tmp_path / "large.gguf", pieces({"▁th": 1, "▁o": 1})), tmp_path / "small.gguf"
    with pytest.raises(UsageError, match="spelling any text takes") as refused:
        run("prune", model, "-o", out, "--texts", texts, "--size", 10)
    least = int(re.findall(r"takes (\d+) tokens", str(refused.value))[0])
    printed = run("prune", model, "-o", out, "--texts", texts, "--size", least + 1)
    assert f": {least} of " in printed or f": {least + 1} of " in printed
    assert re.search(r"9\d\.\d\d% of the texts' tokens are kept", printed)


def test_what_cannot_be_pruned_is_said(tiny: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.gguf"
    torn, binary, empty = tmp_path / "torn.gz", tmp_path / "binary", tmp_path / "empty"
    torn.write_bytes(texts.read_bytes()[:-9])
    binary.write_bytes(b"\xff\xfe\x00")
    empty.touch()
    wrong: list[tuple[list[object], type[SurtitleError], str]] = [
        (["prune", tmp_path / "no.gguf", "-o", out, "--texts", texts], InputError, "there is no model file"),
        (
            ["prune", tiny, "-o", out, "--texts", tmp_path / "no.txt"],
            InputError,
            "cannot be read: there is no such file",
        ),
        (["prune", tiny, "-o", out, "--texts", torn], InputError, "is damaged after line"),
        (["prune", tiny, "-o", out, "--texts", binary], InputError, "is not UTF-8"),
        (["prune", tiny, "-o", out, "--texts", empty], InputError, "is empty"),
        (["prune", tiny, "-o", tiny, "--texts", texts], OutputError, "the same run reads it"),
        (["prune", tiny, "-o", tmp_path / "no" / "x", "--texts", texts], OutputError, "there is no folder"),
        (["prune", tiny, "-o", out, "--texts", texts, "--language", "Elvish"], UsageError, "not a language"),
    ]
    for arguments, kind, said in wrong:
        with pytest.raises(kind, match=said):
            run(*arguments)
    assert not out.exists()


def test_what_cannot_be_assembled_is_said(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.gguf"
    adapter = write_adapter(tmp_path / "adapter.gguf", noise())
    silent = read_gguf(adapter)
    entries = {key: entry for key, entry in silent.entries.items() if not key.startswith("surtitle.")}
    write_gguf(tmp_path / "silent.gguf", entries | {"general.name": encode("x")}, silent.tensors)
    given = ["assemble", "--base", tiny, "-o", out, "--adapter"]
    wrong: list[tuple[list[object], type[SurtitleError], str]] = [
        ([*given, tiny], InputError, "this is not a LoRA adapter"),
        ([*given, tmp_path / "silent.gguf"], InputError, "name them with --from and --to"),
        ([*given, adapter, "--from", "en"], UsageError, "give both --from and --to"),
        ([*given, adapter, "--from", "en", "--to", "Greek"], UsageError, "no examples for English to Greek"),
        ([*given, adapter, "--type", "Q3"], UsageError, "'Q3' is not a tensor type"),
        ([*given, adapter, "--vocabulary", tiny], InputError, "it contains no list of tokens"),
    ]
    for arguments, kind, said in wrong:
        with pytest.raises(kind, match=said):
            run(*arguments)
    assert not out.exists()
    assert "sha256" in run(*given, adapter)


def test_a_lexicon_of_pairs_is_a_dictionary_for_captions(tmp_path: Path) -> None:
    pytest.importorskip("thot", reason="sil-thot aligns the words")
    # Of fewer words each would be common.
    letters = "abcdefghijklmnopqrst"
    words = ["".join(each) for each in product(letters, repeat=3)]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{word.capitalize()}!\tX{word}.\n" for word in words))
    out = tmp_path / "lexicon.tsv"
    assert "8000 words, 0 common ones" in run(
        "lexicon", pairs, "--to", "German", "-o", out, "--about", "mine"
    )
    assert out.read_bytes().startswith(b"#surtitle lexicon mine\naaa\tXaaa\t100\n")
    for lexicon in (Lexicon(out.read_bytes()), read_dictionary(out, Direction.of("en", "de"))):
        assert lexicon.find("abc") == (Translation("Xabc", 1.0),)
