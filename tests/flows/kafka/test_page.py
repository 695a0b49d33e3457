"""The job of docs/kafka.md: its settings, its commands and its message, with a broker."""

import json
import re
import shlex
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.broker import Broker, a_broker
from tests.killing import free_addresses
from tests.program import ROOT, Program
from tests.waiting import until

PAGE = (ROOT / "docs" / "kafka.md").read_text()
(SETTINGS,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
(PRODUCER,) = re.findall(r"^surtitle file talk.wav .*$", PAGE, re.MULTILINE)
(MESSAGE,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
ONE, *CLUSTER = re.findall(r"^surtitle job .*$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with a_broker() as broker:
        yield broker


def run(commands: list[str], folder: Path, broker: Broker, speech: Path) -> dict[str, list[str]]:
    """The finals of each stream, after the page's message, its final, and a recording."""
    topics = {name: broker.topic(name) for name in ("partials", "partials.dead", "captions")}
    settings = SETTINGS.replace("localhost:9092", broker.address)
    for name, topic in topics.items():
        # Not the files, whose names go on.
        settings = settings.replace(f'= "{name}"', f'= "{topic}"')
    (folder / "job.toml").write_text(settings)
    message = json.loads(MESSAGE)
    final = message | {"revision": 1, "text": "It was the best of times.", "is_final": True, "end_s": 1.6}
    shutil.copy(speech, folder / "talk.wav")
    jobs = [started(one, folder) for one in commands]
    try:
        key = message["stream"].encode()
        broker.send(topics["partials"], [(key, json.dumps(one).encode()) for one in (message, final)])
        producer = PRODUCER.replace("partials=partials", f"partials={topics['partials']}")
        with started(f"{producer} --set 'input.kafka.brokers=[\"{broker.address}\"]'", folder) as recording:
            _, stderr = recording.communicate(timeout=120)
        assert recording.returncode == 0, stderr
        until(lambda: {"hall-1", "talk"} <= set(_finals(folder)), 120)
    finally:
        for job in jobs:
            job.send_signal(signal.SIGTERM)
        ended = [(job.communicate(timeout=120)[1], job.returncode) for job in jobs]
    assert [code for _, code in ended] == [0] * len(jobs), ended
    in_topic = [json.loads(one.value) for one in broker.messages(topics["captions"])]
    shown = sorted(one["shown"] for one in in_topic if one["is_final"])
    assert shown == sorted(chain(*_finals(folder).values()))
    return _finals(folder)


def started(command: str, folder: Path) -> "subprocess.Popen[str]":
    return Program(
        shlex.split(command), cwd=folder, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def _finals(folder: Path) -> dict[str, list[str]]:
    path, finals = folder / "captions.jsonl", defaultdict[str, list[str]](list)
    for one in map(json.loads, path.read_text().splitlines() if path.exists() else ()):
        if one["is_final"]:
            finals[one["stream"]].append(one["shown"])
    return finals


def test_the_job_of_the_page_captions_its_messages(tmp_path: Path, broker: Broker, speech: Path) -> None:
    assert run([ONE], tmp_path, broker, speech)["hall-1"] == ["Foi o melhor dos tempos."]


def test_the_cluster_of_the_page_captions_its_messages(tmp_path: Path, broker: Broker, speech: Path) -> None:
    here = free_addresses(2)
    commands = [one.replace("10.0.0.1:2101", here[0]).replace("10.0.0.2:2101", here[1]) for one in CLUSTER]
    assert run(commands, tmp_path, broker, speech)["hall-1"] == ["Foi o melhor dos tempos."]
