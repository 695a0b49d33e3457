"""What is said in a window, decoded with the hypothesis of the window before as the draft.

A recogniser of growing windows does what a re-translator does: it decodes the whole utterance anew at each
update. So the same generators of forward passes serve it (SSBD; Zeng et al., section 3). Partials lean
towards what was heard before; the final is greedy decoding's.

Where nobody speaks, or the model is at a loss, Whisper writes what it has seen in many subtitles, or says the
same over and over again. Its own signs of that are looked at here (Radford et al. 2022, section 4.5).
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.certain import certain
from operators.decoding.certainty import Certainty
from operators.decoding.closing import Closing
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Decoded, Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import BlockLength, PassCosts
from operators.decoding.recycling import recycling
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from operators.recognizers.whisper.encoded import Encoded

#: A pass of tiny.en by its tokens, in milliseconds: what proposals are weighed against.
_COSTS = PassCosts((1, 8, 26), (2.3, 4.8, 9.6))


class SpeechMethod(msgspec.Struct, frozen=True, kw_only=True):
    """How windows are decoded."""

    #: Whether the last hypothesis is the draft; without it, each window is decoded from scratch.
    use_draft: bool = True
    #: Beta of partials: how far the distribution leans towards the last hypothesis.
    bias: float = 0.2
    #: Least gap between two logits that a final's passes over many tokens are trusted to tell apart: more
    #: than passes of different sizes differ by where activations are rounded to 8 bits.
    margin: float = 0.3
    #: Tokens that any transcript may have, that each second of speech may add, and that Whisper's own
    #: decoding stops at. Text in a script that Whisper spells byte by byte takes some ten tokens a second.
    min_tokens: int = 16
    tokens_per_s: float = 20.0
    max_tokens: int = 224
    #: Probability above which nobody speaks, if the mean log probability of the transcript's tokens is below
    #: this as well.
    no_speech: float = 0.6
    doubtful: float = -1.0
    #: How many times smaller than itself a transcript gets when it is compressed, if it repeats itself.
    compression: float = 2.4


class Heard(NamedTuple):
    """What a window was decoded to."""

    tokens: tuple[int, ...]
    text: str
    #: The model's own probability of the token at a place.
    probability: Callable[[int], float]
    decoded: Decoded
    cost: Cost
    #: Whether the transcript may be shown: somebody speaks, and it does not go round in circles.
    is_credible: bool = True


def decode(method: SpeechMethod, encoded: Encoded, draft: tuple[int, ...], *, is_final: bool) -> Heard:
    """Decode one window, whose encoder states ``encoded`` has.

    A transcript that is not credible is decoded again from scratch, in case it was the draft's fault. Raises
    `ModelTrouble` where the model fails.
    """
    task = Task(
        prompt=encoded.prompt,
        draft=draft if method.use_draft else (),
        stop={encoded.vocabulary.end},
        limit=_limit(method, encoded.speech_s),
        is_final=is_final,
    )
    heard = _decode(method, encoded, task)
    if heard.is_credible or not task.draft:
        return heard
    again = _decode(method, encoded, task._replace(draft=()))
    return again._replace(cost=_both(heard.cost, again.cost))


def _limit(method: SpeechMethod, speech_s: float) -> int:
    """Tokens that the transcript of a window may have."""
    return min(method.max_tokens, method.min_tokens + round(method.tokens_per_s * speech_s))


def _decode(method: SpeechMethod, encoded: Encoded, task: Task) -> Heard:
    encoded.cut(0)
    session = Certainty(PrefixSession(encoded))
    decoded, cost = drive(_generator(method, task), session)

    def probability(place: int) -> float:
        return session.of(len(task.prompt) + place, decoded.tokens[place])

    text = encoded.vocabulary.text(decoded.tokens)
    is_speech = encoded.no_speech <= method.no_speech or (
        mean_log_probability([probability(place) for place in range(len(decoded.tokens))]) >= method.doubtful
    )
    is_credible = is_speech and compression(text) <= method.compression
    return Heard(decoded.tokens, text, probability, decoded, cost, is_credible)


def _generator(method: SpeechMethod, task: Task) -> Method:
    if not method.use_draft:
        return retranslate(task)
    if task.is_final:
        return certain(task, method.margin)
    rest = recycling(task, BlockLength(_COSTS)), Closing(task)
    return ssbd(task, BiasedAcceptance(method.bias), None, *rest)


def mean_log_probability(probabilities: list[float]) -> float:
    """Of the tokens of a transcript; 0 of none."""
    return float(np.mean(np.log(np.maximum(probabilities, 1e-30)))) if probabilities else 0.0


def compression(text: str) -> float:
    """How many times smaller a text gets when it is compressed; what is short does not."""
    data = text.encode()
    return len(data) / len(zlib.compress(data))


def _both(one: Cost, other: Cost) -> Cost:
    return one._replace(
        passes=one.passes + other.passes,
        evaluated=one.evaluated + other.evaluated,
        model_s=one.model_s + other.model_s,
    )
