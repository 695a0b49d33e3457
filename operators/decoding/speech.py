"""Decoding of windows of speech: the last hypothesis of an utterance is the draft of its next one.

A recogniser of growing windows decodes the whole utterance again at each update, as re-translation does. So
it uses the same decoding methods (SSBD; Zeng et al., section 3). Partials are biased towards the last
hypothesis; a final is that of greedy decoding (`certain`). Unfinished windows end with the first new doubtful
token, because more would be a guess based on a guess (`until_doubtful`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import regex

from operators.decoding.acceptance import BIAS, BiasedAcceptance
from operators.decoding.adjustment import RowRule, adjusted
from operators.decoding.blockwise import decode
from operators.decoding.conditioning import Conditioning
from operators.decoding.drafts import Draft, Drafting, Verified, at_once
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import DecodingResult, Forward, Logits, Method, Origin, Session, Task
from operators.decoding.pass_cost import BlockLength, PassCosts
from operators.decoding.pieces import Piece, decode_pieces
from operators.decoding.recycling import recycling
from operators.decoding.session import KvCache, PrefixSession
from operators.decoding.ssbd import retranslate, ssbd
from operators.languages import UNSPACED
from operators.model_errors import ErrorKind

#: Maximum number of windows in a row that may end early.
_MAX_STOPPED = 2
_WORD = regex.compile(r"\w")


class SpeechMethod(msgspec.Struct, frozen=True, kw_only=True):
    #: Whether the last hypothesis is the draft; without it, each window is decoded from scratch.
    use_draft: bool = True
    #: Beta of partials: the bias towards the last hypothesis.
    bias: float = BIAS
    #: A partial may end with its first new word below this probability, which is not shown: the next update
    #: has more sound. 0 decodes every window to its end.
    stop_below: float = 0.0


class WindowResult(NamedTuple):
    tokens: tuple[int, ...]
    #: The model's own probability of the token at a place.
    probability: Callable[[int], float]
    cost: Cost
    #: Whether the whole window was decoded, not only up to a doubtful word.
    is_whole: bool
    #: Whether it was cut at its limit.
    is_cut: bool = False
    #: Whether it may be shown; False if the model is lost.
    is_credible: bool = True
    #: Whether its words are probably invented: the sound is not speech, or in another language.
    is_doubtful: bool = False

    @property
    def mean_log_probability(self) -> float:
        return mean_log_probability([self.probability(place) for place in range(len(self.tokens))])


def mean_log_probability(probabilities: Sequence[float]) -> float:
    """The mean of the logarithms; 0 without probabilities."""
    return float(np.mean(np.log(np.maximum(probabilities, 1e-30)))) if probabilities else 0.0


class Doubt(NamedTuple):
    """Where an output may end early."""

    #: A token with a lower probability ends the output.
    least: float
    #: Place of the first token that may be the last one; earlier ones never end the output.
    begin: int
    #: Whether a token can be doubtful; punctuation cannot, because it is no evidence about the audio.
    counts: Callable[[int], bool]


def doubt_of(method: SpeechMethod, draft: Sequence[int], stopped: int, piece: Piece) -> Doubt | None:
    """Where a window may end early: after the last hypothesis ``draft``; None if it may not.

    Args:
        stopped: How many windows in a row before it ended early. Speech that stays doubtful is shown then.
        piece: The bytes of a token.
    """
    if not method.stop_below or stopped >= _MAX_STOPPED:
        return None

    def is_word(token: int) -> bool:
        return _WORD.search(piece(token).decode("utf-8", "replace")) is not None

    heard = len(draft)
    while heard and not is_word(draft[heard - 1]):
        heard -= 1
    # The first token never ends an utterance, however doubtful: otherwise nothing would be shown.
    return Doubt(method.stop_below, max(heard, 1), is_word)


def hear(
    method: SpeechMethod,
    task: Task,
    cache: KvCache,
    *,
    margin: float,
    costs: PassCosts,
    doubt: Doubt | None = None,
    adjust: RowRule | None = None,
) -> WindowResult:
    """Decode one window. Raises `ModelError` if the model fails.

    Args:
        cache: Holds the window's encoder states.
        margin: Smallest gap between two logits that passes over many tokens can distinguish; see `certain`.
        costs: The cost of the model's passes, which limits drafts after a divergence.
        doubt: Where it may end early.
        adjust: Changes the logits, and thus also the probabilities that `doubt` compares.
    """
    session = ProbabilitySession(PrefixSession(cache))
    if not method.use_draft:
        decoding = retranslate(task)
    elif task.is_final:
        decoding = certain(task, margin)
    else:
        others = recycling(task, BlockLength(costs)), ClosingToken(task)
        decoding = ssbd(task, BiasedAcceptance(method.bias), None, *others)
    if adjust is not None:
        decoding = adjusted(decoding, task, adjust)
    if doubt is not None and method.use_draft and not task.is_final:
        decoding = until_doubtful(decoding, task, doubt, session.of)
    decoded, cost = drive(decoding, session)
    return WindowResult(
        decoded.tokens,
        lambda place: session.of(len(task.prompt) + place, decoded.tokens[place]),
        cost,
        decoded.is_whole,
        decoded.cut is ErrorKind.LONG_ANSWER,
    )


class ProbabilitySession:
    """A `Session` that wraps another one and keeps its answers, for one task."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.reused = self.kept = 0
        # The row that predicts each place; a later pass replaces it.
        self._rows: dict[int, Logits] = {}

    def forward(self, request: Forward) -> Logits:
        """Answer ``request``, and keep the rows, with all later changes: the next pass may overwrite them."""
        rows = self._session.forward(request).copy()
        self.reused, self.kept = self._session.reused, self._session.kept
        self._rows.update(enumerate(rows, start=request.logits_from + 1))
        return rows

    def of(self, place: int, token: int) -> float:
        """The probability of ``token`` at a place of the prompt and output; a softmax takes 0.1 ms."""
        row = self._rows[place]
        top = row.max()
        return float(np.exp(row[token] - top) / np.exp(row - top).sum())


def until_doubtful(
    method: Method, task: Task, doubt: Doubt, probability: Callable[[int, int], float]
) -> Method:
    """Run ``method``, made for ``task``, to its end, or up to and including its first doubtful token.

    Args:
        probability: Gives the probability of a token at an evaluated place of prompt and output.
    """
    begin = len(task.prompt)
    try:
        request = next(method)
        while True:
            rows = yield request
            request = method.send(rows)
            # Requests after the first pass begin after the model's own last token.
            if isinstance(request, Forward):
                output = request.tokens[begin : request.logits_from + 1]
                place = len(output) - 1
                may_end = place >= doubt.begin and doubt.counts(output[place])
                if may_end and probability(begin + place, output[place]) < doubt.least:
                    method.close()
                    return DecodingResult(tuple(output), is_whole=False)
    except StopIteration as end:
        decoded: DecodingResult = end.value
        return decoded


class ClosingToken:
    """Drafts the last token of the last output, a full stop, unless the model has just output it.

    A recogniser ends each window with it, and does so again a few words later. The row after it already
    predicts the end of the output, which saves the pass in which the model would output the full stop.
    """

    def __init__(self, task: Task) -> None:
        self._last = tuple(task.draft[-1:])

    def learn(self, verified: Verified) -> None:
        """Does nothing."""

    def draft(self, output: Sequence[int]) -> Drafting:
        is_said = not output or tuple(output[-1:]) == self._last
        return at_once(None if is_said else Draft(self._last, Origin.RECYCLED))


def certain(task: Task, margin: float) -> Method:
    """Verify ``task.draft`` against greedy decoding and continue from the first divergence.

    A pass over many tokens gives slightly different logits than passes over one token each: if activations
    are quantised together with the rest of the batch, even the draft's rejected end changes the rows before
    it. So if the logits of the best token and the next one were closer than ``margin`` at any decision, the
    output is decoded from scratch. The prompt is evaluated separately from the draft.
    """
    drafter = _SeparateDraft(task)
    decoded = yield from decode(task, drafter)
    if drafter.least < margin:
        decoded = yield from retranslate(task)
    return decoded._replace(drafted=len(task.draft[: task.limit]))


class _SeparateDraft:
    """Drafts the last output after its first token, once, and records how close later decisions were."""

    def __init__(self, task: Task) -> None:
        self._draft = tuple(task.draft[: task.limit])
        self._is_used = False
        self.least = np.inf

    def learn(self, verified: Verified) -> None:
        if self._is_used:
            top = np.partition(verified.rows[: verified.accepted_length + 1], -2, axis=1)[:, -2:]
            self.least = min([self.least, *(top[:, 1] - top[:, 0])])

    def draft(self, output: Sequence[int]) -> Drafting:
        if self._is_used or tuple(output) != self._draft[:1] or len(self._draft) < 2:
            return at_once(None)
        self._is_used = True
        return at_once(Draft(self._draft[1:], Origin.DRAFT))


_UNCLOSED = Conditioning(strip_punctuation=True)
# Scripts without spaces between words: there each token counts as a word.
_UNSPACED = regex.compile(f"[{UNSPACED}]")


def steady_text(
    pieces: Sequence[bytes], probability: Callable[[int], float], least: float, shown: str = ""
) -> str:
    """The text of a window's tokens without words at its end that are less probable than ``least``.

    Args:
        pieces: The bytes of each token.
        probability: The model's probability of the token at a place; called only for those at the end.
        least: From 0, which removes only the closing punctuation.
        shown: The shown text of the window before; parts that are unchanged are not erased.
    """
    texts = decode_pieces(list(pieces))
    end = len(texts)
    while end and least:
        # Punctuation belongs to the word before it, and does not make it doubtful.
        begin = end - 1
        while begin > 0 and not (texts[begin].startswith(" ") or _UNSPACED.match(texts[begin])):
            begin -= 1
        if min((probability(n) for n in range(begin, end) if _WORD.search(texts[n])), default=0.0) >= least:
            break
        end = begin
    whole = "".join(texts).strip()
    steady = _UNCLOSED.prepare("".join(texts[:end]).strip(), is_final=False)
    is_still_said = whole.startswith(shown) and not _WORD.match(whole[len(shown) : len(shown) + 1])
    return shown if len(shown) > len(steady) and is_still_said else steady
