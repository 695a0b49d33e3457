"""A language model of a few lines for exact tests: adversarial, deterministic, and sensitive to its cache.

Its logits depend on everything that its cache holds by a hash, so a single rejected token left behind
changes all that follows.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from operators.decoding.drive import Cost, drive
from operators.decoding.forward import DecodingResult, Logits, Method, Task
from operators.decoding.session import PrefixSession
from operators.models.kv import Part

END = 0
#: Prompts of the toy, and drafts or other outputs.
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=8)
tokens = st.lists(st.integers(1, 6), max_size=12)


def toy_task(prompt: Sequence[int], draft: Sequence[int] = (), limit: int = 16) -> Task:
    return Task(prompt, draft, frozenset([END]), limit)


class ToyCache:
    """A `KvCache`. It answers from the tokens that it was given, not from those that it should hold."""

    def __init__(self, vocabulary: int = 7, sharpness: float = 2.0, error: float = 0.0) -> None:
        """``error`` is how far it differs from the toy without one, which it may draft for."""
        self.vocabulary = vocabulary
        self.sharpness = sharpness
        self.error = error
        self.tokens: list[int] = []
        self.evaluated = 0
        self.rows = 0

    def cut(self, length: int) -> int:
        assert length <= len(self.tokens)
        del self.tokens[length:]
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        assert start == len(self.tokens), "a pass must go on where the cache ends"
        assert 0 <= rows <= len(tokens)
        self.evaluated += len(tokens)
        self.rows += rows
        self.tokens += tokens
        first = len(self.tokens) - rows
        made = [self._row(self.tokens[: end + 1]) for end in range(first, len(self.tokens))]
        return np.stack(made) if made else np.empty((0, self.vocabulary), np.float32)

    def _row(self, prefix: Sequence[int]) -> Logits:
        digest = hashlib.blake2b(repr(list(prefix)).encode(), digest_size=8).digest()
        noise = np.random.default_rng(int.from_bytes(digest))
        row = noise.normal(size=self.vocabulary)
        row += self.error * noise.normal(size=self.vocabulary)
        return (self.sharpness * row).astype(np.float32)


class ScriptedCache(ToyCache):
    """Its logits are those of a function of the tokens that it holds."""

    def __init__(self, row: Callable[[Sequence[int]], Logits]) -> None:
        super().__init__()
        self._script = row

    def _row(self, prefix: Sequence[int]) -> Logits:
        return self._script(prefix)


def row_of(size: int, likely: dict[int, float]) -> Logits:
    """A row in which few tokens are likely."""
    return np.array([likely.get(token, -9.0) for token in range(size)], np.float32)


def run(method: Method, cache: ToyCache | None = None) -> tuple[DecodingResult, Cost]:
    """Drives a method in a session of its own."""
    return drive(method, PrefixSession(cache or ToyCache()))


class ToyStore:
    """A `SequenceStore` of toy caches, for tests of pools and of whole segments."""

    largest_pass = 512

    def __init__(
        self, sequences: int, vocabulary: int = 7, sharpness: float = 2.0, error: float = 0.0
    ) -> None:
        self.caches = [ToyCache(vocabulary, sharpness, error) for _ in range(sequences)]
        #: Called with the sequence and the tokens of each evaluation before it: it may wait, or raise.
        self.before: Callable[[int, Sequence[int]], object] = lambda _sequence, _tokens: None

    def copy_sequence(self, source: int, target: int) -> None:
        assert not self.caches[target].tokens, "llama.cpp would mix the two"
        self.caches[target].tokens = list(self.caches[source].tokens)

    def cut_sequence(self, sequence: int, length: int) -> None:
        self.caches[sequence].cut(length)

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        self.before(sequence, tokens)
        return self.caches[sequence].evaluate(tokens, start, rows)

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        there = self.caches[target].tokens
        assert len(there) == start, "llama.cpp would mix the two"
        assert end <= len(self.caches[source].tokens)
        there += self.caches[source].tokens[start:end]

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:
        raise NotImplementedError

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        assert sum(len(part.tokens) for part in parts) <= self.largest_pass
        made = []
        for (own, *others), tokens, start, rows in parts:
            caches = [self.caches[sequence] for sequence in (own, *others)]
            assert len({id(cache) for cache in caches}) == len(caches)
            # llama.cpp refuses positions with gaps, and tokens of sequences that have diverged.
            assert all(cache.tokens == caches[0].tokens for cache in caches)
            made.append(self.evaluate(own, tokens, start, rows))
            for cache in caches[1:]:
                cache.tokens += tokens
        return made


class Poisoned(ToyStore):
    """Computes no numbers for a sequence that holds the token ``poison``."""

    def __init__(self, sequences: int, poison: int) -> None:
        super().__init__(sequences)
        self.poison = poison

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = super().evaluate(sequence, tokens, start, rows)
        return logits * np.nan if self.poison in self.caches[sequence].tokens else logits


class ToyVocabulary:
    """A vocabulary whose tokens 1, 2, … are the words a, b, …; token 0 ends the output."""

    begin: list[int] = [1]  # noqa: RUF012 - a property in the protocol

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002 - the protocol
        return [1 + sum(word.encode()) % 6 for word in text.split()]

    def piece(self, token: int) -> bytes:
        return b"" if token == END else b" " + bytes([96 + token])

    def is_end(self, token: int) -> bool:
        return token == END


class Letters(ToyVocabulary):
    """The words a, b, … as the tokens that spell them."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002 - the protocol
        return [ord(letter) - 96 for letter in text if letter in "abcdef"]


class SpellingVocabulary:
    """A vocabulary of characters and of some control tokens, with the header of a model file."""

    def __init__(
        self,
        *controls: str,
        begin: str = "",
        chat_template: str | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        self.controls = controls
        self.chat_template = chat_template
        self.begin_text = begin
        self.end_text = controls[-1] if controls else ""
        self._metadata = metadata or {}
        self.path = Path("model.gguf")

    @property
    def begin(self) -> list[int]:
        return self.tokenize(self.begin_text, special=True)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        if not special or not self.controls:
            return [ord(character) for character in text]
        parts = re.split(f"({'|'.join(map(re.escape, self.controls))})", text)
        return [
            token
            for part in parts
            for token in ([-1 - self.controls.index(part)] if part in self.controls else map(ord, part))
        ]

    def piece(self, token: int) -> bytes:
        return chr(token).encode() if token >= 0 else b""

    def is_end(self, token: int) -> bool:
        return token == -len(self.controls)

    def metadata(self, key: str) -> str | None:
        return self._metadata.get(key)

    def spell(self, tokens: Sequence[int]) -> str:
        """The text of tokens, controls spelled."""
        return "".join(chr(token) if token >= 0 else self.controls[-1 - token] for token in tokens)
