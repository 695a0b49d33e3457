"""Vosk: a Kaldi recogniser for some twenty languages, light on the processor, with a model's folder.

It is an extra (``surtitle[vosk]``), imported when the first recogniser is made. Its text has neither
punctuation nor capital letters. It decodes on the calling thread, so there is no number of threads to set.
Kaldi adds faint random noise to the audio (dither); here the noise depends on the position in the audio, so
that the same audio gives the same hypotheses.
"""

import atexit
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
from typing_extensions import override

from operators.errors import InputError, is_visible_file
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
from operators.recognizers.protocol import Hypothesis, Recognizer

_NEEDED = ("am/final.mdl", "conf/mfcc.conf", "conf/model.conf")
# A model's graph is either complete, or in parts that are combined while decoding.
_WHOLE_GRAPH = ("graph/HCLG.fst", "graph/words.txt")
_GRAPH_IN_PARTS = ("graph/HCLr.fst", "graph/Gr.fst", "graph/disambig_tid.int")


class _Word(msgspec.Struct):
    start: float
    end: float


class _Result(msgspec.Struct):
    """The library's answer as JSON; times count from the first sample that it got."""

    text: str = ""
    partial: str = ""
    result: tuple[_Word, ...] = ()


class VoskRecognizer(Recognizer):
    """Recognises one stream. Models are loaded once per process, and shared.

    The hypotheses depend only on the audio, not on how it is cut into chunks. The start of a segment's speech
    is known only with its final; until then, ``start_s`` is the start of the update that brought its first
    text, which is slightly late. Raises `InputError` if the folder is not a Vosk model.
    """

    def __init__(self, *, model_path: str | Path, update_interval_s: float = USUAL.update_interval_s) -> None:
        self._library = _library()
        self._model = _load(self._library, str(_checked(Path(model_path))))
        self._piece_bytes = 2 * round(update_interval_s * SAMPLE_RATE)
        self._decoder: Any = None
        self._pending = b""
        self._segment = 0
        #: The open segment's last hypothesis.
        self._open: Hypothesis | None = None

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        next_s = None if self._decoder is None else self._heard_s() + len(self._pending) / (2 * SAMPLE_RATE)
        if next_s is None or abs(chunk.start_s - next_s) > MIN_GAP_S:
            hypotheses += self.finish()
            self._begin(chunk.start_s)
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
        hypotheses += self._final(self._decoder.FinalResult())
        self.close()
        return hypotheses

    @override
    def close(self) -> None:
        self._decoder = None
        self._pending = b""

    def _begin(self, base_s: float) -> None:
        self._decoder = self._library.KaldiRecognizer(self._model, SAMPLE_RATE)
        self._decoder.SetWords(True)
        self._noise = np.random.default_rng(0)
        #: Time of the decoder's first sample, and the end of the audio that it got.
        self._base_s, self._heard_bytes = base_s, 0

    def _heard_s(self) -> float:
        return self._base_s + self._heard_bytes / (2 * SAMPLE_RATE)

    def _update(self, piece: bytes) -> list[Hypothesis]:
        start_s = self._heard_s()
        samples = np.frombuffer(piece, "<i2") + self._noise.standard_normal(len(piece) // 2)
        dithered = np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes()
        is_over = self._decoder.AcceptWaveform(dithered)
        self._heard_bytes += len(piece)
        if is_over:
            return self._final(self._decoder.Result())
        text = msgspec.json.decode(self._decoder.PartialResult(), type=_Result).partial
        # What was taken for speech may turn out to be none: there is no empty hypothesis until the final.
        if not text or (self._open and text == self._open.text):
            return []
        if self._open:
            start_s = self._open.start_s
        self._open = Hypothesis(
            segment=self._segment, text=text, is_final=False, start_s=start_s, end_s=self._heard_s()
        )
        return [self._open]

    def _final(self, answer: str) -> list[Hypothesis]:
        """The end of a segment, or of a silence without speech."""
        said = msgspec.json.decode(answer, type=_Result)
        last, self._open = self._open, None
        if not said.text and last is None:
            return []
        start_s, end_s = (last.start_s, last.end_s) if last else (self._heard_s(), self._heard_s())
        if said.result:
            start_s = self._base_s + said.result[0].start
            end_s = max(end_s, self._base_s + said.result[-1].end)
        end_s = min(end_s, self._heard_s())
        start_s = min(start_s, end_s)
        final = Hypothesis(segment=self._segment, text=said.text, is_final=True, start_s=start_s, end_s=end_s)
        self._segment += 1
        return [final]


part = RecognizerPart(
    "vosk",
    lambda settings, *_others: VoskRecognizer(
        model_path=named_model(settings), update_interval_s=settings.update_interval_s
    ),
    check=check_published,
    extra=Extra("vosk", "recognition by Vosk", ("vosk",)),
)


def _library() -> Any:
    import vosk

    # It would print what it loads on the user's terminal.
    vosk.SetLogLevel(-1)
    return vosk


@cache
def _load(library: Any, path: str) -> Any:
    try:
        with TemporaryDirectory(prefix="surtitle-vosk-") as folder:
            # The model in a new folder, configured to add no random noise of its own.
            copy, link = Path(folder, "model"), lambda source, to: Path(to).symlink_to(source)
            shutil.copytree(path, copy, copy_function=link)
            options = copy / "conf" / "mfcc.conf"
            given = options.read_bytes()
            options.unlink()
            options.write_bytes(given + b"\n--dither=0\n")
            model = library.Model(str(copy))
            # Some broken files are detected only when a decoder is made.
            library.KaldiRecognizer(model, SAMPLE_RATE)
    except Exception as error:  # the library has no exception class of its own
        raise InputError(
            f"{path}: the speech model cannot be loaded; check that its files are whole"
        ) from error
    return model


# When Python exits, the library's module may be gone before its models, which then complain.
atexit.register(_load.cache_clear)


def _checked(path: Path) -> Path:
    graph = _WHOLE_GRAPH if is_visible_file(path / _WHOLE_GRAPH[0]) else _GRAPH_IN_PARTS
    check_folder(path, (*_NEEDED, *graph), "a Vosk model, in which 'am', 'conf' and 'graph' are folders")
    return path.resolve()
