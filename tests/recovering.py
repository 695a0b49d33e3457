"""A captions flow on toy models, to be killed: ``python -m tests.recovering settings.toml``, or by Bytewax.

Everything is the program's own but the language model and the recogniser, so that a run takes a second and a
test may kill hundreds of them.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bytewax.dataflow import Dataflow
from typing_extensions import override

from connectors.messages import begin_messages
from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.captions.resources import RunResources
from flows.captions.runner import job, run_parts
from flows.cli.exits import fail
from flows.engine.methods import method
from flows.engine.translation import to_direction, translator_settings
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.decoding.drive import Decoder, SequentialDecoder
from operators.decoding.translator import Translator
from operators.errors import SurtitleError
from operators.events import AudioChunk
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.recognizers.protocol import Hypothesis, Recognizer
from operators.serving.scheduler import Scheduler
from tests.toy import ToyStore, ToyVocabulary

_VOCABULARY = ToyVocabulary()
# Heads of prompts: French differs from all other languages in every word.
_HEADS = {"fr": (1, 4)}


def _prompt(target: str) -> Prompt:
    return Prompt(_VOCABULARY, _HEADS.get(target, (1, 2)), " ", (3,), EndOfTurn(_VOCABULARY))


class ToyResources(RunResources):
    """Models that are toys, and take their time."""

    #: Seconds that an update takes at least.
    step_s = 0.005

    @override
    @contextmanager
    def _opened(self) -> Iterator[Any]:
        settings = self._settings.translate
        yield [_ToyEngine(to_direction(settings, one)) for one in self._directions]

    @override
    def _boundary_scorer(self) -> None:
        """Rules alone decide where sentences end."""

    @override
    def recognizer(self, _stream: str) -> Recognizer:
        return _ToyRecognizer()


class _ToyEngine:
    """A model for one direction."""

    def __init__(self, settings: TranslateSettings) -> None:
        self._settings = settings
        self._prompt = _prompt(settings.direction.target.code)
        self.prompts = {settings.direction.code: self._prompt}

    def sequential_decoder(self) -> Decoder:
        sessions = self._settings.sessions
        return SequentialDecoder(SessionPool(ToyStore(1 + sessions), self._prompt.head, sessions))

    def scheduler(self, *, is_hurried: bool) -> Scheduler:  # noqa: ARG002 - a pass costs the same
        store = ToyStore(5)
        return Scheduler(SessionPool(store, self._prompt.head, 4), fill=16)

    def translator(self, settings: TranslateSettings, decoder: Decoder) -> Translator:
        how = translator_settings(settings, self._prompt)
        return _Slow(self._prompt, decoder, method(settings), how)


class _Slow(Translator):
    @override
    def updating(self, *arguments: Any, **options: Any) -> Any:
        time.sleep(ToyResources.step_s)
        return (yield from super().updating(*arguments, **options))


class _ToyRecognizer:
    """Recognises a word every half second and a segment every two, whatever the sound is."""

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
    return job(load_settings(Path(path), takes_several=True), ToyResources)


def main(path: Path) -> None:
    settings = load_settings(path, takes_several=True)
    parts = make_parts(settings, ToyResources, reading=[path])
    run_parts(parts, build(parts))


if __name__ == "__main__":
    begin_messages("text")
    try:
        main(Path(sys.argv[1]))
    except SurtitleError as error:
        fail(error)
