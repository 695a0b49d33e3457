"""How probable continuations of a text are, by a model that is loaded anyway.

All continuations are one tree behind the text, and so one pass: the text's cells are shared, and so are those
of continuations that begin alike. The text stays in the cache, and one that has grown costs only its new
tokens.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np

from operators.decoding.forward import TreeForward
from operators.decoding.tree import ROOT, GrowingTree, TokenTree
from operators.errors import InputError
from operators.models.branches import BranchingSession
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from operators.prompts.prompt import Vocabulary
from operators.trouble import ModelTrouble, Trouble

#: Most continuations of one question, tokens of each, and tokens of the text, of which the last ones count.
MOST, LONGEST, CONTEXT = 7, 12, 144
_CELLS = 256
_KEY = "continuations"
#: The header's entry with the model's calibration (`operators.sentences.seam`): two numbers, in JSON.
CALIBRATION_KEY = "surtitle.seam.calibration"


class Continuations:
    """Answers from any thread, one question after the other."""

    def __init__(
        self, vocabulary: Vocabulary, pool: SessionPool, calibration: tuple[float, float] = (1.0, 0.0)
    ) -> None:
        """``pool`` must have trees with at least `MOST` branches."""
        self.calibration = calibration
        self._vocabulary = vocabulary
        self._pool = pool
        # While a text grows behind the words that are judged, the question stays the same.
        self._answered = lru_cache(64)(self._answer)

    def log_probabilities(self, context: str, continuations: Sequence[str]) -> list[float]:
        """log P of each continuation behind ``context``, in nats; its first `LONGEST` tokens count.

        Raises:
            ModelTrouble: the model failed, or there are more than `MOST` continuations.
        """
        return list(self._answered(context, tuple(continuations)))

    def _answer(self, context: str, continuations: tuple[str, ...]) -> list[float]:
        tokens = [*self._vocabulary.begin, *self._vocabulary.tokenize(context)[-CONTEXT:]]
        wanted = [self._vocabulary.tokenize(one)[:LONGEST] for one in continuations]
        tree, rows = _tree(wanted)
        with self._pool.session(_KEY) as session:
            assert isinstance(session, BranchingSession), "the pool has branches"
            logits = session.forward_tree(TreeForward(tokens, tree, len(tokens) - 1))
            if len(logits) != tree.size + 1:
                raise ModelTrouble(Trouble.FAILED_PASS, "the continuations were evaluated in part")
            best = logits.max(axis=1)
            totals = best + np.log(np.exp(logits - best[:, None]).sum(axis=1, dtype=np.float64))
            answers = [
                float(sum(logits[row, token] - totals[row] for row, token in zip(path, one, strict=True)))
                for path, one in zip(rows, wanted, strict=True)
            ]
        if not np.isfinite(answers).all():
            raise ModelTrouble(Trouble.NOT_A_NUMBER, "among the logits are some that are not finite")
        return answers


def open_continuations(model: LlamaModel, threads: int) -> Continuations | None:
    """Continuations on the weights of ``model``, in a small cache of their own that is never closed.

    None for a model with recurrent memory, which holds no tree.

    Raises:
        InputError: there is no memory for the cache, or the model's header has no valid calibration.
    """
    if model.is_recurrent:
        return None
    calibration = _calibration(model.metadata(CALIBRATION_KEY) or "[1, 0]")
    settings = ContextSettings(cells=_CELLS, sequences=MOST + 2, batch=_CELLS, ubatch=32, threads=threads)
    pool = SessionPool(LlamaContext(model, settings), model.begin, 1, branches=MOST)
    return Continuations(model, pool, calibration)


def _calibration(said: str) -> tuple[float, float]:
    try:
        return msgspec.json.decode(said, type=tuple[float, float])
    except msgspec.DecodeError as error:
        raise InputError(
            f"the model's header has no valid {CALIBRATION_KEY}: {error}; assemble it again"
        ) from None


def _tree(continuations: Sequence[Sequence[int]]) -> tuple[TokenTree, list[list[int]]]:
    """The tree of all continuations, and for each of their tokens the row of logits that predicts it.

    Row 0 is that of the text's last token. The last token of a continuation predicts nothing and needs no
    node.
    """
    tree = GrowingTree()
    rows: list[list[int]] = []
    for tokens in continuations:
        node, path = ROOT, [0]
        for token in tokens[:-1]:
            node = tree.add(node, token)
            path.append(node + 1)
        rows.append(path[: len(tokens)])
    return tree.tree, rows
