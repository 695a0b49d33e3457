"""An option that names a file gets one that is of no use to it: it is refused in a sentence, or harmless."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.chaos.options import ALSO, TOYS, run_warm
from tests.chaos.paths import FILE, Path_, paths, write
from tests.chaos.trial import DOCUMENTED, Ended, Trial, see

#: Exit code of the doctor when captions will not work.
_WILL_NOT_WORK = 1
_BYTES: dict[str, Callable[[Random, bytes], bytes]] = {
    "empty": lambda _random, _valid: b"",
    "random": lambda random, _valid: random.randbytes(random.choice([1, 100, 10**5])),
    "zeros": lambda _random, _valid: bytes(2**20),
    "a long line": lambda _random, _valid: b"a b" * 2**22,
    "UTF-16": lambda _random, valid: b"\xff\xfe" + valid.decode("latin-1").encode("utf-16-le"),
    "a byte order mark": lambda _random, valid: b"\xef\xbb\xbf" + valid,
    "CRLF": lambda _random, valid: valid.replace(b"\n", b"\r\n"),
    "no final newline": lambda _random, valid: valid.rstrip(b"\n"),
    "cut": lambda random, valid: valid[: random.randint(0, len(valid))],
    "changed": lambda random, valid: _changed(random, valid),
    "twice": lambda _random, valid: valid + valid,
    "brackets": lambda _random, _valid: b"[" * 10**6,
    "objects": lambda _random, _valid: b'{"a":' * 10**5 + b"1" + b"}" * 10**5,
    "a huge number": lambda _random, _valid: b'{"tokens": [1' + b"0" * 5000 + b'], "ms": [1e999]}\n',
}
_PLACES = (
    "folder", "socket", "dangling link", "link to itself", "missing", "missing folder", "below a file",
    "name too long", "name as long as can be", "escape sequence", "nothing", "/dev/null", "/dev/full",
    "/dev/stdin", "/dev/fd/9", "/proc/version",
)  # fmt: skip
#: Only read: nothing ends that is written there.
_ENDLESS = ("/dev/zero", "/proc/self/mem")
_ESCAPE = "a\x1b[31m\nb\u202e"


def attempt(trial: Trial) -> None:
    """Give one option of a command a file that is of no use."""
    random = trial.random
    one = random.choice(paths())
    ways = [*_PLACES, *([] if one.is_written else [*_BYTES, *_BYTES, *_ENDLESS])]
    way = random.choice(ways)
    trial.note(f"surtitle {one.command}: {one.name} is {way}")
    here = trial.folder / "here"
    here.mkdir()
    place = _made(random, way, one, here)
    needed = set(ALSO.get(one.command, ())) - ({"audio"} if one.name.startswith("from_") else set())
    given: dict[Path_, object] = {one: place}
    for other in paths():
        if other.command == one.command and other != one and (other.is_required or other.name in needed):
            given[other] = here / f"usual-{_stem(other)}"
            if not other.is_written:
                write(other.kind, here / f"usual-{_stem(other)}")
    done = run_warm(trial, one.command, given, is_real=one.command not in TOYS)
    _judge(one.command, done)


def _stem(one: Path_) -> str:
    return {
        "speech": "speech.wav",
        "template": "template.toml",
        "settings": "settings.toml",
        "pipeline": "job.toml",
    }.get(one.kind, "model.gguf" if one.kind == "model" else one.name)


def _made(random: Random, way: str, one: Path_, here: Path) -> object:  # noqa: C901 - a case each
    """What the option is given."""
    path = here / _stem(one)
    if way in _BYTES:
        valid = here / "valid"
        write(one.kind, valid)
        path.write_bytes(_BYTES[way](random, b"" if valid.is_dir() else valid.read_bytes()))
        return path
    match way:
        case "folder":
            path.mkdir() if one.kind == FILE or not one.is_written else path.touch()
        case "socket":
            _socket(path)
        case "dangling link" | "link to itself":
            path.symlink_to("nowhere" if way == "dangling link" else path.name)
        case "missing folder":
            return path / "file"
        case "below a file":
            path.touch()
            return path / "file"
        case "name too long":
            return path.with_name("n" * 300 + path.suffix)
        case "name as long as can be":
            return path.with_name("n" * (255 - len(path.suffix)) + path.suffix)
        case "escape sequence":
            return path.with_name(_ESCAPE + path.suffix)
        case "nothing":
            return ""
        case _ if way.startswith("/"):
            return way
    return path


def _socket(path: Path) -> None:
    # The path of a socket may have 108 bytes.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as named:
            named.bind(path.name)
    finally:
        os.chdir(before)


def _changed(random: Random, valid: bytes) -> bytes:
    data = bytearray(valid)
    for _ in range(random.randint(1, 6) if data else 0):
        data[random.randrange(min(len(data), random.choice([64, 1000, 10**7])))] = random.randrange(256)
    return bytes(data)


def _judge(command: str, done: Ended) -> None:
    allowed = (*DOCUMENTED, *([_WILL_NOT_WORK] if command == "doctor" else []))
    see(done.code in allowed, f"exit code {done.code}:\n{done.stderr}")
    see("Traceback" not in done.stderr, done.stderr)
    see(done.code in (0, _WILL_NOT_WORK) or "surtitle: " in done.stderr, "it was refused without a word")
    for what in ("\x1b[31m", "\u202e"):
        see(what not in done.stdout + done.stderr, f"{what!r} of a file's name is printed")
