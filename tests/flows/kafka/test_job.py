"""A job reads a topic, translates, and writes topics and files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker import Broker, a_broker
from tests.flows.kafka.job import TYPES, Job
from tests.killing import events, finish, settings, speech, start

SEGMENTS = 12


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with a_broker() as one:
        yield one


@pytest.fixture(scope="module")
def partials(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("speech") / "speech.jsonl"
    speech(path, SEGMENTS, streams=3)
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, partials: list[dict[str, Any]]) -> Path:
    """The folder of a run over the same partials in a file."""
    folder = tmp_path_factory.mktemp("replayed")
    (folder / "in").mkdir()
    (folder / "in" / "speech.jsonl").write_text("".join(json.dumps(one) + "\n" for one in partials))
    finish(start(settings(folder, f'partials = "{folder}/in/speech.jsonl"', recovery=False)))
    return folder


def test_a_topic_gives_what_a_file_gives_in_files_and_in_topics(
    tmp_path: Path, broker: Broker, partials: list[dict[str, Any]], replayed: Path
) -> None:
    job = Job(tmp_path / "job", broker)
    job.send(partials)
    assert job.run_until(job.has_logged(len(partials))) == ""
    assert events(job.folder) == events(replayed)
    for name in TYPES:
        messages = job.messages(name)
        assert all(json.loads(one.value)["stream"].encode() == one.key for one in messages)
        published: dict[str, list[dict[str, Any]]] = {}
        for event in job.published(name):
            published.setdefault(f"{name} of {event['stream']}", []).append(event)
        assert published == {key: value for key, value in events(replayed).items() if key.startswith(name)}
    assert broker.messages(job.letters) == []
