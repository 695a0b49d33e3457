"""How windows of speech are decoded: the last hypothesis is the draft of the next.

A recogniser of growing windows decodes the whole utterance again at each update, just as re-translation does.
So it uses the same generators of forward passes (SSBD; Zeng et al., section 3). Partials are biased towards
the last hypothesis; the final is that of greedy decoding.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import regex

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import BlockLength, PassCosts
from operators.decoding.pieces import Piece
from operators.decoding.recycling import recycling
from operators.decoding.session import KvCache, PrefixSession
from operators.decoding.speech import Certainty, Closing, Doubt, certain, until_doubtful
from operators.decoding.ssbd import ssbd
from operators.recognizers.part import USUAL, RecognizerSettings
from operators.trouble import Trouble

#: Windows in a row that may end early.
_MAX_STOPPED = 2
_WORD = regex.compile(r"\w")


class SpeechMethod(msgspec.Struct, frozen=True, kw_only=True):
    """A way to decode windows."""

    #: Whether the last hypothesis is the draft; without it, each window is decoded from scratch.
    use_draft: bool = True
    #: Beta of partials: the bias towards the last hypothesis.
    bias: float = USUAL.bias
    #: A partial may end with its first less probable new word, which would not be shown: the next update
    #: knows more. 0 decodes every window to its end.
    stop_below: float = 0.0


def method_of(settings: RecognizerSettings) -> SpeechMethod:
    """The way that the settings describe: partials end early with words that are not shown."""
    return SpeechMethod(bias=settings.bias, stop_below=settings.certainty)


class WindowResult(NamedTuple):
    """The result of decoding a window."""

    tokens: tuple[int, ...]
    #: The model's own probability of the token at a place.
    probability: Callable[[int], float]
    cost: Cost
    #: Whether the whole window was decoded, not only up to a doubtful word.
    is_whole: bool
    #: Whether it was cut at its limit.
    is_cut: bool = False
    #: Whether it may be shown; otherwise the model is lost.
    is_credible: bool = True


def hear(
    method: SpeechMethod,
    task: Task,
    cache: KvCache,
    *,
    margin: float,
    costs: PassCosts,
    doubt: Doubt | None = None,
) -> WindowResult:
    """Decode one window.

    Args:
        cache: Holds the window's encoder states.
        margin: Smallest gap between two logits that passes over many tokens can distinguish; see `certain`.
        costs: The cost of the model's passes, against which drafts after a divergence are weighed.

    Raises:
        ModelTrouble: if the model fails.
    """
    session = Certainty(PrefixSession(cache))
    decoded, cost = drive(_decoding(method, task, session, margin, costs, doubt), session)
    return WindowResult(
        decoded.tokens,
        lambda place: session.of(len(task.prompt) + place, decoded.tokens[place]),
        cost,
        decoded.is_whole,
        decoded.cut is Trouble.LONG_ANSWER,
    )


def _decoding(
    method: SpeechMethod,
    task: Task,
    certainty: Certainty,
    margin: float,
    costs: PassCosts,
    doubt: Doubt | None,
) -> Method:
    if not method.use_draft:
        return retranslate(task)
    if task.is_final:
        return certain(task, margin)
    others = recycling(task, BlockLength(costs)), Closing(task)
    decoding = ssbd(task, BiasedAcceptance(method.bias), None, *others)
    return decoding if doubt is None else until_doubtful(decoding, task, doubt, certainty.of)


def doubt_of(method: SpeechMethod, draft: Sequence[int], stopped: int, piece: Piece) -> Doubt | None:
    """Where a window may end early: after the last hypothesis ``draft``; None if it may not.

    Args:
        stopped: How many windows before it did. Speech that stays doubtful is not hidden any longer.
        piece: The bytes of a token.
    """
    if not method.stop_below or stopped >= _MAX_STOPPED:
        return None

    def is_word(token: int) -> bool:
        return _WORD.search(piece(token).decode("utf-8", "replace")) is not None

    heard = len(draft)
    while heard and not is_word(draft[heard - 1]):
        heard -= 1
    # An utterance continues after its first token, however doubtful: otherwise nothing would be shown.
    return Doubt(method.stop_below, max(heard, 1), is_word)
