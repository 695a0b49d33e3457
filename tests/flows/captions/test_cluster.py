"""A cluster of several processes translates as one process does, also after one of them was killed."""

import os
import signal
import time
from pathlib import Path
from random import Random
from subprocess import Popen

import pytest

from tests.killing import (
    events,
    finish,
    free_addresses,
    settings,
    speech,
    start,
    start_process,
    subtitles,
    wait_for_growth,
)

#: More with `make test-long`.
KILLS = int(os.environ.get("SURTITLE_CLUSTER_KILLS", "1"))
SEGMENTS = 20 + 20 * KILLS
STREAMS = 6
LOST = 75


class Cluster:
    """A cluster whose processes have settings of their own in one folder."""

    def __init__(self, folder: Path, given: str) -> None:
        folder.mkdir()
        self.folder, self.given = folder, given

    def start(self, count: int, workers: int = 1) -> "list[Popen[str]]":
        where = free_addresses(count)
        return [self.start_one(where, number, workers) for number in range(count)]

    def start_one(self, where: list[str], number: int, workers: int = 1) -> "Popen[str]":
        path = settings(self.folder, self.given, recovery=True, workers=workers)
        return start_process(path, where, number)


def end(processes: "list[Popen[str]]") -> None:
    for process in processes:
        finish(process)


def kill_one(processes: "list[Popen[str]]", log: Path, random: Random) -> None:
    """Kill a process in the middle; the others end by themselves."""
    wait_for_growth(log, processes[0])
    time.sleep(random.uniform(0, 0.3))
    victim = random.choice(processes)
    victim.kill()
    for process in processes:
        _, stderr = process.communicate(timeout=180)
        if process is not victim:
            assert process.returncode == LOST, (process.returncode, stderr)
            assert "has lost another process of its cluster" in stderr


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    speech(folder / "speech.jsonl", SEGMENTS, streams=STREAMS)
    (folder / "alone").mkdir()
    finish(start(settings(folder / "alone", given(folder), recovery=False)))
    return folder


def words(folder: Path) -> dict[str, list[str]]:
    """All words of each subtitle file; the cues of several streams may come in another order."""
    return {
        kind: sorted(word for line in text.splitlines() if "-->" not in line for word in line.split())
        for kind, text in subtitles(folder).items()
    }


def given(base: Path) -> str:
    return f'partials = "{base}/speech.jsonl"'


def test_processes_that_are_killed_and_started_in_other_numbers_end_as_one_that_was_not(base: Path) -> None:
    cluster, random = Cluster(base / "killed", given(base)), Random(KILLS)
    for number in range(KILLS):
        processes = cluster.start(2 if number == 0 else random.choice([1, 2, 3, 4]), 1 + number % 2)
        kill_one(processes, cluster.folder / "log.jsonl", random)
    end(cluster.start(2, workers=2))
    assert events(cluster.folder) == events(base / "alone")
    assert words(cluster.folder) == words(base / "alone")


def test_a_process_that_waits_for_the_others_ends_at_once_by_sigterm(base: Path) -> None:
    cluster = Cluster(base / "waiting", given(base))
    process = cluster.start_one(free_addresses(2), 1)
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM), stderr
    assert not list(cluster.folder.glob("*.jsonl"))
