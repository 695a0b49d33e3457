"""A run that serves captions, in a process of its own."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.program import Program


class Run:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stderr is not None
        self.said = process.stderr.readline()
        address = re.search(r"http://[^/ ]+:(\d+)/(?:\?token=(\S+))?", self.said)
        if address is None:
            process.kill()
        assert address, self.said + process.stderr.read()
        self.port = int(address[1])
        self.token = address[2]

    def wait_until_it_stays(self) -> None:
        assert self.process.stderr is not None
        where = re.search(r"http://[^/]*/", self.said)
        assert where is not None
        assert (
            self.process.stderr.readline()
            == f"surtitle: the input has ended; the captions stay until Ctrl-C at {where[0]}\n"
        )

    def interrupt(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self) -> tuple[int, str, str]:
        stdout, stderr = self.process.communicate(timeout=60)
        return self.process.returncode, stdout, stderr


@contextmanager
def running(*command: object, environment: dict[str, str] | None = None) -> Iterator[Run]:
    with Program(
        [str(part) for part in command], text=True, env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield Run(process)
        finally:
            process.kill()
