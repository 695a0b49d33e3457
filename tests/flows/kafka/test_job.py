"""A job reads a topic, translates, and writes topics and files."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.broker import IS_FOREIGN, Broker, Message, OwnBroker, a_broker, a_broker_behind_a_proxy
from tests.flows.talk import read
from tests.killing import TIMES, events, finish, free_addresses, kill, settings, speech, start, start_process
from tests.program import SURTITLE, Program
from tests.waiting import until

#: More with `make test-long`.
KILLS = int(os.environ.get("SURTITLE_JOB_KILLS", "2"))
SEGMENTS = 12
#: Seconds that an outage takes; more with `make test-long`.
OUTAGE_S = float(os.environ.get("SURTITLE_OUTAGE_S", "2"))

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
    until(lambda: is_done() or process.poll() is not None, 180)
    assert is_done(), f"the job has ended: {process.communicate()[1]}"


def _toml(values: dict[str, Any]) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with a_broker() as one:
        yield one


@pytest.fixture(scope="module")
def partials(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("speech") / "speech.jsonl"
    speech(path, SEGMENTS, streams=3)
    return read(path)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, partials: list[dict[str, Any]]) -> Path:
    """The folder of a run over the same partials in a file."""
    return _replayed(tmp_path_factory.mktemp("replayed"), partials, EACH_PAUSE_ENDS)


def _replayed(folder: Path, partials: list[dict[str, Any]], more: str) -> Path:
    (folder / "in").mkdir()
    (folder / "in" / "speech.jsonl").write_text("".join(json.dumps(one) + "\n" for one in partials))
    given = f'partials = "{folder}/in/speech.jsonl"\n{more}'
    finish(start(settings(folder, given, recovery=False)))
    return folder


def logged(folder: Path) -> int:
    return sum(len(written) for name, written in events(folder).items() if name.startswith("log"))


def test_a_topic_gives_what_a_file_gives_in_files_and_in_topics(
    tmp_path: Path, broker: Broker, partials: list[dict[str, Any]]
) -> None:
    # The pause is one that a busy machine does not make.
    more = "[sentences]\npause_s = 5.0\n"
    (tmp_path / "replayed").mkdir()
    replayed = _replayed(tmp_path / "replayed", partials, more)
    job = Job(tmp_path / "job", broker, more=more)
    job.send(partials)
    assert "Kafka" not in job.run_until(job.has_logged(logged(replayed)))
    assert events(job.folder) == events(replayed)
    for name in TYPES:
        messages = job.messages(name)
        assert all(json.loads(one.value)["stream"].encode() == one.key for one in messages)
        published: dict[str, list[dict[str, Any]]] = {}
        for event in job.published(name):
            published.setdefault(f"{name} of {event['stream']}", []).append(event)
        assert published == {key: value for key, value in events(replayed).items() if key.startswith(name)}
    assert broker.messages(job.letters) == []


def test_captions_in_several_languages_share_a_topic_and_name_their_language(
    tmp_path: Path, broker: Broker, partials: list[dict[str, Any]], replayed: Path
) -> None:
    job = Job(tmp_path / "job", broker, to="German,French")
    job.send(partials)
    logs = [job.folder / f"log.{code}.jsonl" for code in ("de", "fr")]

    def is_done() -> bool:
        return all(log.exists() and log.read_bytes().count(b"\n") >= logged(replayed) for log in logs)

    job.run_until(is_done)
    own, published = events(job.folder), job.published("captions")
    assert len(published) == 2 * logged(replayed)
    for stream in {one["stream"] for one in partials}:
        for code in ("de", "fr"):
            of_topic = [one for one in published if (one["stream"], one["language"]) == (stream, code)]
            assert of_topic == own[f"captions.{code} of {stream}"]
        german = [dict(one) for one in own[f"captions.de of {stream}"]]
        assert [one.pop("language") for one in german] == ["de"] * len(german)
        assert german == events(replayed)[f"captions of {stream}"]


def test_a_topic_of_a_meeting_has_each_sentence_in_each_language_and_what_was_spoken(
    tmp_path: Path, broker: Broker, partials: list[dict[str, Any]]
) -> None:
    job = Job(tmp_path / "job", broker, to='German,French"\nfrom = "German,French')
    spoken = [one | {"spoken": ("de", "fr")[one["segment"] % 2], "is_sentence": True} for one in partials]
    job.send(spoken)
    logs = [job.folder / f"log.{code}.jsonl" for code in ("de", "fr")]
    job.run_until(lambda: all(log.exists() and log.read_bytes().count(b"\n") >= len(spoken) for log in logs))
    published = job.published("captions")
    assert len(published) == 2 * len(spoken)
    for one in published:
        if one["spoken"] == one["language"]:
            assert one["shown"] + one["withheld"] == one["source"]
    assert {(one["spoken"], one["language"]) for one in published} == {
        ("de", "de"), ("de", "fr"), ("fr", "de"), ("fr", "fr"),
    }  # fmt: skip


def test_invalid_messages_go_to_a_topic_of_their_own_and_the_job_continues(
    tmp_path: Path, broker: Broker, partials: list[dict[str, Any]], replayed: Path
) -> None:
    job = Job(tmp_path / "job", broker)
    good = json.dumps(partials[0]).encode()
    bad: dict[str, tuple[bytes | None, bytes | None]] = {
        "JSON is malformed": (b"talk0", b"{no json"),
        "Object missing required field": (b"talk0", good.replace(b'"text"', b'"words"')),
        "'utf-8' codec can't decode": (b"talk0", good.replace(b'"text": "', b'"text": "\xff')),
        "the message has no key": (None, good),
        "the key of the message is 'elsewhere'": (b"elsewhere", good),
        "the message is empty": (b"talk0", None),
        "expected at most 8,388,608 bytes": (b"talk0", b"x" * 10_000_000),
    }
    broker.send(job.source, bad.values())
    job.send(partials)
    # What a producer sends again, because it did not get the answer, is known.
    job.send(partials[-20:])
    said = job.run_until(job.has_logged(len(partials)))
    assert events(job.folder) == events(replayed)
    letters = broker.messages(job.letters)
    assert len(letters) == len(bad)
    for reason, (key, value) in bad.items():
        (letter,) = [one for one in letters if one.headers["reason"].startswith(reason)]
        # What the broker could find too large is cut.
        assert (letter.key, letter.value) == (key, value and value[:65_536])
        assert letter.headers["topic"] == job.source
        assert letter.headers["partition"] in ("0", "1")
        assert letter.headers["offset"].isdecimal()
    (sentence,) = [line for line in said.splitlines() if "cannot be used" in line]
    assert f"goes to {job.letters}" in sentence


def test_without_a_topic_for_them_the_first_bad_message_ends_the_job_in_one_sentence(
    tmp_path: Path, broker: Broker
) -> None:
    job = Job(tmp_path / "job", broker)
    broker.send(job.source, [(b"talk", b"nonsense")])
    job.path.write_text(job.path.read_text().replace("dead_letters", "# dead_letters"))
    process = job.start()
    _, stderr = process.communicate(timeout=180)
    assert process.returncode == 3
    assert len(stderr.splitlines()) == 1
    assert "message 0 of " in stderr
    assert "name a topic for such messages in input.kafka.dead_letters" in stderr


def test_a_job_that_is_killed_again_and_again_loses_nothing_and_writes_its_files_once(
    tmp_path: Path, broker: Broker
) -> None:
    path, random = tmp_path / "speech.jsonl", Random(KILLS)
    speech(path, 20 + 12 * KILLS, streams=3)
    spoken = read(path)
    alone = tmp_path / "alone"
    alone.mkdir()
    finish(start(settings(alone, f'partials = "{path}"\n{EACH_PAUSE_ENDS}', recovery=False)))
    job = Job(tmp_path / "job", broker, partitions=3)
    # Some of it comes while the job runs, and the last of it when nobody kills it any more.
    share = len(spoken) // (KILLS + 1)
    for number in range(KILLS):
        job.send(spoken[number * share : (number + 1) * share])
        job.write(workers=random.randint(1, 2), rooms=random.choice([None, 3]))
        assert kill(job.start(), job.folder / "log.jsonl", random), "it was over too early"
    job.send(spoken[KILLS * share :])
    job.run_until(job.has_logged(len(spoken)))
    assert events(job.folder) == events(alone)
    # At least once in the topics: the same updates, some of them twice, and no others.
    for name in TYPES:
        kept = {
            json.dumps(one) for key, many in events(alone).items() if key.startswith(name) for one in many
        }
        assert {json.dumps(one) for one in job.published(name)} == kept


@pytest.mark.skipif(IS_FOREIGN, reason="the broker is not the test's own to kill")
def test_a_topic_that_is_made_again_ends_the_job_and_the_next_one_reads_it_with_more_partitions(
    tmp_path: Path, partials: list[dict[str, Any]], replayed: Path
) -> None:
    with a_broker() as broker:
        assert isinstance(broker, OwnBroker)
        job = Job(tmp_path / "job", broker, partitions=1)
        half = len(partials) // 2
        job.send(partials[:half])
        process = job.start()
        wait_for(job.has_logged(half), process)
        broker.kill()
        broker.start()
        job.make_topics(partitions=3)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 75, stderr
        assert f"the topic {job.source} " in stderr
        assert "start the job again" in stderr
        process = job.start()
        wait_for(job.has_logged(half), process)
        # The sender cannot know what was read.
        job.send(partials)
        assert "it was deleted and created again" in job.run_until(job.has_logged(len(partials)), process)
        assert events(job.folder) == events(replayed)


@pytest.mark.skipif(IS_FOREIGN, reason="the broker is not the test's own to cut off")
def test_an_outage_of_the_broker_that_keeps_its_topics_is_waited_for_and_nothing_is_lost_or_written_twice(
    tmp_path: Path, partials: list[dict[str, Any]], replayed: Path
) -> None:
    with a_broker_behind_a_proxy() as broker:
        job = Job(tmp_path / "job", broker)
        job.write(rooms=3)
        job.send(partials)
        process = job.start()
        wait_for(job.has_logged(len(partials) // 8), process)
        broker.proxy.cut()
        time.sleep(OUTAGE_S)
        log = job.folder / "log.jsonl"
        assert log.read_text().count("\n") < len(partials), "it was over too early"
        assert process.poll() is None
        broker.proxy.restore()
        said = job.run_until(job.has_logged(len(partials)), process)
        assert events(job.folder) == events(replayed)
        for name in TYPES:
            kept = [one for key, many in events(replayed).items() if key.startswith(name) for one in many]
            assert {json.dumps(one) for one in job.published(name)} == {json.dumps(one) for one in kept}
    assert f"no broker of Kafka answers at {broker.address}" in said


def test_a_cluster_reads_a_topic_and_goes_on_with_two_processes_after_one_of_it_was_killed(
    tmp_path: Path, broker: Broker, partials: list[dict[str, Any]], replayed: Path
) -> None:
    job = Job(tmp_path / "job", broker, partitions=3)
    half = len(partials) // 2
    job.send(partials[:half])
    first, *others, victim = job.start_cluster(3, rooms=3)
    wait_for(job.has_logged(half // 2), first)
    victim.kill()
    victim.communicate()
    for process in (first, *others):
        _, stderr = process.communicate(timeout=180)
        assert process.returncode == 75, stderr
    job.send(partials[half:])
    processes = job.start_cluster(2, workers=2, rooms=3)
    wait_for(job.has_logged(len(partials)), processes[0])
    # Each of them has to be told.
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        finish(process)
    assert events(job.folder) == events(replayed)
    keys = {(one["stream"], one["segment"], one["revision"]) for one in partials}
    assert {(one["stream"], one["segment"], one["revision"]) for one in job.published("captions")} == keys


def test_the_job_command_reads_and_writes_topics_until_it_is_ended(
    tmp_path: Path, broker: Broker, small: list[str]
) -> None:
    job = Job(tmp_path / "job", broker, recovery=False)
    model = f'[translate]\nmodel = "{small[1]}"\nthreads = 1\n'
    job.path.write_text(job.path.read_text().replace("[translate]\n", model))
    speech(tmp_path / "speech.jsonl", 2)
    spoken = read(tmp_path / "speech.jsonl")
    job.send(spoken)
    recovery = str(tmp_path / "recovery")
    process = Program(
        [SURTITLE, "job", str(job.path), "--recovery", recovery, "--quiet"],
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    finals = sum(one["is_final"] for one in spoken)
    job.run_until(lambda: _finals(job.folder / "captions.jsonl") == finals, process)
    assert sum(one["is_final"] for one in job.published("captions")) == finals
    assert Path(recovery).is_dir()


def _finals(path: Path) -> int:
    return path.read_text().count('"is_final":true') if path.exists() else 0
