"""A process that has loaded the program and is forked for each run of it; `tests.program` asks it."""

import faulthandler
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

#: What runs use. Not ONNX Runtime: it has a thread, which would be gone in those that are forked.
MODULES = (
    "flows.main", "flows.cli.app", "flows.captions.runner", "flows.captions.subtitling",
    "flows.doctor.report", "flows.measuring.bench", "flows.measuring.drafts", "flows.measuring.reproduce",
    "flows.pages.report", "bytewax.run", "connectors.web.server",
    "tests.recovering",
)  # fmt: skip


def begin(ask: dict[str, Any], handles: list[int]) -> list[str]:
    """Turn this fork into a process as if it had been started by a command, and return the command."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
    os.closerange(3, 4096)
    faulthandler.enable()  # where a library crashes, the test's message says in which
    os.chdir(ask["cwd"])
    os.environ.clear()
    os.environ.update(ask["environment"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_unbuffered = bool(ask["environment"].get("PYTHONUNBUFFERED"))
    for handle, name in enumerate(("stdin", "stdout", "stderr")):
        stream = opened(getattr(sys, name), handle, is_unbuffered=is_unbuffered and handle > 0)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    command: list[str] = ask["command"]
    return command


def opened(like: TextIO, handle: int, *, is_unbuffered: bool) -> TextIO:
    """A standard stream: the one from before knows whether it was a pipe, a file or a terminal."""
    binary = os.fdopen(handle, "wb" if handle else "rb", buffering=0 if is_unbuffered else -1, closefd=False)
    return TextIOWrapper(
        binary, like.encoding, like.errors, newline="\n" if handle else None,
        line_buffering=handle == 2 or binary.isatty(), write_through=is_unbuffered,
    )  # fmt: skip


def asked(control: socket.socket) -> list[str]:
    """Wait for a request to run, and fork. Returns only in the process that runs it."""
    running: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as ready:
        ready.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is not control:
                    pid, status = running.pop(key.fd)
                    ready.unregister(key.fd)
                    os.close(key.fd)
                    tell(status, os.waitpid(pid, 0)[1])
                    os.close(status)
                    continue
                told, handles, _, _ = socket.recv_fds(control, 1 << 20, 4)
                if not told:
                    sys.exit()
                pid = os.fork()
                if not pid:
                    ready.close()
                    control.close()
                    return begin(json.loads(told), handles[:3])
                for handle in handles[:3]:
                    os.close(handle)
                tell(handles[3], pid)
                over = os.pidfd_open(pid)
                running[over] = pid, handles[3]
                ready.register(over, selectors.EVENT_READ)


def tell(status: int, number: int) -> None:
    with suppress(BrokenPipeError):
        os.write(status, struct.pack("i", number))


def execute(command: list[str]) -> None:
    """Run the command as Python would."""
    program, *arguments = command
    if not program.endswith("surtitle"):
        kind, what, *arguments = arguments
        assert kind in ("-m", "-c"), command
        sys.path[0] = str(Path.cwd()) if kind == "-m" else ""
        if kind == "-m":
            sys.argv = [what, *arguments]
            sys.modules.pop(what, None)
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.argv = ["-c", *arguments]
            sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(what, "<string>", "exec"), sys.modules["__main__"].__dict__)
        return
    from flows.main import main

    sys.argv = command
    main()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        for module in MODULES:
            importlib.import_module(module)
        assert len([*Path("/proc/self/task").iterdir()]) == 1, "threads cannot be forked"
        gc.freeze()
        command_asked = asked(connection)
    execute(command_asked)
