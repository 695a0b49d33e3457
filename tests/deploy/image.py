"""Builds the image and speaks to a server in it: ``python -m tests.deploy.image``, by ``make test-image``.

It takes minutes and a builder of images, so it is none of the usual tests.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent.parent
_IMAGE, _NAME = "surtitle-test", "surtitle-test"
_START_S = 300


def main() -> int:
    """Build, start, ask, stop; returns the exit code."""
    builder = next((name for name in ("docker", "podman") if _works(name)), None)
    if builder is None:
        print("make test-image needs a running docker or podman; start one", file=sys.stderr)
        return 1
    subprocess.run([builder, "build", "-f", "deploy/Containerfile", "-t", _IMAGE, "."], cwd=ROOT, check=True)
    ports = ("-p", "127.0.0.1:18080:8080", "-p", "127.0.0.1:19464:9464")
    options = ("--read-only", "--tmpfs", "/tmp", "-e", "SURTITLE_WEB_TOKEN=only-for-this-test")
    subprocess.run([builder, "run", "-d", "--rm", "--name", _NAME, *ports, *options, _IMAGE], check=True)
    try:
        health = _waited("http://127.0.0.1:19464/healthz")
        offered = _waited("http://127.0.0.1:18080/rooms.json?token=only-for-this-test")
    finally:
        subprocess.run([builder, "stop", "-t", "60", _NAME], check=True)
    print(f"health {health['status']}, {offered['free']} rooms free")
    return 0 if health["status"] == "ok" and offered["free"] == 4 else 1


def _works(builder: str) -> bool:
    return (
        shutil.which(builder) is not None
        and subprocess.run([builder, "info"], capture_output=True, check=False).returncode == 0
    )


def _waited(address: str) -> dict[str, object]:
    """The answer, as soon as there is one. Raises `OSError` after five minutes."""
    deadline = time.monotonic() + _START_S
    while True:
        try:
            with urlopen(address, timeout=5) as answer:
                found: dict[str, object] = json.load(answer)
                return found
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1.0)


if __name__ == "__main__":
    sys.exit(main())
