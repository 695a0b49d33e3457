"""Whisper as a recogniser: its model in ONNX Runtime, its last hypothesis as the draft of the next.

If nobody speaks, or the model is lost, Whisper writes common subtitle phrases or repeats itself. Its own
signs of that are checked here (Radford et al. 2022, section 4.5).
"""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from operators.decoding.drive import Cost
from operators.decoding.forward import Task
from operators.decoding.pass_cost import PassCosts
from operators.decoding.speech import Doubt, SpeechMethod, WindowResult, doubt_of, hear
from operators.languages import Language, language
from operators.recognizers.part import USUAL, Observe, RecognizerSettings, named_model, unobserved
from operators.recognizers.whisper.model import Encoded, WhisperModel, load_model
from operators.recognizers.windowed import Samples, SegmentRules, Window, WindowedRecognizer

#: Milliseconds of a pass of tiny.en by its number of tokens.
_COSTS = PassCosts((1, 8, 26), (2.3, 4.8, 9.6))
#: Gap of logits below which a final's decisions are not taken from a pass over many tokens: more than the
#: difference between passes of different sizes with 8-bit activations.
MARGIN = 0.3
#: Tokens allowed for any transcript, additional ones per second of speech, and the limit of Whisper's own
#: decoding. Text in a script that Whisper spells byte by byte takes some ten tokens a second.
_MIN_TOKENS, _TOKENS_PER_S, _MAX_TOKENS = 16, 20.0, 224
#: Nobody speaks if the model's probability of that is above the first, and the mean log probability of the
#: transcript's tokens is below the second.
_NO_SPEECH, _DOUBTFUL = 0.6, -1.0
#: A transcript with a higher compression ratio repeats itself.
_COMPRESSION = 2.4


def decode(
    method: SpeechMethod,
    encoded: Encoded,
    draft: tuple[int, ...],
    *,
    is_final: bool,
    doubt: Doubt | None = None,
) -> WindowResult:
    """Decode one window, whose encoder states are in ``encoded``.

    With ``doubt``, decoding of unfinished speech may end early. A transcript that is not credible is decoded
    again from scratch, in case the draft caused it. Raises `ModelError` if the model fails.
    """
    task = speech_task(encoded, draft if method.use_draft else (), is_final=is_final)
    heard = _decode(method, encoded, task, doubt)
    if heard.is_credible or not task.draft:
        return heard
    again = _decode(method, encoded, task._replace(draft=()), None)
    return again._replace(cost=_both(heard.cost, again.cost))


def speech_task(encoded: Encoded, draft: tuple[int, ...], *, is_final: bool) -> Task:
    """The decoding task for a window."""
    return Task(
        prompt=encoded.prompt,
        draft=draft,
        stop={encoded.vocabulary.end},
        limit=_limit(encoded.speech_s),
        is_final=is_final,
        piece=encoded.vocabulary.piece,
    )


def _limit(speech_s: float) -> int:
    """Maximum number of tokens in the transcript of a window."""
    return min(_MAX_TOKENS, _MIN_TOKENS + round(_TOKENS_PER_S * speech_s))


def _decode(method: SpeechMethod, encoded: Encoded, task: Task, doubt: Doubt | None) -> WindowResult:
    encoded.cut(0)
    heard = hear(method, task, encoded, margin=MARGIN, costs=_COSTS, doubt=doubt)
    text = encoded.vocabulary.text(heard.tokens)
    is_speech = encoded.no_speech <= _NO_SPEECH or (heard.mean_log_probability >= _DOUBTFUL)
    return heard._replace(is_credible=is_speech and compression(text) <= _COMPRESSION)


def compression(text: str) -> float:
    """The compression ratio of a text; short texts do not compress."""
    data = text.encode()
    return len(data) / len(zlib.compress(data))


def _both(one: Cost, other: Cost) -> Cost:
    return replace(
        one,
        passes=one.passes + other.passes,
        evaluated=one.evaluated + other.evaluated,
        model_s=one.model_s + other.model_s,
    )


#: The model was trained on 30 s; two of these are the silence after the speech. It recognises short
#: utterances worse: with the usual pause of a quarter second tiny.en had 7.5 % of the words wrong, with this
#: one 4.3 %.
RULES = SegmentRules(pause_s=0.448, long_s=15.0, longest_s=28.0)


class WhisperRecognizer(WindowedRecognizer):
    """Recognises one stream. Streams share the model.

    Args:
        prompt: The model's tokens before a transcript: the spoken language and the task.
    """

    rules, margin = RULES, MARGIN

    def __init__(
        self,
        model: WhisperModel,
        prompt: Sequence[int],
        settings: RecognizerSettings = USUAL,
        observe: Observe = unobserved,
    ) -> None:
        super().__init__(settings, observe)
        self._model = model
        self._prompt = prompt

    @override
    def encode(self, samples: Samples) -> Any:
        return self._model.encode(samples, self._prompt)

    @override
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        doubt = doubt_of(method, draft, stopped, self.piece)
        return decode(method, encoded, draft, is_final=window.is_final, doubt=doubt)

    @override
    def piece(self, token: int) -> bytes:
        return self._model.files.vocabulary.piece(token)

    @override
    def text(self, tokens: Sequence[int]) -> str:
        return self._model.files.vocabulary.text(tokens)


def whisper_recognizer(
    settings: RecognizerSettings, spoken: Language | None = None, observe: Observe = unobserved
) -> WhisperRecognizer:
    """A recogniser of one stream, of English by default; its model's folder is in CTranslate2's format.

    Raises:
        UsageError: if the model does not know the language, or the extra is not installed.
        InputError: if the folder is not such a model.
    """
    model = load_model(str(named_model(settings).absolute()), settings.usual_threads)
    prompt = model.files.vocabulary.prompt(spoken or language("English"))
    return WhisperRecognizer(model, prompt, settings, observe)
