"""Decodes a window of speech with Moonshine's decoder."""

from operators.decoding.forward import Task
from operators.decoding.pass_cost import PassCosts
from operators.decoding.pieces import Piece, textless
from operators.decoding.session import KvCache
from operators.decoding.speech import Doubt
from operators.events import SAMPLE_RATE
from operators.languages import Language
from operators.recognizers.moonshine.model import BEGIN, END
from operators.recognizers.windowed.method import Heard, SpeechMethod, hear

#: Milliseconds of a pass of the tiny model by its number of tokens (docs/scripts/moonshine_passes.py).
COSTS = PassCosts((1, 8, 32), (2.8, 4.0, 8.5))
#: Gap of logits below which a final's decision is not taken from a pass over many tokens. With it 184 of 185
#: finals measured there equal greedy decoding; the other one differs in its closing punctuation.
MARGIN = 0.2
#: Maximum tokens per second of English speech and of speech in other languages, and the minimum limit of a
#: window. They are those of the model's makers, who need the higher one for every script but the Latin one.
#: Here it is for Spanish and Vietnamese, too: a limit that is too high only costs time if the model finds no
#: end, and one that is too low loses words.
_ENGLISH_TOKENS_PER_S, _TOKENS_PER_S, _MIN_TOKENS = 6.5, 13.0, 8


def decode(
    method: SpeechMethod,
    cache: KvCache,
    draft: tuple[int, ...],
    samples: int,
    *,
    is_final: bool,
    doubt: Doubt | None = None,
    piece: Piece = textless,
    spoken: Language | None = None,
) -> Heard:
    """Decode one window of so many ``samples``; ``cache`` holds its encoder states.

    With ``doubt``, decoding of unfinished speech may end early. ``piece`` spells a token. English is spoken
    unless ``spoken`` says otherwise. Raises `ModelTrouble` if the model fails.
    """
    task = speech_task(draft if method.use_draft else (), samples, is_final=is_final, spoken=spoken)
    task = task._replace(piece=piece)
    return hear(method, task, cache, margin=MARGIN, costs=COSTS, doubt=doubt)


def speech_task(
    draft: tuple[int, ...], samples: int, *, is_final: bool, spoken: Language | None = None
) -> Task:
    """The decoding task for a window of so many samples; English is spoken by default."""
    tokens_per_s = _ENGLISH_TOKENS_PER_S if spoken is None or spoken.code == "en" else _TOKENS_PER_S
    limit = _MIN_TOKENS + round(tokens_per_s * samples / SAMPLE_RATE)
    return Task(prompt=[BEGIN], draft=draft, stop={END}, limit=limit, is_final=is_final)
