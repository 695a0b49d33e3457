"""A recogniser at work in a test: what it was told, what it heard."""

from collections.abc import Callable, Iterable
from threading import Condition
from typing import Any

from operators.events import AudioChunk
from operators.notifications import RecognizerChanged
from operators.recognizers.azure import AzureSettings
from operators.recognizers.azure.recognizer import AzureRecognizer
from operators.recognizers.protocol import Hypothesis
from operators.secret import Secret
from tests.operators.recognizers.azure.server import AzureServer

KEY = "0123456789abcdef0123456789abcdef"


class Listener:
    """Feeds a recogniser that talks to a server."""

    def __init__(self, server: AzureServer, **settings: Any) -> None:
        self.told: list[str] = []
        self._changed = Condition()
        given = {"host": server.url, "key": Secret(KEY), **settings}
        self.recognizer = AzureRecognizer(AzureSettings(**given), self._observe)
        self.heard: list[Hypothesis] = []

    def hear(self, given: Iterable[AudioChunk], pace_s: float = 0.004) -> None:
        """Accept chunks, one each ``pace_s``: ten times as fast as they were spoken."""
        for chunk in given:
            self.heard += self.recognizer.accept(chunk)
            self.pause(pace_s)

    def finish(self) -> list[Hypothesis]:
        """Finish and close: all hypotheses."""
        self.heard += self.recognizer.finish()
        self.recognizer.close()
        return self.heard

    def wait_until(self, is_so: Callable[[], bool], timeout_s: float = 8.0) -> None:
        """Wait until something was told that makes it so."""
        with self._changed:
            assert self._changed.wait_for(is_so, timeout_s), self.told

    def pause(self, seconds: float) -> None:
        """Let time pass, as between two chunks."""
        with self._changed:
            self._changed.wait_for(lambda: False, seconds)

    @property
    def finals(self) -> list[str]:
        """The texts of the finals."""
        return [hypothesis.text for hypothesis in self.heard if hypothesis.is_final]

    def _observe(self, event: RecognizerChanged) -> None:
        with self._changed:
            self.told.append(event.sentence)
            self._changed.notify_all()
