"""Moonshine hears what is said, the same each time, decoded with its last hypothesis as the draft."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from operators.decoding.forward import Logits
from operators.decoding.session import PrefixSession
from operators.decoding.speech import SpeechMethod, WindowResult
from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.models.onnx_graphs import OnnxGraph
from operators.recognizers.moonshine import (
    BEGIN,
    END,
    EncodedWindow,
    MoonshineModel,
    MoonshineTranscriber,
    Tokenizer,
    bundled_model,
    load_model,
    load_tokenizer,
    moonshine_recognizer,
)
from operators.recognizers.part import RecognizerSettings
from operators.recognizers.protocol import Hypothesis
from operators.recognizers.segmenter import Samples, Window
from tests.near_ties import NOISE, gap_where_they_part
from tests.operators.recognizers.speaking import chunks, pcm, voiced
from tests.operators.recognizers.test_protocol import hear
from tests.toy import ToyCache

BECKETT = ["tried", "failed", "matter", "again", "again", "better"]


def finals(heard: list[Hypothesis]) -> list[Hypothesis]:
    return [hypothesis for hypothesis in heard if hypothesis.is_final]


@cache
def beckett() -> list[Hypothesis]:
    return hear(moonshine_recognizer(), chunks(pcm("beckett.wav")))


def model() -> MoonshineModel:
    return load_model(str(bundled_model()), 2)


def decode(
    method: SpeechMethod, encoded: EncodedWindow, draft: tuple[int, ...], window: Window
) -> WindowResult:
    return MoonshineTranscriber(model()).decode(method, encoded, draft, window, 0)


def test_it_hears_what_is_said_as_segments_in_the_order_of_speech() -> None:
    for final, word in zip(finals(beckett()), BECKETT, strict=True):
        assert word in final.text.lower()


def test_speech_that_the_audio_cuts_off_is_heard_to_its_last_chunk() -> None:
    # "No matter." from 3.3 s on; the audio ends with it, between two updates.
    heard = hear(moonshine_recognizer(), chunks(pcm("beckett.wav", 4.3)))
    assert "matter" in finals(heard)[-1].text.lower()
    assert finals(heard)[-1].end_s == pytest.approx(4.3, abs=0.05)


def test_unfinished_text_has_no_closing_punctuation_and_finals_have_theirs() -> None:
    heard = hear(moonshine_recognizer(), chunks(pcm("two_cities.wav", 6)))
    partials = [one.text for one in heard if one.text and not one.is_final]
    assert len(partials) > 3
    assert not any(text.endswith((".", ",", "!", "?")) for text in partials)
    assert all(final.text.endswith((".", ",")) for final in finals(heard))


@cache
def two_cities() -> list[tuple[Window, EncodedWindow]]:
    return [(window, model().encode(window.samples)) for window in voiced("two_cities.wav", 9)]


@cache
def greedy(number: int) -> WindowResult:
    window, encoded = two_cities()[number]
    scratch = SpeechMethod(use_draft=False)
    return decode(scratch, encoded.again(), (), window)


@pytest.mark.parametrize(("bias", "stop_below"), [(0.0, 0.0), (0.2, 0.0), (0.2, 0.7)])
def test_finals_are_greedy_decodings_whatever_the_partials_leant_towards(
    bias: float, stop_below: float
) -> None:
    method = SpeechMethod(bias=bias, stop_below=stop_below)
    draft: tuple[int, ...] = ()
    drafted_passes = passes = 0
    for number, (window, encoded) in enumerate(two_cities()):
        got = decode(method, encoded.again(), draft, window)
        drafted_passes += got.cost.passes
        passes += greedy(number).cost.passes
        if window.is_final:
            session = PrefixSession(encoded.again())
            assert gap_where_they_part(session, [BEGIN], greedy(number).tokens, got.tokens) < NOISE
        draft = () if window.is_final else got.tokens

    assert drafted_passes < passes


def test_what_is_no_english_is_left_out_and_english_is_not() -> None:
    forwards = pcm("two_cities.wav")
    backwards = np.frombuffer(forwards, "<i2")[::-1].tobytes()
    forth, back = (hear(moonshine_recognizer(), chunks(one)) for one in (forwards, backwards))
    assert not any(final.is_doubtful for final in finals([*forth, *beckett()]))
    doubtful = [final for final in finals(back) if final.is_doubtful]
    # They have sounds of English, and no words.
    assert len(doubtful) >= 3
    assert not any(final.text for final in doubtful)


def test_a_model_that_fails_costs_one_update_and_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    recognizer = moonshine_recognizer(observe=lambda event: said.append(event.sentence))
    run = OnnxGraph.run
    calls = iter(range(10_000))

    def failing(self: OnnxGraph, fed: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, Any]:
        return run(self, fed, ["unknown"] if 40 <= next(calls) < 60 else names)

    monkeypatch.setattr(OnnxGraph, "run", failing)
    heard = hear(recognizer, chunks(pcm("beckett.wav")))

    assert len(said) == 1
    assert "the text stays as it was" in said[0]
    assert [final.segment for final in finals(heard)] == list(range(6))


def test_a_number_of_many_equal_digits_is_heard_to_its_end() -> None:
    class Dictated(ToyCache):
        """Hears fourteen threes."""

        heard = None

        def _row(self, prefix: Sequence[int]) -> Logits:
            row: Logits = np.eye(4, dtype=np.float32)[3 if len(prefix) < 15 else END]
            return row

    class Model:
        tokenizer = Tokenizer([b"", b"<s>", b"</s>", b"3"])

        def encode(self, _samples: Samples, _earlier: object) -> ToyCache:
            return Dictated(4)

    transcriber = MoonshineTranscriber(cast(MoonshineModel, Model()), RecognizerSettings(certainty=0.0))
    window = Window(0, 0, 5 * SAMPLE_RATE, np.zeros(5 * SAMPLE_RATE, np.float32), is_final=True)
    assert transcriber.transcribe(window) == "3" * 14


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    def complaint(folder: Path = tmp_path) -> str:
        with pytest.raises(InputError) as refused:
            moonshine_recognizer(RecognizerSettings(model=str(folder)))
        return str(refused.value)

    assert "no such folder" in complaint(tmp_path / "model")
    assert "tokenizer.bin" in complaint()
    (tmp_path / "tokenizer.bin").write_bytes(b"\x09no")
    assert "not the tokenizer of a Moonshine model" in complaint()
    shutil.copy(bundled_model() / "tokenizer.bin", tmp_path)
    assert "encoder_model.ort" in complaint()
    for name in ("encoder_model.onnx", "decoder_model_merged.onnx"):
        (tmp_path / name).write_bytes(b"no model")
    assert "cannot be loaded" in complaint()
    for name in ("encoder_model.ort", "decoder_model_merged.ort"):
        shutil.copy(bundled_model() / "encoder_model.ort", tmp_path / name)
    assert "not a merged decoder" in complaint()


def test_both_formats_of_a_vocabulary_spell_the_same(tmp_path: Path) -> None:
    vocabulary = '"<unk>": 0, "<s>": 1, "</s>": 2, "▁so": 3, "<0xC3>": 4, "<0xA9>": 5, ".": 6'
    (tmp_path / "tokenizer.json").write_text(f'{{"model": {{"vocab": {{{vocabulary}}}}}}}')
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.text([1, 3, 4, 5, 6, 2]) == "soé."
    assert tokenizer.text([999]) == ""
    assert Tokenizer([b"<s>", "▁a".encode()]).text([0, 1]) == "a"
