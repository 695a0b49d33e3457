"""An installation of the built wheel with all extras: ``python -m release.installation WHEEL FOLDER``.

The packages have the versions of requirements.lock, so that a commit always gives the same installation.
llama.cpp comes as the wheel that set-up compiled. PyTorch (the extra ``train``) is left out for its size.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The folder with the wheel of llama-cpp-python that set-up compiled.
LLAMA_WHEELS = ROOT / ".venv" / "llama"
LEFT_OUT = {"train"}


def extras() -> list[str]:
    """The names of the extras that the installation has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(project["optional-dependencies"].keys() - LEFT_OUT)


def locked_versions(lock: str) -> str:
    """The lines of a lock file as constraints: without hashes, which the wheel itself does not have."""
    return "\n".join(re.findall(r"^([\w.-]+==[^\\\n]+?) *\\?$", lock, re.MULTILINE)) + "\n"


def main() -> None:
    """Make the installation, in place of one that is there."""
    wheel, folder = sys.argv[1:]
    uv = str(ROOT / ".venv" / "bin" / "uv")
    create = [uv, "--no-config", "venv", "--quiet", "--clear", "--python", sys.executable, folder]
    subprocess.run(create, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch) / "constraints.txt"
        lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
        constraints.write_text(locked_versions(lock), encoding="utf-8")
        command = [
            sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder, "install",
            "--quiet", "--constraint", str(constraints),
            "--find-links", str(LLAMA_WHEELS), f"{wheel}[{','.join(extras())}]",
        ]  # fmt: skip
        done = subprocess.run(command, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
