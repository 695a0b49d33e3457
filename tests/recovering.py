"""A captions flow on toy models, to be killed: ``python -m tests.recovering settings.toml``, or by Bytewax.

Everything is the program's own but the language model and the recogniser, so that a run takes a second and a
test may kill hundreds of them.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bytewax.dataflow import Dataflow
from typing_extensions import override

from connectors.messages import begin_messages
from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.captions.runner import job, run_parts
from flows.captions.shared import Shared
from flows.cli.exits import fail
from flows.engine.methods import method
from flows.engine.translation import translator_settings
from flows.settings.loading import load_settings
from operators.decoding.decoder import Decoder, OneAtATime
from operators.decoding.forward import Logits
from operators.decoding.translator import Translator
from operators.errors import SurtitleError
from operators.events import AudioChunk, parted
from operators.models.kv import Part
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.recognizers.protocol import Hypothesis, Recognizer
from operators.serving.rooms import Rooms, RoomsThread, RoutedRooms
from operators.serving.scheduler import Scheduler
from tests.toy import ToyStore, ToyVocabulary

_VOCABULARY = ToyVocabulary()
# Heads of prompts: French differs from all other languages in every word.
_HEADS = {"fr": (1, 4)}


def _prompt(target: str) -> Prompt:
    return Prompt(_VOCABULARY, _HEADS.get(target, (1, 2)), " ", (3,), EndOfTurn(_VOCABULARY))


class ToyShared(Shared):
    """Models that are toys, and take their time."""

    #: Seconds that an update takes at least; with rooms, that a pass takes.
    step_s = 0.005
    _toy: Translator | None = None
    _toy_rooms: RoomsThread | None = None

    @override
    def translator(self) -> Translator:
        with self._lock:
            if self._toy is None:
                sessions = self._settings.translate.sessions
                prompt = _prompt(self._settings.translate.direction.target.code)
                pool = SessionPool(ToyStore(1 + sessions), prompt.head, sessions)
                self._toy = self._of(_Slow, OneAtATime(pool), prompt)
            return self._toy

    @override
    def _judge(self) -> None:
        """Rules alone say where sentences end."""

    @override
    def rooms(self) -> RoomsThread:
        with self._lock:
            if self._toy_rooms is None:
                codes = [one.target.code for one in self._settings.translate.directions]
                made = {code: self._rooms_in(_prompt(code)) for code in codes}
                self._toy_rooms = RoomsThread(
                    RoutedRooms(list(made.values()), lambda room: made.get(parted(room)[1], made[codes[0]]))
                )
            return self._toy_rooms

    def _rooms_in(self, prompt: Prompt) -> Rooms:
        sessions, store = 4, _SlowStore(5)
        scheduler = Scheduler(SessionPool(store, prompt.head, sessions), fill=16)
        made = self._of(Translator, scheduler, prompt)
        return Rooms(scheduler, made, keep_up=self._settings.keeps_up)

    def _of(self, kind: type[Translator], decoder: Decoder, prompt: Prompt) -> Translator:
        settings = self._settings.translate
        return kind(prompt, decoder, method(settings), translator_settings(settings, prompt))

    @override
    def recognizer(self, _stream: str) -> Recognizer:
        return _ToyRecognizer()


class _Slow(Translator):
    @override
    def update(self, *arguments: Any, **options: Any) -> Any:
        time.sleep(ToyShared.step_s)
        return super().update(*arguments, **options)


class _SlowStore(ToyStore):
    @override
    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        time.sleep(ToyShared.step_s)
        return super().evaluate_parts(parts)


class _ToyRecognizer:
    """Hears a word in every half second and a segment in every two, by the time of the sound alone."""

    def __init__(self) -> None:
        self._began_s: float | None = None

    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        self._began_s = chunk.start_s if self._began_s is None else self._began_s
        heard, before = (int(2 * at_s + 1e-6) for at_s in (chunk.start_s + chunk.duration_s, chunk.start_s))
        if heard == before:
            return ()
        segment, words = (heard - 1) // 4, (heard - 1) % 4 + 1
        text = " ".join("abcdef"[(segment + word) % 6] for word in range(words))
        start_s, end_s = max(2.0 * segment, self._began_s), heard / 2
        return [Hypothesis(segment=segment, text=text, is_final=words == 4, start_s=start_s, end_s=end_s)]

    def finish(self) -> Sequence[Hypothesis]:
        return ()

    def close(self) -> None:
        """Nothing is held."""


def flow(path: str) -> Dataflow:
    """The job that the settings describe, for Bytewax' own runner."""
    return job(load_settings(Path(path), takes_several=True), ToyShared)


def main(path: Path) -> None:
    settings = load_settings(path, takes_several=True)
    parts = make_parts(settings, ToyShared, reading=[path])
    run_parts(parts, build(parts))


if __name__ == "__main__":
    begin_messages("text")
    try:
        main(Path(sys.argv[1]))
    except SurtitleError as error:
        fail(error)
