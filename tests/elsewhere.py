"""Imports and runs surtitle as on Windows or macOS: ``python -m tests.elsewhere win32 replay said.jsonl …``.

What another system lacks is taken from the product, and from it alone: it is loaded twice, and the second
time it sees other modules of the same names. Paths, consoles, sound and locks remain those of this system.
"""

import contextlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

from typing_extensions import override

PACKAGES = ("operators", "connectors", "flows")
#: By system: the modules that it lacks, what others lack there, and what they have there only.
MODULES = {
    "win32": "fcntl termios tty pty pwd grp resource readline syslog posix curses crypt nis spwd",
    "darwin": "msvcrt winreg _winapi spwd",
}
LACKS = {
    "win32": {
        "os": "fork forkpty sched_getaffinity sched_setaffinity geteuid getuid getgid getpgid getpgrp setsid "
        "killpg uname pread pwrite preadv pwritev set_blocking sysconf statvfs fstatvfs mkfifo mknod chown "
        "fchown fchmod lockf nice openpty posix_spawn pipe2 posix_fadvise posix_fallocate sendfile sync wait "
        "getloadavg ttyname memfd_create getxattr O_NONBLOCK O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_SYNC "
        "WIFSIGNALED WTERMSIG",
        "signal": "SIGHUP SIGQUIT SIGKILL SIGSTOP SIGCONT SIGTSTP SIGALRM SIGCHLD SIGPIPE SIGUSR1 SIGUSR2 "
        "SIGWINCH pthread_sigmask pthread_kill pause alarm setitimer siginterrupt sigwait sigtimedwait",
        "select": "poll epoll",
        "socket": "AF_UNIX SO_REUSEPORT",
        "time": "clock_gettime pthread_getcpuclockid tzset",
        "subprocess": "",
    },
    "darwin": {
        "os": "sched_getaffinity sched_setaffinity memfd_create posix_fallocate posix_fadvise getxattr "
        "startfile O_BINARY O_DIRECT",
        "signal": "sigwaitinfo sigtimedwait SIGBREAK SIGPOLL SIGRTMIN",
        "select": "epoll",
        "time": "CLOCK_BOOTTIME",
        "subprocess": "CREATE_NEW_PROCESS_GROUP",
    },
}  # fmt: skip


class Elsewhere(ModuleType):
    """A module as another system has it."""

    def __init__(self, real: ModuleType, lacks: str, **has: object) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, _lacks=lacks.split(), **has)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_lacks"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} on this system")
        return getattr(self.__dict__["_real"], name)

    @override
    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_real"], name, value)


def modules() -> Iterator[str]:
    for package in PACKAGES:
        yield package
        for one in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            yield one.name


def load() -> set[str]:
    """Import all modules whose extra is there; returns their names."""
    loaded = set()
    for name in modules():
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
            loaded.add(name)
    return loaded


def move(system: str) -> list[tuple[int, int]]:
    """Make all modules that are imported from now on see that system; returns the locks that they take."""
    for name in [one for one in sys.modules if one.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
    locks: list[tuple[int, int]] = []
    has: dict[str, dict[str, object]] = {"os": {}, "signal": {}, "subprocess": {}}
    if system == "win32":
        # SIGUSR1 stands for a signal that this system has not.
        has = {
            "os": {"O_BINARY": 0},
            "signal": {"SIGBREAK": importlib.import_module("signal").SIGUSR1},
            "subprocess": {"CREATE_NEW_PROCESS_GROUP": 0},
        }
    for name, lacks in LACKS[system].items():
        sys.modules[name] = Elsewhere(importlib.import_module(name), lacks, **has.get(name, {}))
    for name in MODULES[system].split():
        sys.modules[name] = None  # type: ignore[assignment]  # it cannot be imported
    if system == "win32":
        msvcrt: Any = SimpleNamespace(LK_NBLCK=2)
        msvcrt.locking = lambda file, _mode, size: locks.append((os.lseek(file, 0, os.SEEK_CUR), size))
        sys.modules["msvcrt"] = msvcrt
    sys.modules["sys"] = Elsewhere(sys, "getdlopenflags" if system == "win32" else "", platform=system)
    return locks


def run(arguments: list[str]) -> None:
    sys.argv[1:] = arguments
    code = 0
    try:
        importlib.import_module("flows.main").main()
    except SystemExit as end:
        code = int(end.code or 0)
    if code:
        sys.exit(code)


if __name__ == "__main__":
    there, *command = sys.argv[1:]
    here = load()
    # What the product imports only when it needs it is real, too.
    run(["--version"])
    importlib.import_module("connectors.audio.ffmpeg").program()
    taken = move(there)
    lost = here - load()
    print("modules:", len(here), "lost:", *sorted(lost))
    run(command)
    print("locks:", *taken)
