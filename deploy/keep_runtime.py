"""Removes from .venv what only developing and testing need, for a small image; ``--list`` prints names."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

#: The extras that the image has.
EXTRAS = ("azure", "web")
PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def needed(
    name: str, extras: frozenset[str], known: set[tuple[str, frozenset[str]]]
) -> Iterator[NormalizedName]:
    """The names of a package and of all that it needs; ``known`` are those that were met already."""
    if (name, extras) in known:
        return
    known.add((name, extras))
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return  # needed on other systems
    yield canonicalize_name(name)
    for line in found.requires or []:
        requirement = Requirement(line)
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in (*extras, "")
        ):
            yield from needed(canonicalize_name(requirement.name), frozenset(requirement.extras), known)


def superfluous() -> list[str]:
    """The installed packages that nothing needs at run time, in alphabetical order."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    asked = [
        *project["dependencies"],
        *(one for extra in EXTRAS for one in project["optional-dependencies"][extra]),
    ]
    wanted, known = {canonicalize_name(project["name"])}, set[tuple[str, frozenset[str]]]()
    for one in map(Requirement, asked):
        wanted.update(needed(canonicalize_name(one.name), frozenset(one.extras), known))
    return sorted({canonicalize_name(one.name) for one in distributions()} - wanted)


def main() -> None:
    """Remove them; pip goes with them, at the end."""
    names = superfluous()
    if "--list" in sys.argv[1:]:
        print("\n".join(names))
        return
    pip = [sys.executable, "-m", "pip", "uninstall", "--yes", "--quiet"]
    subprocess.run([*pip, *(name for name in names if name != "pip"), "pip"], check=True)


if __name__ == "__main__":
    main()
