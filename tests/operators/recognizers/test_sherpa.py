"""Streaming zipformers write what they hear as they hear it; files that are none are refused in a sentence.

The model has a zipformer's files, inputs and states; it hears tones, and its weights were set by hand.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import onnx
import pytest

from operators.errors import InputError
from operators.recognizers.protocol import Hypothesis, PartsVoices, Span
from operators.recognizers.sherpa.recognizer import SherpaRecognizer
from tests.operators.recognizers.speaking import chunks, silence
from tests.tiny_zipformer import (
    TOKENS,
    pack,
    tone,
    write_ctc,
    write_names,
    write_punctuation,
    write_transducer,
    written_once,
)

SPEECH = (
    silence(1.0) + tone("▁ONE", 0.5) + tone("▁FOUR", 0.3) + tone("TEEN", 0.3) + silence(2.0)
    + tone("▁FIVE", 0.4) + tone("S", 0.4)
)  # fmt: skip


def heard(recognizer: SherpaRecognizer, audio: bytes = SPEECH) -> list[Hypothesis]:
    said = [hypothesis for chunk in chunks(audio) for hypothesis in recognizer.accept(chunk)]
    return [*said, *recognizer.finish()]


@pytest.mark.parametrize("write", [write_transducer, write_ctc])
def test_words_come_while_they_are_said_and_a_segment_ends_at_a_pause(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    said = heard(SherpaRecognizer(model_path=write(tmp_path / "model")))

    # All its tokens are in capitals, which say nothing then.
    assert [(one.segment, one.text, one.is_final) for one in said] == [
        (0, "one", False), (0, "one fourteen", False), (0, "one fourteen", True),
        (1, "five", False), (1, "fives", False), (1, "fives", True),
    ]  # fmt: skip
    # Beyond a token there is sound: its frames, and the chunk in which they are.
    assert [one.start_s for one in said] == pytest.approx([1.0] * 3 + [4.1] * 3, abs=0.05)
    assert all(one.end_s <= 5.0 for one in said)
    assert said[2].end_s == pytest.approx(2.1, abs=0.35)


class Tokens(NamedTuple):
    text: str
    tokens: list[str]
    timestamps: list[float]
    start_time: float


def parted(recognizer: SherpaRecognizer) -> list[str]:
    """The finals, of speech in which another voice begins in a word."""
    assert isinstance(recognizer, PartsVoices)
    recognizer.part(lambda begin_s, end_s: Span(1.75, 2.0) if begin_s < 1.5 and end_s > 2.5 else None)
    words = tone("▁ONE", 0.5) + tone("▁FOUR", 0.3) + tone("TEEN", 0.3) + tone("▁FIVE", 0.6)
    said = heard(recognizer, silence(1.0) + words + silence(2.0) + tone("▁TWO", 0.4))
    return [one.text for one in said if one.is_final]


def test_a_segment_ends_between_two_words_where_another_voice_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parted(SherpaRecognizer(model_path=written_once())) == ["one fourteen", "five", "two"]
    chinese = {"TEEN": "十", "▁FIVE": "五"}
    model = write_transducer(tmp_path / "model", [chinese.get(token, token) for token in TOKENS])
    assert parted(SherpaRecognizer(model_path=model)) == ["one four", "十五", "two"]

    def in_bytes(recognizer: SherpaRecognizer) -> Tokens:
        result = result_of(recognizer)
        return Tokens(result.text, ["ƍ" for _ in result.tokens], result.timestamps, result.start_time)

    result_of = SherpaRecognizer._result
    monkeypatch.setattr(SherpaRecognizer, "_result", in_bytes)
    whole = parted(SherpaRecognizer(model_path=written_once()))
    assert whole == ["one fourteen five", "two"], "nobody knows which of its tokens begin a word"


def test_an_update_interval_holds_partials_back_and_no_final() -> None:
    said = heard(SherpaRecognizer(model_path=written_once(), update_interval_s=5.0))
    assert [(one.text, one.is_final) for one in said] == [
        ("one", False), ("one fourteen", True), ("five", False), ("fives", True),
    ]  # fmt: skip


def test_a_model_with_both_cases_keeps_them(tmp_path: Path) -> None:
    tokens = ["▁One" if token == "▁ONE" else token for token in TOKENS]
    said = heard(SherpaRecognizer(model_path=write_transducer(tmp_path / "model", tokens)))
    assert said[-4].text == "One FOURTEEN"


def test_expected_names_are_heard_where_a_model_has_the_pieces_to_spell_them(tmp_path: Path) -> None:
    unclear = silence(0.5) + tone("▁FOUR", 0.5, volume=40) + tone("TEEN", 0.5)
    model = write_names(write_transducer(tmp_path / "model"))
    named, other, unnamed, unspelt = (
        SherpaRecognizer(model_path=path) for path in (model, model, model, written_once())
    )
    named.expect({"Fourteen", "Łódź"})
    other.expect({"Five", "a/b"})
    unspelt.expect({"Fourteen"})
    assert heard(named, unclear)[-1].text == "fourteen"
    assert {heard(one, unclear)[-1].text for one in (other, unnamed, unspelt)} == {"teen"}


def test_names_in_chinese_characters_need_no_pieces(tmp_path: Path) -> None:
    tokens = {"▁FOUR": "四", "TEEN": "十"}
    model = write_transducer(tmp_path / "model", [tokens.get(token, token) for token in TOKENS])
    unclear = silence(0.5) + tone("▁FOUR", 0.5, volume=40) + tone("TEEN", 0.5)
    named, unnamed = SherpaRecognizer(model_path=model), SherpaRecognizer(model_path=model)
    named.expect({"四十"})
    assert (heard(named, unclear)[-1].text, heard(unnamed, unclear)[-1].text) == ("四十", "十")


def test_a_punctuation_model_in_the_folder_adds_marks_and_capitals(tmp_path: Path) -> None:
    model = write_punctuation(write_transducer(tmp_path / "model"))
    said = heard(SherpaRecognizer(model_path=model))
    assert [one.text for one in said[:3]] == ["One,", "One, Fourteen,", "One, Fourteen,"]


def test_a_model_of_kroko_is_one_file(tmp_path: Path) -> None:
    file = tmp_path / "Kroko-EN-Community.data"
    # As in the cache of the hub.
    file.symlink_to(pack(written_once(), tmp_path / "blob"))
    assert heard(SherpaRecognizer(model_path=file)) == heard(SherpaRecognizer(model_path=written_once()))

    encrypted = pack(written_once(), tmp_path / "Kroko-EN-Pro.data", b'{"free": false}')
    with pytest.raises(InputError, match="it is encrypted"):
        SherpaRecognizer(model_path=encrypted)
    for cut in (2, 100, file.stat().st_size - 1):
        (tmp_path / "cut.data").write_bytes(file.read_bytes()[:cut])
        with pytest.raises(InputError, match="not a model of Kroko, or truncated"):
            SherpaRecognizer(model_path=tmp_path / "cut.data")


def changed(key: str, value: str) -> Callable[[Path], None]:
    """A change of the encoder's metadata."""

    def change(folder: Path) -> None:
        model = onnx.load(folder / "encoder.int8.onnx")
        kept = {entry.key: entry.value for entry in model.metadata_props} | {key: value}
        del model.metadata_props[:]
        onnx.helper.set_model_props(model, kept)
        onnx.save(model, folder / "encoder.int8.onnx")

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "tokens.txt").unlink(), "no tokens.txt"),
        (lambda folder: (folder / "joiner.int8.onnx").unlink(), r"no joiner\*.onnx, and no model\*.onnx"),
        (lambda folder: (folder / "tokens.txt").write_text(""), "tokens.txt: it holds no lines of a token"),
        (lambda folder: (folder / "tokens.txt").write_bytes(b"\xff 1"), "tokens.txt: it holds no lines"),
        (lambda folder: (folder / "bpe.model").write_text("text"), "it is not a SentencePiece model"),
        (lambda folder: (folder / "encoder.int8.onnx").write_text("text"), "Protobuf parsing"),
        # The library would end the process for these two,
        (lambda folder: shutil.copy(folder / "joiner.int8.onnx", folder / "decoder.onnx"), "'vocab_size'"),
        (changed("T", ""), "'T' does not exist"),
        # crash for this one,
        (changed("model_type", "other"), "Unknown model type"),
        # and notice these only when it hears something.
        (changed("T", "77"), "inputs/outputs"),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused_with_what_is_wrong(
    change: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(written_once(), model)
    change(model)
    with pytest.raises(InputError, match=said):
        SherpaRecognizer(model_path=model)


def test_a_file_of_too_few_tokens_is_told_when_one_is_missing(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(written_once(), model)
    (model / "tokens.txt").write_text("<blk> 0\n▁ONE 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a token that is not in tokens\.txt"):
        heard(SherpaRecognizer(model_path=model))
