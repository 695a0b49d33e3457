"""Background work gives the cores away while something is measured."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from connectors.machine.quiet import GivesWay, lock_file

MEASURES = """
from connectors.machine.quiet import measuring
with measuring():
    print("measuring", flush=True)
    input()
"""


@pytest.mark.parametrize("ends", ["by itself", "killed"])
def test_background_work_waits_while_another_process_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    went_on = Event()
    with closing(GivesWay(lock_file())) as way:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(
            [sys.executable, "-c", MEASURES], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None

        def work() -> None:
            while process.poll() is None:
                way.pause()
            went_on.set()

        # It gets the lock in one of the pauses, and the next pause lasts until it has ended.
        thread = Thread(target=work)
        thread.start()
        assert process.stdout.readline() == "measuring\n"
        assert not went_on.wait(0.2)
        if ends == "killed":
            process.send_signal(signal.SIGKILL)
        process.communicate(None if ends == "killed" else "\n")
        assert went_on.wait(60)
        thread.join()
