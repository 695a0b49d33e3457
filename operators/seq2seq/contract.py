"""What stores and prompts require of an encoder-decoder model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.seq2seq.vocabulary import PieceVocabulary

#: What a model remembers of the tokens of an output, by name; the third axis counts them.
Held = Mapping[str, NDArray[Any]]


class Read(NamedTuple):
    """A source that was read: its length in tokens, and arrays that only the model understands."""

    tokens: int
    #: The states of its encoder, and what cross-attention needs of them.
    states: NDArray[Any]
    cross: dict[str, NDArray[Any]]


class Writing(NamedTuple):
    """A pass of the decoder."""

    read: Read
    #: What stands before ``tokens``; empty if they begin with the start token.
    held: Held
    tokens: Sequence[int]
    #: Number of tokens at the end whose logits are wanted.
    rows: int


class EncoderDecoder(Protocol):
    """The weights and the vocabularies of a model, which holds no sequence itself."""

    path: Path
    #: The files of the weights.
    files: tuple[Path, ...]
    architecture: str
    #: The tokens of what it writes, which know those of what it reads.
    vocabulary: PieceVocabulary
    vocabulary_size: int
    #: Codes of the languages that it reads and writes, or names of groups; None if its files do not say.
    languages: tuple[str | None, str | None]
    #: Maximum number of tokens of a source and of an output.
    positions: int
    #: The token before every output, and those that end one.
    start: int
    ends: tuple[int, ...]
    #: Whether tokens may be written after held ones several at a time.
    is_causal: bool
    #: Whether what was written behind one source is kept behind a longer one.
    can_shift: bool

    def read(self, source: Sequence[int]) -> Read:
        """Read a source with its end token. Raises `ModelTrouble` if that fails."""
        ...

    def write(self, writing: Writing) -> tuple[Logits, Held]:
        """Logits, (rows, vocabulary), and all that is held then. Raises `ModelTrouble` if that fails."""
        ...
