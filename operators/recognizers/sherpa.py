"""sherpa-onnx: streaming zipformers, which hear each stretch of sound once, for their models' languages.

It is an extra (``surtitle[sherpa]``), imported when the first recogniser is made. A model is a folder as
k2-fsa and Kroko publish them: a transducer (``encoder*.onnx``, ``decoder*.onnx``, ``joiner*.onnx``) or a
zipformer2 of connectionist temporal classification (``model*.onnx``), and ``tokens.txt``. With ``bpe.model``
beside them it leans towards names. A folder ``punct…`` in it, with a punctuation model of sherpa-onnx, adds
marks to models that write none.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence, Set
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
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
from operators.recognizers.protocol import Hypothesis, Recognizer
from operators.text import cleaned

# A segment ends after this much silence behind words; the stage `sentences` joins what belongs together. Rows
# of blanks within a word are shorter.
_PAUSE_S = 0.6
# One that is longer ends anywhere.
_MAX_SEGMENT_S = 30.0
# The sound goes to the engine in pieces of this length, however it is cut into chunks.
_PIECE_S = 0.1
# A token's time is that at which it was written, early in its sound.
_TOKEN_S = 0.2
_TRANSDUCER = ("encoder", "decoder", "joiner")
_HAN = re.compile("[\u3400-\u9fff]")


class _Model(NamedTuple):
    """A model of a process, shared by its streams."""

    folder: str
    engine: Any
    #: Samples that it hears at once; a stream's end needs as much silence to be heard.
    window: int
    #: The text as it is shown, given whether it is a final.
    written: Callable[[str, bool], str]
    #: The spelling of a name that the model can write, or None.
    spelt: Callable[[str], str | None]

    def stream(self, names: str) -> Any:
        return self.engine.create_stream(names) if names else self.engine.create_stream()


class SherpaRecognizer(Recognizer):
    """Recognises one stream. Models are loaded once per process, and shared.

    Raises `InputError` if the folder holds no streaming model that sherpa-onnx can load.
    """

    def __init__(
        self,
        *,
        model_path: str | Path,
        update_interval_s: float = USUAL.update_interval_s,
        threads: int = 1,
    ) -> None:
        self._model = _load(str(Path(model_path).resolve()), threads)
        self._update_interval_s = update_interval_s
        self._names = ""
        self._stream: Any = None
        self._pending = b""
        #: Time of the stream's first sample, and the end of the audio that it got.
        self._base_s = self._heard_s = 0.0
        self._segment = 0
        #: The open segment's last hypothesis, and what the model wrote for it.
        self._open: Hypothesis | None = None
        self._raw = ""

    def expect(self, words: Set[str]) -> None:
        """Lean towards these words; called before any sound."""
        self._names = "/".join(sorted(filter(None, map(self._model.spelt, words))))

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        expected_s = self._heard_s + len(self._pending) / (2 * SAMPLE_RATE)
        if self._stream is None or abs(chunk.start_s - expected_s) > MIN_GAP_S:
            hypotheses += self.finish()
            self._stream = self._model.stream(self._names)
            self._base_s = self._heard_s = chunk.start_s
        self._pending += chunk.pcm
        size = 2 * round(_PIECE_S * SAMPLE_RATE)
        while len(self._pending) >= size:
            piece, self._pending = self._pending[:size], self._pending[size:]
            hypotheses += self._hear(piece)
        return hypotheses

    @override
    def finish(self) -> Sequence[Hypothesis]:
        if self._stream is None:
            return []
        hypotheses = self._hear(self._pending)
        hypotheses += self._decoded(np.zeros(self._model.window, dtype=np.float32))
        hypotheses += self._update(is_final=True)
        self.close()
        return hypotheses

    @override
    def close(self) -> None:
        self._stream = None
        self._pending = b""

    def _hear(self, piece: bytes) -> list[Hypothesis]:
        self._heard_s += len(piece) / (2 * SAMPLE_RATE)
        return self._decoded(np.frombuffer(piece, dtype="<i2").astype(np.float32) / 32768)

    def _decoded(self, samples: np.ndarray[Any, np.dtype[np.float32]]) -> list[Hypothesis]:
        engine, hypotheses = self._model.engine, []
        self._stream.accept_waveform(SAMPLE_RATE, samples)
        while engine.is_ready(self._stream):
            engine.decode_stream(self._stream)
            is_over = engine.is_endpoint(self._stream)
            hypotheses += self._update(is_final=is_over)
            if is_over:
                engine.reset(self._stream)
        return hypotheses

    def _update(self, *, is_final: bool) -> list[Hypothesis]:
        """The open segment's hypothesis, if there is something to say."""
        result = self._result()
        last, raw = self._open, result.text.strip()
        if not is_final:
            is_early = last is not None and self._heard_s < last.end_s + self._update_interval_s - 1e-6
            if not raw or raw == self._raw or is_early:
                return []
        elif not raw and last is None:
            return []
        times = [self._base_s + result.start_time + time for time in result.timestamps]
        start_s = last.start_s if last else times[0] if times else self._heard_s
        # A segment's end is known with its final, and may be before what was heard for it.
        end_s = max(last.end_s if last else 0.0, times[-1] + _TOKEN_S if times else 0.0)
        end_s = min(end_s, self._heard_s) if is_final else self._heard_s
        hypothesis = Hypothesis(
            segment=self._segment,
            text=self._model.written(raw, is_final),
            is_final=is_final,
            start_s=min(start_s, end_s),
            end_s=end_s,
        )
        self._open, self._raw = (None, "") if is_final else (hypothesis, raw)
        self._segment += is_final
        return [hypothesis]

    def _result(self) -> Any:
        try:
            return self._model.engine.get_result_all(self._stream)
        except (IndexError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._model.folder}: the model writes a token that is not in tokens.txt; take the file "
                "that was published with it"
            ) from error


part = RecognizerPart(
    "sherpa",
    lambda settings, *_others: SherpaRecognizer(
        model_path=named_model(settings),
        update_interval_s=settings.update_interval_s,
        threads=settings.usual_threads,
    ),
    check=check_published,
    extra=Extra("sherpa", "streaming recognition by sherpa-onnx", ("sherpa_onnx",)),
)


@cache
def _load(path: str, threads: int) -> _Model:
    folder = Path(path)
    _check_files(folder)
    window = _tried(folder, threads)
    tokens = _tokens(folder)
    written, letters = _writer(folder), "".join(tokens)
    has_upper, has_lower = any(map(str.isupper, letters)), any(map(str.islower, letters))

    def shown(text: str, is_final: bool) -> str:
        return written(text if has_lower else text.lower(), is_final)

    def in_case(word: str) -> str:
        return word.upper() if not has_lower else word if has_upper else word.lower()

    spells = _speller(folder, tokens)
    engine = _engine(folder, threads)
    return _Model(path, engine, window, shown, lambda word: word if spells(word := in_case(word)) else None)


def _check_files(folder: Path) -> None:
    check_folder(folder, ["tokens.txt"], "a streaming model of sherpa-onnx")
    if not _graphs(folder):
        missing = ", ".join(f"{role}*.onnx" for role in _TRANSDUCER if not any(folder.glob(f"{role}*.onnx")))
        raise InputError(
            f"{folder}: it holds no {missing}, and no model*.onnx; name the folder of a streaming model of "
            "sherpa-onnx"
        )
    if not _tokens(folder):
        raise InputError(
            f"{folder / 'tokens.txt'}: it holds no lines of a token and its number; copy it again"
        )
    _pieces(folder)


def _graphs(folder: Path) -> dict[str, str]:
    """The files of the model by the names of their roles; empty if some are missing."""
    for roles in (_TRANSDUCER, ("model",)):
        found = {role: min(folder.glob(f"{role}*.onnx"), key=_by_size, default=None) for role in roles}
        if None not in found.values():
            return {role: str(file) for role, file in found.items()}
    return {}


def _by_size(file: Path) -> tuple[bool, str]:
    """Many folders hold each file in 8 bits as well, which is much faster."""
    return ".int8." not in file.name, file.name


def _tokens(folder: Path) -> list[str]:
    """The pieces of text that the model writes; empty if the file is none of tokens."""
    try:
        lines = (folder / "tokens.txt").read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return []
    # White space is a token of some, and written as a number alone.
    rows = [line.split() for line in lines]
    is_whole = all(1 <= len(row) <= 2 and row[-1].isdecimal() for row in rows)
    # <blk>, <unk> and bytes are no text.
    return [row[0] for row in rows if len(row) == 2 and not re.fullmatch("<.*>", row[0])] if is_whole else []


def _engine(folder: Path, threads: int) -> Any:
    import sherpa_onnx

    make = sherpa_onnx.OnlineRecognizer
    graphs = _graphs(folder)
    settings: dict[str, Any] = {
        "tokens": str(folder / "tokens.txt"), "num_threads": threads, "enable_endpoint_detection": True,
        "rule2_min_trailing_silence": _PAUSE_S, "rule3_min_utterance_length": _MAX_SEGMENT_S,
    }  # fmt: skip
    if "model" in graphs:
        return make.from_zipformer2_ctc(model=graphs["model"], **settings)
    unit = _unit(folder, _tokens(folder))
    if not unit:
        return make.from_transducer(**graphs, **settings)
    # Names take a beam. The decoder and joiner that run for it are small.
    with TemporaryDirectory(prefix="surtitle-") as place:
        settings |= {"decoding_method": "modified_beam_search", "modeling_unit": unit}
        return make.from_transducer(**graphs, **settings, bpe_vocab=_vocabulary(folder, place))


def _unit(folder: Path, tokens: Sequence[str]) -> str:
    """What the library splits names into; empty if it cannot."""
    is_han = any(map(_HAN.match, tokens))
    if (folder / "bpe.model").is_file():
        return "cjkchar+bpe" if is_han else "bpe"
    return "cjkchar" if is_han else ""


def _vocabulary(folder: Path, place: str) -> str:
    """Write the pieces of ``bpe.model`` and their scores as the library reads them; "" without that file."""
    pieces = _pieces(folder)
    if pieces is None:
        return ""
    file = Path(place) / "bpe.vocab"
    rows = (f"{pieces.id_to_piece(n)}\t{pieces.get_score(n)}\n" for n in range(pieces.get_piece_size()))
    file.write_text("".join(rows), encoding="utf-8")
    return str(file)


def _pieces(folder: Path) -> Any:
    from sentencepiece import SentencePieceProcessor

    file = folder / "bpe.model"
    if not file.is_file():
        return None
    try:
        return SentencePieceProcessor(model_file=str(file))
    except (OSError, RuntimeError) as error:
        raise InputError(f"{file}: it is no model of SentencePiece; copy it again, or remove it") from error


def _speller(folder: Path, tokens: Sequence[str]) -> Callable[[str], bool]:
    """Whether the model can write a word: the library would lean towards the rest of it."""
    if "model" in _graphs(folder) or not _unit(folder, tokens):
        return lambda _word: False
    pieces, known = _pieces(folder), {*tokens}
    if pieces is None:
        return known.issuperset
    return lambda word: word.isalpha() and known.issuperset(pieces.encode(word, out_type=str))


def _writer(folder: Path) -> Callable[[str, bool], str]:
    """Adds marks, by the punctuation model in the folder if there is one."""
    import sherpa_onnx

    file = min(folder.glob("punct*/model*.onnx"), default=None)
    if file is None:
        return lambda text, _is_final: text
    vocabulary = file.parent / "bpe.vocab"
    if vocabulary.is_file():
        online = sherpa_onnx.OnlinePunctuationModelConfig(cnn_bilstm=str(file), bpe_vocab=str(vocabulary))
        marks = sherpa_onnx.OnlinePunctuation(sherpa_onnx.OnlinePunctuationConfig(model_config=online))
        return lambda text, _is_final: marks.add_punctuation_with_case(text)
    offline = sherpa_onnx.OfflinePunctuationModelConfig(ct_transformer=str(file))
    whole = sherpa_onnx.OfflinePunctuation(sherpa_onnx.OfflinePunctuationConfig(model=offline))
    # It reads a sentence as a whole, and would end each partial with a full stop.
    return lambda text, is_final: whole.add_punctuation(text) if is_final else text


def _tried(folder: Path, threads: int) -> int:
    """The number of samples that the model hears at once.

    The library ends the process, or worse, for many a file that is not what it should be, so another process
    tries first. Raises `InputError` if that fails.
    """
    code = "from operators.recognizers.sherpa import try_model; try_model()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(folder), str(threads)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=False,
    )
    try:
        return int(done.stdout)
    except ValueError:
        said = cleaned(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
        # Behind the place in the library's source.
        said = re.sub(r"^\S+:\d+ |^\w*Error: ", "", said)[:200]
        raise InputError(
            f"{folder}: the speech model cannot be loaded ({said or 'it ends the program'}); check that its "
            "files are whole, and of one streaming zipformer"
        ) from None


def try_model() -> None:
    """Load the model of the command line and hear silence, and print how much of it was needed."""
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    engine = _engine(folder, threads)
    _writer(folder)("a word", True)
    stream, piece, given = engine.create_stream(), np.zeros(SAMPLE_RATE // 10, dtype=np.float32), 0
    while not engine.is_ready(stream):
        stream.accept_waveform(SAMPLE_RATE, piece)
        given += len(piece)
    engine.decode_stream(stream)
    engine.get_result_all(stream)
    print(given)
