"""A toy model that fails on demand, in every way that a model can."""

from collections.abc import Sequence

import numpy as np

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.decoder import OneAtATime
from operators.decoding.forward import Logits, Method, Task
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import Translator, TranslatorSettings
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.trouble import ModelTrouble, Trouble
from tests.toy import END, ToyStore, ToyVocabulary

#: The token that the toy's language is not written with.
FOREIGN = 7
#: The troubles whose answer is lost.
LOST = [trouble for trouble in Trouble if trouble.is_loss]


class TroubledStore(ToyStore):
    """Answers as a `ToyStore`, until ``trouble`` is set: then the next pass and those after it go wrong."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences, vocabulary=8)
        self.trouble: Trouble | None = None
        #: Passes that still go well.
        self.spare = 0
        #: Passes that went wrong.
        self.count = 0

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = super().evaluate(sequence, tokens, start, rows)
        logits[:, FOREIGN] = -np.inf
        if self.trouble is None:
            return logits
        if self.trouble.is_failure and self.spare > 0:
            self.spare -= 1
            return logits
        self.count += 1
        if self.trouble is Trouble.FAILED_PASS:
            # The cache holds what it should not, as after a pass that broke off.
            self.caches[sequence].tokens.append(1)
            raise ModelTrouble(self.trouble, "llama_decode returned -3 for 2 tokens")
        _spoil(logits, self.trouble, self.count)
        return logits


def _spoil(logits: Logits, trouble: Trouble, count: int) -> None:
    if trouble is Trouble.NOT_A_NUMBER:
        logits[-1, count % 8] = [np.nan, np.inf, np.nan][count % 3]
        return
    logits[:] = 0
    if trouble is Trouble.WRONG_SCRIPT:
        # Some words, and an end.
        logits[:, FOREIGN if count < 4 else END] = 9
    else:
        logits[:, {Trouble.EMPTY: END, Trouble.REPETITION: 2}[trouble]] = 9


class WithForeignWords(ToyVocabulary):
    """Its token 7 is a word of another script."""

    def piece(self, token: int) -> bytes:
        return " здесь".encode() if token == FOREIGN else super().piece(token)


def troubled_translator(store: ToyStore, bias: float = 0.2, *, size: int = 3) -> Translator:
    """A translator into a language of Latin letters; ``size`` is one less than the sequences of the store."""
    vocabulary = WithForeignWords()
    prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))

    def method(task: Task) -> Method:
        return ssbd(task, BiasedAcceptance(bias))

    settings = TranslatorSettings(max_source=100, max_output=40, scripts=("Latin",))
    return Translator(prompt, OneAtATime(SessionPool(store, prompt.head, size)), method, settings)
