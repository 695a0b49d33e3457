"""A toy model that answers every text with itself: what was heard reaches all places that show captions."""

from collections.abc import Sequence

import numpy as np

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.decoder import OneAtATime
from operators.decoding.forward import Logits
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import Translator, TranslatorSettings
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt

_END, _HEAD, _TAIL = 256, 257, 258


class Bytes:
    """A vocabulary of bytes."""

    begin: list[int] = []  # noqa: RUF012 - a property in the protocol

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002 - the protocol
        return list(text.encode())

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""

    def is_end(self, token: int) -> bool:
        return token == _END


class EchoStore:
    """A `SequenceStore` whose model says the source again, byte by byte."""

    def __init__(self, sequences: int) -> None:
        self.held: list[list[int]] = [[] for _ in range(sequences)]

    def copy_sequence(self, source: int, target: int) -> None:
        self.held[target] = list(self.held[source])

    def cut_sequence(self, sequence: int, length: int) -> None:
        del self.held[sequence][length:]

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        held = self.held[sequence]
        assert start == len(held), "a pass must go on where the cache ends"
        held += tokens
        logits = np.zeros((rows, _TAIL + 1), np.float32)
        if _TAIL in held:
            tail = held.index(_TAIL)
            answer = [*held[1:tail], _END]
            for row in range(rows):
                said = len(held) - rows + row - tail
                logits[row, answer[said] if 0 <= said < len(answer) else _END] = 9
        return logits


def echo_translator() -> Translator:
    """A translator on that model."""
    prompt = Prompt(Bytes(), (_HEAD,), "", (_TAIL,), EndOfTurn(Bytes()))
    settings = TranslatorSettings(max_source=192, max_output=408)
    pool = SessionPool(EchoStore(5), prompt.head, 4)
    return Translator(prompt, OneAtATime(pool), lambda task: ssbd(task, BiasedAcceptance(0.0)), settings)
