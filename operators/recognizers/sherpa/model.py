"""Loads and checks a model's folder for sherpa-onnx.

A model is a folder as published by k2-fsa and Kroko: a transducer (``encoder*.onnx``, ``decoder*.onnx``,
``joiner*.onnx``) or a CTC zipformer2 (``model*.onnx``), and ``tokens.txt``. A file ``Kroko-….data``, which
contains these files, is a model too. With ``bpe.model`` in the folder, a bias towards names is possible. A
punctuation model of sherpa-onnx in a subfolder ``…punct…`` adds punctuation to models that write none.
"""

import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import numpy as np

from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.recognizers.part import check_folder
from operators.trying import FailedTrialError, tried

# A segment ends after this many seconds of silence after words; the stage `sentences` joins segments. Runs of
# blanks within a word are shorter.
_PAUSE_S = 0.6
# A longer segment ends anywhere.
_MAX_SEGMENT_S = 30.0
_TRANSDUCER = ("encoder", "decoder", "joiner")
HAN = re.compile("[\u3400-\u9fff]")


class Model(NamedTuple):
    """A model of a process, shared by its streams."""

    folder: str
    engine: Any
    #: Samples per decoding step; the end of a stream is padded with as much silence.
    window: int
    #: Returns the text as it is shown; the second argument is whether it is a final.
    written: Callable[[str, bool], str]
    #: Returns a name as the model can spell it, or None.
    spelt: Callable[[str], str | None]

    def stream(self, names: str) -> Any:
        return self.engine.create_stream(names) if names else self.engine.create_stream()


@cache
def load(path: str, threads: int) -> Model:
    with _unpacked(Path(path)) as folder:
        _check_files(folder)
        window = _tried(folder, threads, path)
        tokens = _tokens(folder)
        written, letters = _writer(folder), "".join(tokens)
        has_upper, has_lower = any(map(str.isupper, letters)), any(map(str.islower, letters))
        spells, engine = _speller(folder, tokens), _engine(folder, threads)

    def shown(text: str, is_final: bool) -> str:
        return written(text if has_lower else text.lower(), is_final)

    def in_case(word: str) -> str:
        return word.upper() if not has_lower else word if has_upper else word.lower()

    return Model(path, engine, window, shown, lambda word: word if spells(word := in_case(word)) else None)


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """The folder of a model, also of Kroko's single files, while it is loaded."""
    if path.suffix != ".data" or not path.is_file():
        yield path
        return
    content = memoryview(path.read_bytes())
    names = (*(f"{role}.onnx" for role in _TRANSDUCER), "tokens.txt")
    try:
        # A header in JSON, and four files, each preceded by its length.
        header, *files = _blocks(content, 1 + len(names))
        is_free = msgspec.json.decode(header).get("free") is not False
    except (struct.error, ValueError, AttributeError, msgspec.DecodeError) as error:
        raise InputError(f"{path}: it is not a model of Kroko, or truncated; download it again") from error
    if not is_free:
        raise InputError(f"{path}: it is encrypted for Kroko's own program; use one of the community models")
    with TemporaryDirectory(prefix="surtitle-") as place:
        for name, file in zip(names, files, strict=True):
            (Path(place) / name).write_bytes(file)
        yield Path(place)


def _blocks(content: memoryview, number: int) -> Iterator[memoryview]:
    for _ in range(number):
        (size,) = struct.unpack_from("<I", content)
        block, content = content[4 : 4 + size], content[4 + size :]
        if len(block) < size:
            raise ValueError("cut off")
        yield block


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
    """Prefers 8 bits, which are much faster; many folders contain each file in both forms."""
    return ".int8." not in file.name, file.name


def _tokens(folder: Path) -> list[str]:
    """The pieces of text that the model writes; empty if the file is not a list of tokens."""
    try:
        lines = (folder / "tokens.txt").read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return []
    # If white space is a token, its line is only a number.
    rows = [line.split() for line in lines]
    is_whole = all(1 <= len(row) <= 2 and row[-1].isdecimal() for row in rows)
    # <blk>, <unk> and bytes are not text.
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
    # A bias towards names needs a beam search; its decoder and joiner are small.
    with TemporaryDirectory(prefix="surtitle-") as place:
        settings |= {"decoding_method": "modified_beam_search", "modeling_unit": unit}
        return make.from_transducer(**graphs, **settings, bpe_vocab=_vocabulary(folder, place))


def _unit(folder: Path, tokens: Sequence[str]) -> str:
    """The units into which the library splits names; empty if it cannot."""
    is_han = any(map(HAN.match, tokens))
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
        raise InputError(f"{file}: it is not a SentencePiece model; copy it again, or remove it") from error


def _speller(folder: Path, tokens: Sequence[str]) -> Callable[[str], bool]:
    """Whether the model can write a word; otherwise the library would add a bias towards a part of it."""
    if "model" in _graphs(folder) or not _unit(folder, tokens):
        return lambda _word: False
    pieces, known = _pieces(folder), {*tokens}
    if pieces is None:
        return lambda word: known.issuperset(word) and all(map(HAN.match, word))
    return lambda word: word.isalpha() and known.issuperset(pieces.encode(word, out_type=str))


def _writer(folder: Path) -> Callable[[str, bool], str]:
    """Adds punctuation by the model in the folder, if there is one."""
    import sherpa_onnx

    file = min(folder.glob("*punct*/model*.onnx"), default=None)
    if file is None:
        return lambda text, _is_final: text
    vocabulary = file.parent / "bpe.vocab"
    if vocabulary.is_file():
        online = sherpa_onnx.OnlinePunctuationModelConfig(cnn_bilstm=str(file), bpe_vocab=str(vocabulary))
        marks = sherpa_onnx.OnlinePunctuation(sherpa_onnx.OnlinePunctuationConfig(model_config=online))
        return lambda text, _is_final: marks.add_punctuation_with_case(text)
    offline = sherpa_onnx.OfflinePunctuationModelConfig(ct_transformer=str(file))
    whole = sherpa_onnx.OfflinePunctuation(sherpa_onnx.OfflinePunctuationConfig(model=offline))
    # It expects a whole sentence, and would end each partial with a full stop.
    return lambda text, is_final: whole.add_punctuation(text) if is_final else text


def _tried(folder: Path, threads: int, path: str) -> int:
    """The number of samples per decoding step. Raises `InputError` if the model cannot be loaded."""
    try:
        return tried("operators.recognizers.sherpa.model:try_model", folder, threads)
    except FailedTrialError as error:
        raise InputError(
            f"{path}: the speech model cannot be loaded ({error}); check that its files are complete and "
            "belong to one streaming zipformer"
        ) from None


def try_model() -> None:
    """Load the model of the command line and print how many samples of silence a first step needs."""
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
