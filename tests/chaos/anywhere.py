"""The tests in random order, on other hosts, in other zones and locales: ``python -m tests.chaos.anywhere``.

Arguments are pytest's own. Locales that the system lacks are made where ``localedef`` is there;
another host name needs ``unshare`` and the right to use it.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.chaos.trial import ROOT

#: Names that a text may hold by chance, a long one, and one that is no name of the DNS.
_HOSTS = ("vm", "a", "surtitle", "x" * 63, "Stage_1")
_ZONES = ("Pacific/Chatham", "America/St_Johns", "UTC", "Asia/Kathmandu")
_LOCALES = ("tr_TR.UTF-8", "C", "ja_JP.UTF-8", "C.UTF-8")
_ROUNDS = 5
_RENAMED = "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"


def main(arguments: list[str]) -> int:
    """Run the tests some times; the exit code says whether they passed each time."""
    first = int(os.environ.get("SURTITLE_CHAOS_SEED") or secrets.randbelow(10**9))
    rounds = int(os.environ.get("SURTITLE_CHAOS_ROUNDS") or _ROUNDS)
    failed = []
    with tempfile.TemporaryDirectory(prefix="surtitle-locales-") as locales:
        for seed in range(first, first + rounds):
            if not _passes(Random(seed), seed, Path(locales), arguments):
                failed.append(seed)
    for seed in failed:
        print(f"FAILED: SURTITLE_CHAOS_SEED={seed} SURTITLE_CHAOS_ROUNDS=1 python -m tests.chaos.anywhere")
    return 1 if failed else 0


def _passes(random: Random, seed: int, locales: Path, arguments: list[str]) -> bool:
    host, zone, locale = random.choice(_HOSTS), random.choice(_ZONES), random.choice(_LOCALES)
    environment = {**os.environ, "SURTITLE_CHAOS_SEED": str(seed), "TZ": zone, "LC_ALL": locale}
    if _is_made(locale, locales):
        environment["LOCPATH"] = str(locales)
    command = [sys.executable, "-m", "pytest", "-p", "tests.chaos.shuffled", *arguments]
    can_rename = not subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode
    if can_rename:
        # The command hostname refuses names that the kernel accepts.
        command = ["unshare", "--uts", sys.executable, "-c", _RENAMED, host, *command]
    where = f"on {host}" if can_rename else "on this host"
    print(f"seed {seed}: {where}, in {zone}, {locale}", flush=True)
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def _is_made(locale: str, folder: Path) -> bool:
    """Make a locale in a folder, where the system has it not and can."""
    known = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    name, _, encoding = locale.partition(".")
    if not encoding or locale.replace("UTF-8", "utf8") in known or not shutil.which("localedef"):
        return False
    command = ["localedef", "-i", name, "-f", encoding, str(folder / locale)]
    # It warns of what is no matter here, and then says 1.
    subprocess.run(command, capture_output=True, check=False)
    return (folder / locale).is_dir()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
