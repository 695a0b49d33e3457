"""A Whisper model in CTranslate2, by faster-whisper: encoder states of windows, and decoding from them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError, UsageError, is_visible_file, unreadable
from operators.events import SAMPLE_RATE
from operators.languages import ENGLISH, Language, language
from operators.model_errors import ErrorKind, ModelError
from operators.recognizers.part import check_folder
from operators.recognizers.segmenter import Samples
from operators.text import BYTE_OF_LETTER

#: Whisper's codes that differ from ours.
_CODES = {"fil": "tl", "jv": "jw"}
_OURS = {theirs: ours for ours, theirs in _CODES.items()}
#: Silence that is encoded with the speech, and the number of states of further silence that are appended.
_PAUSE_S, _APPENDED = 2.0, 250
_LONGEST_S = 30.0
#: Samples per encoder state.
_STRIDE = 320
#: The limit of Whisper's own decoding.
MAX_TOKENS = 224


class States(NamedTuple):
    """A window's encoder states."""

    #: CTranslate2's array, of shape (1, positions, width).
    states: Any
    positions: int
    speech_s: float

    def again(self) -> "States":
        return self


class WhisperModel:
    """One model, shared by all streams of the process.

    Raises `InputError` if the folder does not contain a Whisper model in CTranslate2's format.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        import ctranslate2
        import faster_whisper

        check_files(folder)
        gpu = ctranslate2.get_cuda_device_count() > 0
        device, numbers = ("cuda", "default") if gpu else ("cpu", "int8")
        try:
            self._whole = faster_whisper.WhisperModel(
                str(folder), device, compute_type=numbers, cpu_threads=threads, local_files_only=True
            )
        except Exception as error:  # the libraries have no exception class of their own
            why = " ".join(str(error).split())[:200]
            raise InputError(
                f"{folder}: the Whisper model cannot be loaded ({why}); fetch it again"
            ) from error
        self.folder = folder
        self._model = self._whole.model
        self._pieces: dict[int, bytes] = {}
        self._silence = self._encode_silence()

    @cache  # noqa: B019 - a process keeps its models
    def tokenizer(self, code: str) -> Any:
        """The tokens for a language, by our code. Raises `UsageError` if the model does not support it."""
        from faster_whisper.tokenizer import Tokenizer

        check_language(self.folder, language(code))
        is_multilingual = bool(self._model.is_multilingual)
        return Tokenizer(self._whole.hf_tokenizer, is_multilingual, task="transcribe", language=_theirs(code))

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a mark."""
        if token not in self._pieces:
            spelling = self._whole.hf_tokenizer.id_to_token(token) or ""
            is_mark = spelling.startswith("<|") and spelling.endswith("|>")
            known = all(letter in BYTE_OF_LETTER for letter in spelling)
            self._pieces[token] = (
                bytes(BYTE_OF_LETTER[letter] for letter in spelling) if known and not is_mark else b""
            )
        return self._pieces[token]

    def encode(self, samples: Samples, is_whole: bool = False) -> States:
        """The encoder's states of a window: float32 samples of shape (n,) at 16 kHz, at most 28 s.

        The model was trained on 30 s and expects them. Encoding all of the silence after the speech would
        take most of an update's time. So two seconds of it are encoded with the speech, and states of more
        silence, encoded once, are appended; without them the model finds no end. With ``is_whole``, states
        up to 30 s are appended: this reduces the word error rate, but each token takes longer.

        Raises `ModelError` if CTranslate2 fails.
        """
        samples = samples[: round((_LONGEST_S - _PAUSE_S) * SAMPLE_RATE)]
        length = len(samples) + round(_PAUSE_S * SAMPLE_RATE)
        padded = np.zeros(-(-length // _STRIDE) * _STRIDE, np.float32)
        padded[: len(samples)] = samples
        own = self._encode(padded)
        appended = self._silence[:, own.shape[1] : None if is_whole else own.shape[1] + _APPENDED]
        states = np.ascontiguousarray(np.concatenate((own, appended), axis=1))
        return States(_stored(states), states.shape[1], len(samples) / SAMPLE_RATE)

    def languages(self, encoded: States) -> Mapping[str, float]:
        """The probability of each language, by our codes."""
        (found,) = _run(self._model.detect_language, encoded.states)
        return {_OURS.get(token[2:-2], token[2:-2]): probability for token, probability in found}

    def generate(self, encoded: States, prompt: Sequence[int], limit: int, **how: Any) -> Any:
        """Decode after ``prompt``, which may end with tokens of the transcript; these are in the result."""
        # The library halves the given length, and counts the prompt.
        most = min(2 * MAX_TOKENS, max(2 * limit, len(prompt) + limit))
        (result,) = _run(
            self._model.generate, encoded.states, [[*prompt]],
            max_length=most, return_scores=True, return_no_speech_prob=True, **how,
        )  # fmt: skip
        return result

    def probabilities(self, encoded: States, start: Sequence[int], tokens: Sequence[int]) -> list[float]:
        """The probability of each token of a transcript, from one pass."""
        (found,) = _run(self._model.align, encoded.states, [*start], [[*tokens]], 2 * encoded.positions)
        return [*found.text_token_probs]

    def _encode(self, samples: Samples) -> NDArray[np.float32]:
        features = self._whole.feature_extractor(samples, padding=0)
        stored = _stored(np.ascontiguousarray(features[np.newaxis]))
        return np.asarray(_run(self._model.encode, stored, to_cpu=True))

    def _encode_silence(self) -> NDArray[np.float32]:
        return self._encode(np.zeros(round(_LONGEST_S * SAMPLE_RATE), np.float32))


def _stored(values: NDArray[np.float32]) -> Any:
    from ctranslate2 import StorageView

    return StorageView.from_array(values)


def _run(function: Any, *given: Any, **named: Any) -> Any:
    try:
        return function(*given, **named)
    except RuntimeError as error:
        why = " ".join(str(error).split())[:200]
        raise ModelError(ErrorKind.FAILED_PASS, f"the speech model failed: {why}") from error


_VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
#: Number of the token that ends a text in the English models; it is GPT-2's.
_ENGLISH_END = 50256


def check_files(folder: Path) -> None:
    found = [name for name in _VOCABULARIES if is_visible_file(folder / name)]
    needed = ("model.bin", "config.json", "tokenizer.json", *(found or _VOCABULARIES[:1]))
    check_folder(folder, needed, "a Whisper model in the format of CTranslate2")


def check_language(folder: Path, spoken: Language | None) -> None:
    """Raise `UsageError` if a folder's model does not support a language, or, for None, supports only one."""
    tokens = _vocabulary(folder)
    if tokens[_ENGLISH_END : _ENGLISH_END + 1] == ["<|endoftext|>"]:
        if spoken != ENGLISH:
            other = "several languages" if spoken is None else spoken.name
            raise UsageError(
                f"{folder}: this Whisper model supports English only; name a multilingual one for {other}"
            )
    elif spoken is not None and f"<|{_theirs(spoken.code)}|>" not in tokens:
        raise UsageError(f"{folder}: this Whisper model does not support {spoken.name}; choose another")


def _theirs(code: str) -> str:
    """Whisper's code of a language."""
    base = code.partition("-")[0]
    return _CODES.get(base, base)


@cache
def _vocabulary(folder: Path) -> list[str]:
    json, lines = (folder / name for name in _VOCABULARIES)
    path = json if json.is_file() else lines
    try:
        data = path.read_bytes()
        # Not splitlines(): tokens contain characters that it treats as line ends.
        return msgspec.json.decode(data, type=list[str]) if path == json else data.decode().split("\n")
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: this is not the vocabulary of a Whisper model; fetch the model again"
        ) from error


@cache
def load_model(folder: str, threads: int) -> WhisperModel:
    """The process's model of a folder. Raises `InputError` if the folder does not contain one."""
    return WhisperModel(Path(folder), threads)
