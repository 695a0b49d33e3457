"""A captions flow on the toy model, to be killed: ``python -m tests.recovering settings.toml``.

Everything is the program's own but the language model, so that a run takes a second and a test may kill
hundreds of them.
"""

import sys
import time
from pathlib import Path
from typing import Any

from typing_extensions import override

from flows.captions import build
from flows.engine import method, translator_settings
from flows.outputs import begin_outputs
from flows.recovery import recovery
from flows.run import run
from flows.runtime import Runtime
from flows.settings import load_settings
from operators.decoding.translator import Translator
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from tests.toy import ToyStore, ToyVocabulary


class ToyRuntime(Runtime):
    """A runtime whose translator is a toy, and takes its time."""

    #: Seconds that an update takes at least.
    step_s = 0.005
    _toy: Translator | None = None

    @override
    def translator(self) -> Translator:
        if self._toy is None:
            settings, vocabulary = self._settings.translate, ToyVocabulary()
            prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))
            pool = SessionPool(ToyStore(1 + settings.sessions), prompt.head, settings.sessions)
            self._toy = _Slow(prompt, pool, method(settings), translator_settings(settings))
        return self._toy


class _Slow(Translator):
    @override
    def update(self, *arguments: Any, **options: Any) -> Any:
        time.sleep(ToyRuntime.step_s)
        return super().update(*arguments, **options)


def main(path: Path) -> None:
    """Run the flow that the settings describe."""
    settings = load_settings(path)
    runtime = ToyRuntime(settings)
    with recovery(settings) as how, runtime.screen:
        if how is None or not how.is_resumed:
            begin_outputs(settings.output)
        run(build(settings, runtime), runtime.stop, runtime.release, how, settings.run.workers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
