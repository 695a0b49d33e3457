"""Jobs on toy models that read topics and write topics and files."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.broker import Broker, Message
from tests.killing import TIMES, free_addresses, start, start_process
from tests.waiting import until

#: More settings, with which a recogniser's segments are not joined: sentences also end by the clock, and so
#: not always where they end in a file.
EACH_PAUSE_ENDS = '[sentences]\nmethod = "off"\n'
TYPES = ("partials", "sentences", "translations", "captions")


class Job:
    """A job in a folder of its own, with topics of its own."""

    def __init__(
        self,
        folder: Path,
        broker: Broker,
        *,
        partitions: int = 2,
        recovery: bool = True,
        more: str = EACH_PAUSE_ENDS,
        to: str = "German",
    ) -> None:
        folder.mkdir()
        self.to = to
        self.folder, self.broker = folder, broker
        self.source, self.letters = broker.name("in"), broker.name("letters")
        self.topics = {name: broker.name(name) for name in TYPES}
        self.make_topics(partitions)
        self.path = folder / "job.toml"
        self.more = more
        self.recovery = recovery
        self.write()

    def make_topics(self, partitions: int) -> None:
        """Make its topics; the one that it reads has so many partitions."""
        self.broker.make(self.source, partitions)
        self.broker.make(self.letters, 1)
        for topic in self.topics.values():
            self.broker.make(topic, 2)

    def write(self, workers: int = 1, rooms: int | None = None, **given: Any) -> None:
        """Write the settings; ``given`` are those of the input."""
        given = {
            "brokers": [self.broker.address], "topic": self.source, "dead_letters": self.letters, **given,
        }  # fmt: skip
        files = "".join(f'{name} = "{self.folder}/{name}.jsonl"\n' for name in (*TYPES, "log"))
        topics = "".join(f'{name} = "{topic}"\n' for name, topic in self.topics.items())
        recovery = (
            f'[recovery]\nfolder = "{self.folder}/recovery"\ninterval_s = 0.1\n' if self.recovery else ""
        )
        together = "" if rooms is None else f"rooms = {rooms}\n"
        self.path.write_text(
            f"[input.kafka]\n{_toml(given)}[translate]\nkeep_up = false\n{together}"
            f'to = "{self.to}"\n[output]\nterminal = false\n{files}srt = "{self.folder}/talk.srt"\n'
            f"[output.kafka]\n{topics}"
            f"[run]\nworkers = {workers}\n{recovery}{self.more}"
        )

    def start(self) -> "subprocess.Popen[str]":
        return start(self.path)

    def start_cluster(
        self, count: int, workers: int = 1, rooms: int | None = None
    ) -> "list[subprocess.Popen[str]]":
        """A process for each of the addresses, with settings of its own."""
        where = free_addresses(count)
        self.write(workers, rooms)
        return [start_process(self.path, where, number) for number in range(count)]

    def send(self, partials: list[dict[str, Any]]) -> None:
        self.broker.send(
            self.source, [(one["stream"].encode(), json.dumps(one).encode()) for one in partials]
        )

    def run_until(self, is_done: Callable[[], bool], process: "subprocess.Popen[str] | None" = None) -> str:
        """Run until something is so, and end the job by SIGTERM; what it said."""
        process = process or self.start()
        try:
            wait_for(is_done, process)
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate(timeout=180)
        finally:
            process.kill()
        assert process.returncode == 0, stderr
        return stderr

    def has_logged(self, count: int) -> Callable[[], bool]:
        """Whether so many updates are in the log."""
        log = self.folder / "log.jsonl"
        return lambda: log.exists() and log.read_bytes().count(b"\n") >= count

    def published(self, name: str) -> list[dict[str, Any]]:
        """The events of a topic, without what depends on time."""
        return [timeless(message.value) for message in self.messages(name)]

    def messages(self, name: str) -> list[Message]:
        return self.broker.messages(self.topics[name])


def timeless(event: bytes) -> dict[str, Any]:
    return {name: value for name, value in json.loads(event).items() if name not in TIMES}


def wait_for(is_done: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Until something is so, while the job runs."""
    until(lambda: is_done() or process.poll() is not None, 180)
    assert is_done(), f"the job has ended: {process.communicate()[1]}"


def _toml(values: dict[str, Any]) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
