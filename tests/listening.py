"""A process that listens to a microphone, and its other end in a test.

Run as a program it is the process: a real flow from `MicrophoneSource` into a WAV file, which says in JSON
lines on stdout what it hears, and obeys the lines ``hold``, ``go`` and ``stop`` on stdin.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import bytewax.operators as op
import msgspec
from bytewax.dataflow import Dataflow

from connectors.microphone.source import MicrophoneSource
from connectors.sinks.wav import WavSink
from flows.running.dataflow import run
from operators.errors import SurtitleError
from operators.events import AudioChunk
from operators.notifications import SoundLost, SourceChanged, SourceOpened
from operators.sound import peak_dbfs

_ROOT = Path(__file__).parent.parent


class Listening:
    """The process; in a ``with`` block, which ends it.

    Args:
        environment: As `VirtualMicrophone` has it.
        wav: Where it records to.
        options: For `MicrophoneSource`.
    """

    def __init__(self, environment: dict[str, str], wav: Path, **options: Any) -> None:
        arguments = [sys.executable, "-m", "tests.listening", str(wav), json.dumps(options)]
        self._process = subprocess.Popen(
            arguments, env=environment, cwd=_ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._news = threading.Condition()
        self._is_over = False
        #: All that it said so far.
        self.events: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(timeout=60)
        self._reader.join(60)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def say(self, word: str) -> None:
        """Tell the process to ``hold``, ``go`` or ``stop``."""
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def wait_for(self, what: Callable[[dict[str, Any]], bool], timeout_s: float = 60.0) -> dict[str, Any]:
        """The first event that matches, among those received and those to come."""
        with self._news:
            self._news.wait_for(lambda: self._is_over or any(map(what, self.events)), timeout_s)
            found = next(filter(what, self.events), None)
        assert found is not None, f"it never came: {self.events[-5:]}"
        return found

    def told(self, sentence: str) -> dict[str, Any]:
        return self.wait_for(lambda event: event.get("tell") == sentence)

    def heard(self, until_s: float) -> dict[str, Any]:
        """Wait for the chunk that reaches beyond a time on the stream's clock."""
        return self.wait_for(lambda event: "start_s" in event and event["end_s"] > until_s)

    def loud(self, after_s: float = 0.0) -> dict[str, Any]:
        """Wait for the first chunk after a time in which there is more than silence."""
        return self.wait_for(lambda event: event.get("start_s", -1) >= after_s and event["peak_dbfs"] > -40)

    def stop(self) -> list[dict[str, Any]]:
        """Let it end, and give all the chunks that it heard."""
        self.say("stop")
        assert self._process.wait(timeout=60) == 0
        with self._news:
            self._news.wait_for(lambda: self._is_over, 10)
        return [event for event in self.events if "start_s" in event]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self.events.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._is_over = True
            self._news.notify_all()


def _listen(wav: Path, options: dict[str, Any]) -> None:
    stop, go = threading.Event(), threading.Event()
    go.set()

    def say(**event: Any) -> None:
        print(json.dumps(event), flush=True)

    def obey() -> None:
        words: dict[str, Callable[[], None]] = {"stop": stop.set, "go": go.set, "hold": go.clear}
        for line in sys.stdin:
            words[line.strip()]()
        stop.set()
        go.set()

    def hear(chunk: AudioChunk) -> tuple[str, AudioChunk]:
        go.wait()
        say(
            start_s=chunk.start_s,
            end_s=chunk.start_s + chunk.duration_s,
            now_s=source.now(),
            is_last=chunk.is_last,
            peak_dbfs=max(-999.0, peak_dbfs(chunk.pcm)),
        )
        return chunk.key, chunk

    def observe(event: SourceOpened | SourceChanged | SoundLost) -> None:
        if isinstance(event, SoundLost):
            say(lost=msgspec.to_builtins(event))
        elif isinstance(event, SourceChanged):
            say(tell=event.sentence)

    source = MicrophoneSource(stream="stage", stop=stop, observe=observe, **options)
    flow = Dataflow("listening")
    op.output("wav", op.map("hear", op.input("microphone", flow, source), hear), WavSink(wav))
    threading.Thread(target=obey, daemon=True).start()
    run(flow, stop)


if __name__ == "__main__":
    try:
        _listen(Path(sys.argv[1]), json.loads(sys.argv[2]))
    except SurtitleError as problem:
        print(json.dumps({"error": type(problem).__name__, "sentence": str(problem)}), flush=True)
