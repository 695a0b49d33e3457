"""A run that is killed and started again ends with what an unbroken run ends with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
#: More with `make test-long`.
KILLS = int(os.environ.get("SURTITLE_KILLS", "12"))
#: Enough that it is not over before it was killed so often.
SEGMENTS = 15 * KILLS
TIMES = {
    "started_s",
    "ready_s",
    "shown_s",
    "effort",
    "latency",
    "latency_from_speech_s",
    "latency_from_arrival_s",
}


def speech(path: Path) -> None:
    """Partials that grow and are revised, in words that the toy model knows."""
    random, at_s = Random(0), 0.0
    with path.open("w") as file:
        for segment in range(SEGMENTS):
            words: list[str] = []
            updates = random.randint(1, 6)
            for revision in range(updates):
                words = [*words[: max(0, len(words) - random.randint(0, 1))], *random.choices("abcdef", k=2)]
                at_s += 0.5
                partial = {
                    "stream": "talk", "segment": segment, "revision": revision, "text": " ".join(words),
                    "is_final": revision == updates - 1, "start_s": at_s - 0.5, "end_s": at_s,
                    "arrival_s": at_s,
                }  # fmt: skip
                file.write(json.dumps(partial) + "\n")


def settings(folder: Path, *, recovery: bool) -> Path:
    """Settings of a run that writes everything it can into ``folder``."""
    outputs = "".join(
        f'{name} = "{folder}/{name}.jsonl"\n' for name in ("log", "captions", "translations", "partials")
    )
    outputs += f'srt = "{folder}/talk.srt"\nvtt = "{folder}/talk.vtt"\n'
    path = folder / "surtitle.toml"
    path.write_text(
        f'[input]\npartials = "{folder.parent}/speech.jsonl"\n[output]\nterminal = false\n{outputs}'
        + (f'[recovery]\nfolder = "{folder}/recovery"\ninterval_s = 0.05\n' if recovery else "")
    )
    return path


def start(path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.recovering", str(path)], cwd=ROOT, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def written(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All events of all files, without what depends on the time that it took; and subtitles as they are."""
    subtitles = {path.name: [{"text": path.read_text()}] for path in sorted(folder.glob("talk.*"))}
    assert len(subtitles) == 2
    return subtitles | {
        path.name: [
            {name: value for name, value in json.loads(line).items() if name not in TIMES}
            for line in path.read_text().splitlines()
        ]
        for path in sorted(folder.glob("*.jsonl"))
    }


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody killed."""
    base = tmp_path_factory.mktemp("recovery")
    speech(base / "speech.jsonl")
    (base / "unbroken").mkdir()
    process = start(settings(base / "unbroken", recovery=False))
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    return base / "unbroken"


def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_never_been(unbroken: Path) -> None:
    folder, random, kills = unbroken.parent / "killed", Random(1), 0
    folder.mkdir()
    path = settings(folder, recovery=True)
    while kills < KILLS:
        process = start(path)
        try:
            if kills % 3:
                _wait_for_growth(folder / "log.jsonl", process)
                process.wait(random.uniform(0.0, 0.12))
            else:
                process.wait(random.uniform(0.0, 1.0))  # while it starts, or when it just has
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        _, stderr = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), stderr
        if process.returncode == 0:
            break
    process = start(path)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert kills == KILLS
    assert written(folder) == written(unbroken)


def _wait_for_growth(path: Path, process: "subprocess.Popen[str]") -> None:
    """Until a file has changed its size, or the process is over."""

    def size() -> int:
        return path.stat().st_size if path.exists() else 0

    before = size()
    while size() == before and process.poll() is None:
        time.sleep(0.002)


def test_a_run_that_is_over_is_over(unbroken: Path) -> None:
    folder = unbroken.parent / "again"
    folder.mkdir()
    path = settings(folder, recovery=True)
    for _ in range(2):
        process = start(path)
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
        assert written(folder) == written(unbroken)


def test_sigterm_ends_a_run_as_ctrl_c_does_and_it_goes_on_later(unbroken: Path) -> None:
    folder = unbroken.parent / "terminated"
    folder.mkdir()
    path = settings(folder, recovery=True)
    process = start(path)
    deadline = time.monotonic() + 30
    while not (folder / "log.jsonl").exists() or not (folder / "log.jsonl").stat().st_size:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (0, "")
    some = len(written(folder)["log.jsonl"])
    assert 0 < some < len(written(unbroken)["log.jsonl"])
    process = start(path)
    process.communicate(timeout=300)
    assert written(folder) == written(unbroken)


def test_a_folder_of_another_run_is_refused_by_what_differs(unbroken: Path) -> None:
    folder = unbroken.parent / "other"
    folder.mkdir()
    path = settings(folder, recovery=True)
    start(path).communicate(timeout=300)
    path.write_text(path.read_text() + "[display]\nmask_k = 5\n")
    process = start(path)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "display.mask_k is 3 there and 5 here" in stderr
