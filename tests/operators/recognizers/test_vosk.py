"""Vosk's segments are parted between two voices; what is no model of its is refused in one sentence."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from operators.errors import InputError
from operators.recognizers import vosk
from operators.recognizers.protocol import PartsVoices, Span
from operators.recognizers.vosk import VoskRecognizer
from tests.operators.recognizers.speaking import chunks, pcm, silence
from tests.operators.recognizers.test_protocol import VOSK_MODEL


class Scripted:
    """A decoder that hears a word every half second, and knows when the last two are said only at the end."""

    def __init__(self) -> None:
        self._words: list[dict[str, object]] = []
        self._has_times = False

    def AcceptWaveform(self, _piece: bytes) -> int:  # noqa: N802 - the library's
        at = len(self._words)
        self._words.append({"word": f"w{at}", "start": at / 2 + 0.1, "end": at / 2 + 0.4, "conf": 1.0})
        return 0

    def SetPartialWords(self, has_times: bool) -> None:  # noqa: N802 - the library's
        self._has_times = has_times

    def PartialResult(self) -> str:  # noqa: N802 - the library's
        timed = self._words[:-2]
        if self._has_times:
            return json.dumps({"partial": written(timed), **({"partial_result": timed} if timed else {})})
        return json.dumps({"partial": written(self._words)})

    def FinalResult(self) -> str:  # noqa: N802 - the library's
        return json.dumps({"text": written(self._words), "result": self._words})


def written(words: list[dict[str, object]]) -> str:
    return " ".join(str(word["word"]) for word in words)


def test_words_before_another_voice_become_final_and_partials_have_words_without_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vosk, "_decoder", lambda _model: Scripted())
    recognizer = VoskRecognizer(model_path=VOSK_MODEL)
    recognizer.part(lambda begin_s, _end_s: Span(0.9, 1.2) if begin_s < 1 else None)
    said = [one for chunk in chunks(silence(3.0), start_s=0.0) for one in recognizer.accept(chunk)]
    said += recognizer.finish()
    assert [(one.segment, one.text, one.is_final) for one in said] == [
        (0, "w0", False), (0, "w0 w1", False), (0, "w0 w1 w2", False), (0, "w0 w1 w2 w3", False),
        (0, "w0 w1", True), (1, "w2 w3 w4", False),
        (1, "w2 w3 w4 w5", False), (1, "w2 w3 w4 w5", True),
    ]  # fmt: skip
    assert (said[4].start_s, said[4].end_s, said[5].start_s) == (0.1, 0.9, 1.1)


def test_the_library_tells_when_the_words_of_an_open_segment_were_said() -> None:
    recognizer = VoskRecognizer(model_path=VOSK_MODEL)
    assert isinstance(recognizer, PartsVoices)
    recognizer.part(lambda begin_s, end_s: Span(1.9, 2.4) if begin_s < 1.9 and end_s > 3.0 else None)
    audio = silence(0.7) + pcm("beckett.wav", 3.3) + silence(1.5)
    said = [one for chunk in chunks(audio) for one in recognizer.accept(chunk)]
    # What it hears differs a little each time, because the library adds noise to the sound.
    finals = [one for one in [*said, *recognizer.finish()] if one.is_final]
    assert finals[0].end_s < 2.5
    assert all(one.end_s <= next_one.start_s for one, next_one in pairwise(finals))


def test_a_folder_that_is_no_model_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        VoskRecognizer(model_path=tmp_path / "model")
    with pytest.raises(InputError, match=r"am/final\.mdl, conf/mfcc\.conf, conf/model\.conf; name"):
        VoskRecognizer(model_path=tmp_path)


@pytest.mark.parametrize("broken", ["am/final.mdl", "graph/HCLr.fst"])
def test_a_model_with_a_broken_file_is_refused(broken: str, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(VOSK_MODEL, model, copy_function=lambda source, to: Path(to).symlink_to(source))
    (model / broken).unlink()
    (model / broken).write_bytes(b"not what it should be")
    with pytest.raises(InputError, match="cannot be loaded"):
        VoskRecognizer(model_path=model)
