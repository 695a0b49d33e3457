"""Vosk: a Kaldi recogniser for some twenty languages with a low processor load; needs a model's folder.

It is an extra (``surtitle[vosk]``), imported when the first recogniser is made. Its text has neither
punctuation nor capital letters. It decodes on the calling thread, so there is no number of threads to set.
"""

import atexit
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from typing_extensions import override

from operators.errors import InputError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.extras import Extra
from operators.recognizers.part import (
    MIN_GAP_S,
    USUAL,
    RecognizerPart,
    check_folder,
    check_published,
    named_model,
)
from operators.recognizers.protocol import Change, Hypothesis, Recognizer
from operators.recognizers.segments import Segments, Word

_FILES = ("am/final.mdl", "conf/mfcc.conf", "conf/model.conf")


class _Times(msgspec.Struct):
    start: float
    end: float


class _Result(msgspec.Struct):
    """The library's answer as JSON; times count from the decoder's first sample."""

    text: str = ""
    partial: str = ""
    result: tuple[_Times, ...] = ()
    #: The times of the first words of an open segment.
    partial_result: tuple[_Times, ...] = ()


class VoskRecognizer(Recognizer):
    """Recognises one stream. Models are loaded once per process, and shared.

    The start of a segment's speech is known only with its final. Until then, ``start_s`` is slightly late: it
    is the start of the update with its first text. Raises `InputError` if the folder is not a Vosk model.
    """

    def __init__(self, *, model_path: str | Path, update_interval_s: float = USUAL.update_interval_s) -> None:
        check_folder(Path(model_path), _FILES, "a Vosk model, in which 'am', 'conf' and 'graph' are folders")
        self._model = _load(str(Path(model_path).resolve()))
        self._piece_bytes = 2 * round(update_interval_s * SAMPLE_RATE)
        self._decoder: Any = None
        self._pending = b""
        #: Time of the decoder's first sample, and the end of the audio that it got.
        self._base_s = self._heard_s = 0.0
        self._segments = Segments()

    def part(self, change: Change) -> None:
        """See `PartsVoices`."""
        self._segments.change = change

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        expected_s = self._heard_s + len(self._pending) / (2 * SAMPLE_RATE)
        if self._decoder is None or abs(chunk.start_s - expected_s) > MIN_GAP_S:
            hypotheses += self.finish()
            self._decoder = _decoder(self._model)
            self._base_s = self._heard_s = chunk.start_s
        self._pending += chunk.pcm
        while len(self._pending) >= self._piece_bytes:
            piece, self._pending = self._pending[: self._piece_bytes], self._pending[self._piece_bytes :]
            hypotheses += self._update(piece)
        return hypotheses

    @override
    def finish(self) -> Sequence[Hypothesis]:
        if self._decoder is None:
            return []
        hypotheses = self._update(self._pending) if self._pending else []
        hypotheses += self._said(self._decoder.FinalResult(), self._heard_s, is_over=True)
        self.close()
        return hypotheses

    @override
    def close(self) -> None:
        self._decoder = None
        self._pending = b""

    def _update(self, piece: bytes) -> list[Hypothesis]:
        start_s = self._heard_s
        is_over = bool(self._decoder.AcceptWaveform(piece))
        self._heard_s += len(piece) / (2 * SAMPLE_RATE)
        answer = self._decoder.Result() if is_over else self._decoder.PartialResult()
        return self._said(answer, start_s, is_over=is_over)

    def _said(self, answer: str, start_s: float, *, is_over: bool) -> list[Hypothesis]:
        """New hypotheses from the decoder's answer for the sound since ``start_s``."""
        result = msgspec.json.decode(answer, type=_Result)
        times = result.result if is_over else self._partial_times()
        words: list[Word] = []
        end_s = start_s
        for number, text in enumerate((result.text or result.partial).split()):
            begin_s = end_s
            if number < len(times):
                begin_s, end_s = (self._base_s + one for one in (times[number].start, times[number].end))
            words.append(Word(f" {text}", begin_s, end_s))
        return self._segments.update(words, self._heard_s, is_over=is_over)

    def _partial_times(self) -> Sequence[_Times]:
        """The times of an open segment's first words, if they are needed."""
        if self._segments.change is None:
            return ()
        # With times, a partial lacks its last words. So the times are requested separately.
        self._decoder.SetPartialWords(True)
        answer = self._decoder.PartialResult()
        self._decoder.SetPartialWords(False)
        return msgspec.json.decode(answer, type=_Result).partial_result


part = RecognizerPart(
    "vosk",
    lambda settings, *_others: VoskRecognizer(
        model_path=named_model(settings), update_interval_s=settings.update_interval_s
    ),
    check=check_published,
    extra=Extra("vosk", "recognition by Vosk", ("vosk",)),
)


def _decoder(model: Any) -> Any:
    import vosk

    decoder = vosk.KaldiRecognizer(model, SAMPLE_RATE)
    decoder.SetWords(True)
    return decoder


@cache
def _load(path: str) -> Any:
    import vosk

    # Otherwise it prints messages about loading and about segments that end within a word to the terminal.
    vosk.SetLogLevel(-2)
    try:
        model = vosk.Model(path)
        # Some broken files are detected only when a decoder is made.
        _decoder(model)
    except Exception as error:  # the library has no exception class of its own
        raise InputError(
            f"{path}: the speech model cannot be loaded; check that its files are whole"
        ) from error
    return model


# When Python exits, the library's module may be unloaded before its models, which then print errors.
atexit.register(_load.cache_clear)
