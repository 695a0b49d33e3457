"""What is said in a window, by Whisper's decoder.

Where nobody speaks, or the model is at a loss, Whisper writes what it has seen in many subtitles, or says the
same over and over again. Its own signs of that are looked at here (Radford et al. 2022, section 4.5).
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from operators.decoding.certainty import Certainty
from operators.decoding.doubtful import Doubt
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Task
from operators.decoding.pass_cost import PassCosts
from operators.decoding.session import PrefixSession
from operators.recognizers.whisper.encoded import Encoded
from operators.recognizers.windowed.method import SpeechMethod, decode_speech

#: A pass of tiny.en by its tokens, in milliseconds.
_COSTS = PassCosts((1, 8, 26), (2.3, 4.8, 9.6))
#: Gap of logits below which a final's decisions are not taken from a pass over many tokens: more than passes
#: of different sizes differ by where activations are rounded to 8 bits (docs/whisper_noise.py).
MARGIN = 0.3
#: Tokens that any transcript may have, that each second of speech may add, and that Whisper's own decoding
#: stops at. Text in a script that Whisper spells byte by byte takes some ten tokens a second.
_MIN_TOKENS, _TOKENS_PER_S, _MAX_TOKENS = 16, 20.0, 224
#: Probability above which nobody speaks, if the mean log probability of the transcript's tokens is below the
#: second as well.
_NO_SPEECH, _DOUBTFUL = 0.6, -1.0
#: How many times smaller than itself a transcript gets when it is compressed, if it repeats itself.
_COMPRESSION = 2.4


class Heard(NamedTuple):
    """What a window was decoded to."""

    tokens: tuple[int, ...]
    text: str
    #: The model's own probability of the token at a place.
    probability: Callable[[int], float]
    cost: Cost
    #: Whether the whole window was decoded, and not only up to a doubtful word.
    is_whole: bool
    #: Whether the transcript may be shown: somebody speaks, and it does not go round in circles.
    is_credible: bool = True


def decode(
    method: SpeechMethod,
    encoded: Encoded,
    draft: tuple[int, ...],
    *,
    is_final: bool,
    doubt: Doubt | None = None,
) -> Heard:
    """Decode one window, whose encoder states ``encoded`` has.

    With ``doubt`` that of unfinished speech may end early. A transcript that is not credible is decoded again
    from scratch, in case it was the draft's fault. Raises `ModelTrouble` where the model fails.
    """
    task = speech_task(encoded, draft if method.use_draft else (), is_final=is_final)
    heard = _decode(method, encoded, task, doubt)
    if heard.is_credible or not task.draft:
        return heard
    again = _decode(method, encoded, task._replace(draft=()), None)
    return again._replace(cost=_both(heard.cost, again.cost))


def speech_task(encoded: Encoded, draft: tuple[int, ...], *, is_final: bool) -> Task:
    """The task that a window is."""
    return Task(
        prompt=encoded.prompt,
        draft=draft,
        stop={encoded.vocabulary.end},
        limit=_limit(encoded.speech_s),
        is_final=is_final,
    )


def _limit(speech_s: float) -> int:
    """Tokens that the transcript of a window may have."""
    return min(_MAX_TOKENS, _MIN_TOKENS + round(_TOKENS_PER_S * speech_s))


def _decode(method: SpeechMethod, encoded: Encoded, task: Task, doubt: Doubt | None) -> Heard:
    encoded.cut(0)
    session = Certainty(PrefixSession(encoded))
    decoded, cost = drive(
        decode_speech(method, task, session, margin=MARGIN, costs=_COSTS, doubt=doubt), session
    )

    def probability(place: int) -> float:
        return session.of(len(task.prompt) + place, decoded.tokens[place])

    text = encoded.vocabulary.text(decoded.tokens)
    is_speech = encoded.no_speech <= _NO_SPEECH or (
        mean_log_probability([probability(place) for place in range(len(decoded.tokens))]) >= _DOUBTFUL
    )
    is_credible = is_speech and compression(text) <= _COMPRESSION
    return Heard(decoded.tokens, text, probability, cost, decoded.is_whole, is_credible)


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
