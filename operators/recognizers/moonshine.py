"""Moonshine (Jeffries et al. 2024) in ONNX Runtime, decoded with its last hypothesis as the draft.

The weights are those of Moonshine's merged exports: `encoder_model` and `decoder_model_merged`, as ``.ort``
or ``.onnx``. The number of layers and heads is read from the files, so every size and language works. The
streaming models have other files (`operators.models.moonshine_streaming`), and are decoded in the same way.
"""

import importlib.util
import os
import re
from collections.abc import Sequence, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.forward import Logits, Task
from operators.decoding.pass_cost import PassCosts
from operators.decoding.repetition import TOKENS, TWICE, repetition
from operators.decoding.speech import SpeechMethod, WindowResult, doubt_of, hear
from operators.errors import InputError, UsageError, unreadable
from operators.events import SAMPLE_RATE
from operators.languages import ENGLISH, Language
from operators.recognizers.drafting import DraftingTranscriber, NameBias
from operators.recognizers.part import (
    USUAL,
    Observe,
    RecognizerPart,
    RecognizerSettings,
    Spoken,
    check_folder,
    check_published,
    unobserved,
)
from operators.recognizers.segmenter import Samples, Window
from operators.recognizers.windowed import WindowedRecognizer

if TYPE_CHECKING:
    from operators.models.moonshine_streaming import StreamingModel

#: The languages of the models under the Moonshine Community License. The English models and the streaming
#: ones are under the MIT licence.
COMMUNITY = ("ar", "zh", "ja", "ko", "es", "uk", "vi")

# A file that only streaming models have.
_STREAMS = "streaming_config.json"
#: SentencePiece's mark for a space.
_SPACE = "▁".encode()
_BYTE = re.compile(rb"<0x([0-9A-Fa-f]{2})>")
_MARK = re.compile(rb"<[^<>]*>")
#: Larger than any speech model's vocabulary.
_MAX_TOKENS = 1 << 20


class Tokenizer:
    def __init__(self, spellings: Sequence[bytes]) -> None:
        self.pieces = [_piece(spelling) for spelling in spellings]

    def piece(self, token: int) -> bytes:
        return self.pieces[token] if 0 <= token < len(self.pieces) else b""

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without the space before its first word."""
        return b"".join(map(self.piece, tokens)).decode("utf-8", "replace").strip()


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read ``tokenizer.bin`` (Moonshine's own) or ``tokenizer.json`` (Hugging Face's) of a model's folder.

    Raises `InputError` if neither can be read.
    """
    binary, json = folder / "tokenizer.bin", folder / "tokenizer.json"
    path = binary if binary.is_file() else json
    if not path.is_file():
        raise InputError(
            f"{folder}: it holds no tokenizer.bin and no tokenizer.json; name the folder of a Moonshine model"
        )
    try:
        data = path.read_bytes()
        return Tokenizer(_read_binary(data) if path == binary else _read_json(data))
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except (ValueError, LookupError, TypeError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{path}: this is not the tokenizer of a Moonshine model; fetch the model again"
        ) from error


def _read_binary(data: bytes) -> list[bytes]:
    """Each token is its length in one byte, or two from 128 on, and its bytes."""
    spellings: list[bytes] = []
    at = 0
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            length, at = length - 128 + 128 * data[at], at + 1
        if at + length > len(data):
            raise ValueError("a token is cut off")
        spellings.append(data[at : at + length])
        at += length
    if not spellings:
        raise ValueError("there are no tokens")
    return spellings


def _read_json(data: bytes) -> list[bytes]:
    model = msgspec.json.decode(data, type=dict[str, Any])["model"]
    vocabulary = msgspec.convert(model["vocab"], dict[str, int])
    if not 0 <= min(vocabulary.values()) <= max(vocabulary.values()) < _MAX_TOKENS:
        raise ValueError("token numbers are out of range")
    spellings = [b""] * (max(vocabulary.values()) + 1)
    for text, token in vocabulary.items():
        spellings[token] = text.encode("utf-8", "replace")
    return spellings


def _piece(spelling: bytes) -> bytes:
    if byte := _BYTE.fullmatch(spelling):
        return bytes([int(byte[1], 16)])
    return b"" if _MARK.fullmatch(spelling) else spelling.replace(_SPACE, b" ")


#: The tokens that begin and end a transcript, in every Moonshine model.
BEGIN, END = 1, 2

_Array = NDArray[Any]
#: The encoder's convolutions need this many samples for one state.
MIN_SAMPLES = 1024


class MoonshineModel:
    """One model's two sessions, shared by all streams of the process."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Load the files of ``folder``; raises `InputError` if it contains no merged Moonshine model."""
        from operators.models.onnx_graphs import MergedDecoder, OnnxGraph, own_thread

        check_folder(folder, (), "a Moonshine model")
        self.tokenizer = load_tokenizer(folder)
        executor = own_thread()
        self._encoder = OnnxGraph(_find(folder, "encoder_model"), threads, executor)
        self.decoder = MergedDecoder(_find(folder, "decoder_model_merged"), threads, executor)

    def encode(self, samples: Samples, _earlier: object = None) -> "EncodedWindow":
        """The encoder's states of a window: float32 samples of shape (n,) at 16 kHz, from -1 to 1.

        Raises `ModelError` if ONNX Runtime fails.
        """
        samples = np.pad(samples, (0, max(0, MIN_SAMPLES - len(samples))))
        mask = np.ones((1, len(samples)), np.int64)
        made = self._encoder.run({"input_values": samples[np.newaxis], "attention_mask": mask})
        return EncodedWindow(self, next(iter(made.values())), mask)


class EncodedWindow:
    """A window's encoder states, and the decoder's KV cache over them: a `KvCache`."""

    #: The next window cannot continue from this one.
    heard = None

    def __init__(self, model: MoonshineModel, states: _Array, mask: _Array) -> None:
        self._model = model
        self._given = {"encoder_hidden_states": states, "encoder_attention_mask": mask}
        self._kept: dict[str, _Array] = {}
        self._length = 0

    def again(self) -> "EncodedWindow":
        """The same window with nothing decoded yet."""
        return EncodedWindow(self._model, *self._given.values())

    def cut(self, length: int) -> int:
        self._length = length
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        assert start == self._length, "a pass continues where the cache ends"
        decoder, is_first = self._model.decoder, not self._kept
        past = self._kept or dict.fromkeys((*decoder.own, *decoder.cross), decoder.empty)
        fed = {
            **self._given,
            **past,
            **{name: past[name][:, :, : self._length] for name in decoder.own},
            "input_ids": np.array([list(tokens)], np.int64),
        }
        logits, made = decoder.step(fed, past if is_first else decoder.own, is_first=is_first)
        self._kept |= made
        self._length += len(tokens)
        return logits[-rows:]


@cache
def load_model(folder: str, threads: int) -> MoonshineModel:
    """The process's model of a folder. Raises `InputError` if the folder does not contain one."""
    return MoonshineModel(Path(folder), threads)


@cache
def _load_streaming(folder: str, threads: int) -> "StreamingModel":
    from operators.models.moonshine_streaming import StreamingModel

    return StreamingModel(Path(folder), threads, load_tokenizer(Path(folder)))


def _find(folder: Path, name: str) -> Path:
    for suffix in (".ort", ".onnx"):
        path = folder / (name + suffix)
        if os.access(path, os.R_OK):
            return path
    raise InputError(
        f"{folder}: it holds no {name}.ort and no {name}.onnx; name the folder of a merged Moonshine model"
    )


#: Milliseconds of a pass of the tiny model by its number of tokens.
COSTS = PassCosts((1, 8, 32), (2.8, 4.0, 8.5))
#: If two logits are closer than this, a final's decision is not taken from a pass over many tokens. With it
#: 184 of 185 measured finals equal greedy decoding; the other one differs in its closing punctuation.
MARGIN = 0.2
#: Maximum tokens per second of English speech and of speech in other languages, and the minimum limit of a
#: window. The values are Moonshine's own; Moonshine uses the higher one for all scripts except Latin. Here
#: Spanish and Vietnamese get it, too: a limit that is too high only costs time if the model finds no end, but
#: one that is too low loses words.
_ENGLISH_TOKENS_PER_S, _TOKENS_PER_S, _MIN_TOKENS = 6.5, 13.0, 8
#: A transcript in English is doubtful if the mean log probability of its tokens is below the first value, or
#: below the second if it has fewer tokens than the third. This applies to one of 1258 transcripts of real
#: English speech, and to 19 of 29 of speech in other languages (8e8a84cd:docs/recognition.md).
_DOUBTFUL, _BRIEF_DOUBTFUL, _BRIEF = -0.9, -1.25, 8


class MoonshineTranscriber(DraftingTranscriber):
    """Transcribes one stream in the language ``spoken``, by default English. Streams share the model."""

    margin = MARGIN

    def __init__(
        self,
        model: "MoonshineModel | StreamingModel",
        settings: RecognizerSettings = USUAL,
        spoken: Language | None = None,
        observe: Observe = unobserved,
    ) -> None:
        super().__init__(settings, observe)
        self._model = model
        #: The state of a streaming model after the last window.
        self._heard: Any = None
        self._is_english = spoken is None or spoken.code == "en"
        self._tokens_per_s = _ENGLISH_TOKENS_PER_S if self._is_english else _TOKENS_PER_S
        self._bias: NameBias | None = None

    @override
    def expect(self, words: Set[str]) -> None:
        self._bias = NameBias(words, self._model.tokenizer.pieces)

    @override
    def encode(self, window: Window) -> Any:
        encoded = self._model.encode(window.samples, self._heard)
        self._heard = encoded.heard
        return encoded

    @override
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        most = self._tokens_per_s * len(window.samples) / SAMPLE_RATE
        task = Task(
            prompt=[BEGIN],
            draft=draft if method.use_draft else (),
            stop={END},
            limit=_MIN_TOKENS + round(most),
            is_final=window.is_final,
            piece=self.piece,
        )
        doubt = doubt_of(method, draft, stopped, self.piece)
        adjust = None if self._bias is None else self._bias.apply
        heard = hear(method, task, encoded, margin=MARGIN, costs=COSTS, doubt=doubt, adjust=adjust)
        if len(heard.tokens) > most:
            # More tokens than the time allows, so a phrase that comes twice in a row was spoken once.
            once = repetition(heard.tokens, piece=self.piece, times=TWICE, least=TOKENS)
            heard = heard._replace(tokens=heard.tokens[:once])
        # The thresholds for invented transcripts were not measured on streaming models.
        if not window.is_final or not self._is_english or self._heard is not None:
            return heard
        least = _DOUBTFUL if len(heard.tokens) >= _BRIEF else _BRIEF_DOUBTFUL
        return heard._replace(is_doubtful=heard.mean_log_probability < least)

    @override
    def piece(self, token: int) -> bytes:
        return self._model.tokenizer.piece(token)

    @override
    def text(self, tokens: Sequence[int]) -> str:
        return self._model.tokenizer.text(tokens)


def moonshine_recognizer(
    settings: RecognizerSettings = USUAL, spoken: Spoken = (), observe: Observe = unobserved
) -> WindowedRecognizer:
    """A recogniser of one stream; without a model's folder, with the installed English model.

    Raises `InputError` if the folder does not contain a Moonshine model.
    """
    folder = Path(settings.model) if settings.model else bundled_model()
    load = _load_streaming if (folder / _STREAMS).is_file() else load_model
    model = load(str(folder.absolute()), settings.usual_threads)
    transcriber = MoonshineTranscriber(model, settings, spoken[0] if spoken else None, observe)
    return WindowedRecognizer(transcriber, settings, observe)


def moonshine_transcriber(settings: RecognizerSettings, observe: Observe) -> MoonshineTranscriber:
    """A transcriber of English for one stream, with the installed model whatever folder the settings name."""
    model = load_model(str(bundled_model().absolute()), settings.usual_threads)
    return MoonshineTranscriber(model, settings, ENGLISH, observe)


def bundled_model() -> Path:
    """The folder of the English model inside the wheel of moonshine-voice.

    The package is not imported, because its native library is not used. Raises `InputError` if it is gone.
    """
    return _assets() / "tiny-en"


def bundled_recording() -> Path:
    """A recording of 44 seconds of English in the same wheel. Raises `InputError` if it is gone."""
    return _assets() / "two_cities.wav"


def _assets() -> Path:
    package = importlib.util.find_spec("moonshine_voice")
    if package is None or package.origin is None:
        raise InputError("the default speech model is missing: pip install moonshine-voice==0.0.48")
    return Path(package.origin).parent / "assets"


def _check(settings: RecognizerSettings, spoken: Spoken, is_live: bool) -> None:
    if settings.model is not None:
        check_published(settings, spoken, is_live)
    elif spoken != (ENGLISH,):
        raise UsageError(
            "the installed model of moonshine supports English only; choose --recognizer auto for "
            f"{spoken[0].name}, or name a Moonshine model of that language with --speech-model"
        )


part = RecognizerPart("moonshine", moonshine_recognizer, check=_check, is_windowed=True)
