"""Whisper as a recogniser: what it says of speech and of noise, in which language, and when it fails."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.languages import ENGLISH, language
from operators.model_errors import ModelError
from operators.notifications import RecognizerChanged, SpeechCut
from operators.recognizers.auto import part as auto
from operators.recognizers.part import RecognizerSettings, Spoken, unobserved
from operators.recognizers.protocol import Hypothesis
from operators.recognizers.segmenter import Samples, Window
from operators.recognizers.whisper import (
    Pace,
    WhisperTranscriber,
    check_whisper,
    compression,
    whisper_recognizer,
)
from operators.recognizers.whisper_model import WhisperModel, load_model
from tests.operators.recognizers.speaking import chunks, pcm, samples, silence, whisper_base
from tests.operators.recognizers.test_protocol import by_segment, hear

Event = RecognizerChanged | SpeechCut


def model() -> WhisperModel:
    return load_model(str(whisper_base()), 2)


def settings(**own: Any) -> RecognizerSettings:
    return RecognizerSettings(engine="whisper", model=str(whisper_base()), threads=2, **own)


def window(audio: Samples, *, is_final: bool = False, segment: int = 0) -> Window:
    return Window(segment, 0, len(audio), audio, is_final)


def noise(seconds: float = 2.0) -> Samples:
    random = np.random.default_rng(3)
    return (random.standard_normal(round(seconds * SAMPLE_RATE)) * 0.01).astype(np.float32)


def transcriber(told: list[Event] | None = None, **own: Any) -> WhisperTranscriber:
    observe = unobserved if told is None else told.append
    return WhisperTranscriber(model(), "en", settings(**own), observe)


def words(text: str | None) -> list[str]:
    return [word.strip(".,") for word in (text or "").lower().split()]


def test_speech_is_heard_as_it_grows_and_to_its_end() -> None:
    said = transcriber(certainty=0.0)
    for seconds in (1.5, 2.5, 3.5):
        assert words(said.transcribe(window(samples(seconds=seconds))))[:2] == ["ever", "tried"]
    assert words(said.transcribe(window(samples(seconds=4.5), is_final=True)))[-2:] == ["no", "matter"]


def test_a_hypothesis_that_stands_is_kept_to_its_end_and_another_is_not() -> None:
    said, speech = transcriber(), model().encode(samples(seconds=3.5))
    draft = said.decode(said.method, speech, (), window(samples(seconds=3.5)), 0).tokens
    assert said._still_said(speech, draft, bias=0.2) == draft
    # No word comes behind what was all that was said.
    again = said.decode(said.method, speech, draft, window(samples(seconds=3.5)), 0)
    assert again.tokens == draft
    other = said._tokenizer.encode(" The weather will be fine")
    assert not said._still_said(speech, (*other, *draft), bias=0.2)
    # The more the bias, the less is taken back.
    kept = [len(said._still_said(speech, (*draft[:-2], *other), bias=bias)) for bias in (0.0, 0.2, 0.5)]
    assert kept == sorted(kept)
    assert kept[-1] == len(draft) - 2 + len(other)


def test_unfinished_text_ends_before_words_that_are_less_probable_than_asked() -> None:
    speech = samples(seconds=2.0)
    all_of_it, nothing = (transcriber(certainty=least).transcribe(window(speech)) for least in (0.0, 1.0))
    assert nothing == ""
    assert all_of_it


def test_noise_is_not_taken_for_speech_and_nothing_of_it_stays() -> None:
    said = transcriber()
    assert said.transcribe(window(noise())) == ""
    assert said.transcribe(window(noise(), is_final=True)) is None
    shown = said.transcribe(window(samples(seconds=2.0), segment=1))
    assert shown
    assert said.transcribe(window(noise(), segment=1)) == shown, "the model is at a loss"


def test_what_goes_round_in_circles_is_not_believed() -> None:
    words = "and then he said that he would come and "
    assert compression(words) < 2.4 < compression(words * 12)


def test_a_model_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said = transcriber()
    monkeypatch.setattr(model(), "_model", None)
    broken = type("Broken", (), {"encode": staticmethod(_fail)})()
    monkeypatch.setattr(model(), "_model", broken)
    with pytest.raises(ModelError, match="the speech model failed: out of memory"):
        said.transcribe(window(noise()))


def _fail(*_given: object, **_named: object) -> None:
    raise RuntimeError("out of\nmemory")


def test_names_that_are_expected_are_before_the_transcript_and_cost_little() -> None:
    said = transcriber()
    plain = len(said._start)
    said.expect({"Mirzayan", "matter"})
    text = model().tokenizer("en").decode(said._start)
    assert "Mirzayan" in text
    assert "matter" not in text, "only names"
    said.expect({f"Name{number}" for number in range(200)})
    assert len(said._start) <= plain + 61


def heard(spoken: Spoken, audio: bytes, make: Any = whisper_recognizer) -> list[Hypothesis]:
    return hear(make(settings(), spoken, unobserved), chunks(audio))


def languages_of(found: Iterable[Hypothesis]) -> set[str]:
    return {one.language for one in found if one.text}


SPEECH = silence(0.5) + pcm("two_cities.wav", 6.0) + silence(1.0)


def test_the_spoken_language_is_found_before_anything_is_shown() -> None:
    found = heard((language("Portuguese"), ENGLISH), SPEECH)
    assert languages_of(found) == {"en"}
    assert "best of times" in " ".join(one.text for one in found if one.is_final)
    for updates in by_segment(found).values():
        assert updates[0].end_s - updates[0].start_s > 1.0


def test_a_language_that_nobody_expected_is_heard_in_itself() -> None:
    found = heard((language("Portuguese"), language("Spanish")), SPEECH)
    assert languages_of(found) == {"en"}
    assert "best of times" in " ".join(one.text for one in found if one.is_final)


def test_of_several_languages_english_goes_to_moonshine(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_given: object, **_named: object) -> None:
        raise AssertionError("Whisper only finds the language")

    monkeypatch.setattr(WhisperModel, "generate", never)
    found = heard((ENGLISH, language("Portuguese")), SPEECH, auto.make)
    assert languages_of(found) == {"en"}
    assert "best of times" in " ".join(one.text for one in found if one.is_final)


def test_of_a_single_language_nothing_is_said() -> None:
    assert languages_of(heard((ENGLISH,), SPEECH)) == {""}


def test_hypotheses_that_lag_behind_the_sound_come_in_larger_steps() -> None:
    pace = Pace()
    # The first one waited for the model.
    assert not pace.is_behind(1.0, now_s=15.0)
    assert not pace.is_behind(2.0, now_s=13.0)
    assert not pace.is_behind(3.0, now_s=14.8)
    assert pace.is_behind(3.5, now_s=16.0)
    assert not pace.is_behind(5.0, now_s=16.5), "it has caught up"
    # Sound that begins anew.
    assert not pace.is_behind(0.5, now_s=100.0)


def test_a_model_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    shutil.copytree(whisper_base(), tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("model.bin"))
    (tmp_path / "model.bin").write_bytes((whisper_base() / "model.bin").read_bytes()[:100_000])
    with pytest.raises(InputError, match="the Whisper model cannot be loaded"):
        whisper_recognizer(RecognizerSettings(engine="whisper", model=str(tmp_path)))


def test_only_finals_are_recognised_while_it_lags_and_that_is_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[Event] = []
    said = transcriber(told)
    said.keep_up()
    monkeypatch.setattr(Pace, "is_behind", lambda *_given: True)
    speech = samples(seconds=2.0)
    assert [said.transcribe(window(speech)) for _ in range(2)] == ["", ""]
    assert said.transcribe(window(speech, is_final=True))
    (event,) = told
    assert "captions come in larger steps" in event.sentence


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    def complaint(spoken: Spoken = (ENGLISH,)) -> str:
        own = RecognizerSettings(engine="whisper", model=str(tmp_path))
        with pytest.raises((InputError, UsageError)) as refused:
            check_whisper(own, spoken, True)
        return str(refused.value)

    assert (
        "it holds no model.bin, config.json, tokenizer.json, vocabulary.json; name the folder" in complaint()
    )
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(whisper_base() / name, tmp_path)
    (tmp_path / "model.bin").write_bytes(b"")
    (tmp_path / "vocabulary.txt").write_bytes(b"\xff")
    assert "this is not the vocabulary of a Whisper model" in complaint()
    (tmp_path / "vocabulary.txt").unlink()
    (tmp_path / "vocabulary.json").write_text("[" + '"a",' * 50256 + '"<|endoftext|>"]')
    assert "supports English only; name a multilingual one for French" in complaint((language("French"),))
    assert "supports English only; name a multilingual one for several languages" in complaint(())


def test_a_language_that_no_whisper_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="this Whisper model does not support Irish; choose another"):
        check_whisper(settings(), (ENGLISH, language("Irish")), True)
