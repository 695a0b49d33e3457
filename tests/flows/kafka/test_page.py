"""The job of docs/kafka.md: its settings, its commands and its message, with a broker."""

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker import Broker, a_broker
from tests.killing import free_addresses
from tests.program import ROOT, Program
from tests.waiting import until

PAGE = (ROOT / "docs" / "kafka.md").read_text()
(SETTINGS,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
(MESSAGE,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
ONE, *CLUSTER = re.findall(r"^surtitle job .*$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with a_broker() as broker:
        yield broker


def run(commands: list[str], folder: Path, broker: Broker) -> list[str]:
    """The captions in the topic and those in the file, after the page's message and its final."""
    topics = {name: broker.topic(name) for name in ("partials", "partials.dead", "captions")}
    settings = SETTINGS.replace("localhost:9092", broker.address)
    for name, topic in topics.items():
        # Not the files, whose names go on.
        settings = settings.replace(f'= "{name}"', f'= "{topic}"')
    (folder / "job.toml").write_text(settings)
    message = json.loads(MESSAGE)
    final = message | {"revision": 1, "text": "It was the best of times.", "is_final": True, "end_s": 1.6}
    jobs = [
        Program(
            shlex.split(one), cwd=folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for one in commands
    ]  # fmt: skip
    try:
        key = message["stream"].encode()
        broker.send(topics["partials"], [(key, json.dumps(one).encode()) for one in (message, final)])
        until(lambda: (folder / "captions.jsonl").exists() and _finals(folder), 120)
    finally:
        for job in jobs:
            job.send_signal(signal.SIGTERM)
        ended = [(job.communicate(timeout=120)[1], job.returncode) for job in jobs]
    assert [code for _, code in ended] == [0] * len(jobs), ended
    in_topic = [json.loads(one.value) for one in broker.messages(topics["captions"])]
    assert [one["shown"] for one in in_topic if one["is_final"]] == _finals(folder)
    return _finals(folder)


def _finals(folder: Path) -> list[str]:
    events = map(json.loads, (folder / "captions.jsonl").read_text().splitlines())
    return [one["shown"] for one in events if one["is_final"]]


def test_the_job_of_the_page_captions_its_message(tmp_path: Path, broker: Broker) -> None:
    assert run([ONE], tmp_path, broker) == ["Foi o melhor dos tempos."]


def test_the_cluster_of_the_page_captions_its_message(tmp_path: Path, broker: Broker) -> None:
    here = free_addresses(2)
    commands = [one.replace("10.0.0.1:2101", here[0]).replace("10.0.0.2:2101", here[1]) for one in CLUSTER]
    assert run(commands, tmp_path, broker) == ["Foi o melhor dos tempos."]
