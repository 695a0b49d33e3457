"""A connection to Azure ends without harm to its process, however early it is closed."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
# The SDK's threads inherit the priority of the one that opens: on one CPU the one that closes is faster.
OPEN_AND_CLOSE = """
import os
from queue import SimpleQueue
from threading import Thread, get_native_id
from operators.recognizers.azure.recognizer import _Connection
from operators.recognizers.azure import AzureSettings, service

place = service(AzureSettings(host="ws://127.0.0.1:1"))
wanted, opened = SimpleQueue(), SimpleQueue()

def open_some():
    os.setpriority(os.PRIO_PROCESS, get_native_id(), 19)
    while wanted.get():
        opened.put(_Connection(place, "en-US", lambda task: None, lambda *result: None))

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
Thread(target=open_some, daemon=True).start()
for _ in range(20):
    wanted.put(True)
    connection = opened.get()
    connection.write(bytes(3200))
    connection.close()
    del connection
print("closed")
"""


def test_a_connection_that_is_closed_while_it_starts_does_not_end_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_AND_CLOSE], cwd=ROOT, env={"AZURE_SPEECH_KEY": "0" * 32},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr
