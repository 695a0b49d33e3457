"""The licences of what is installed: each is plainly permissive, or the NOTICE says what it asks for.

``python -m release.licences FOLDER LIST`` reads the packages in a folder of installed packages
(site-packages) and writes their names, versions and licences, with the texts that they carry. It fails if
there is a package whose licence nobody has read yet.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name

NOTICE = Path(__file__).parents[2] / "NOTICE"
#: Licences that ask for no more than their text, which lies in the package.
PERMISSIVE = frozenset(
    {"MIT", "MIT-0", "MIT-CMU", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Apache-2.0", "PSF-2.0",
     "Zlib", "CC0-1.0"}
)  # fmt: skip
#: The same in the words of packages that spell no licence expression.
IN_WORDS = PERMISSIVE | {
    "MIT License", "BSD License", "3-Clause BSD License", "ISC License (ISCL)", "Apache Software License"
}  # fmt: skip
_MAX_CHARACTERS = 60


def is_permissive(package: Distribution) -> bool:
    """Whether the package's metadata declare nothing but permissive licences."""
    for expression in package.metadata.get_all("License-Expression") or []:
        return set(re.findall(r"[\w.+-]+", expression)) - {"AND", "OR"} <= PERMISSIVE
    words = _classifiers(package) or _free_text(package)
    return bool(words) and set(words) <= IN_WORDS


def is_in_notice(name: str, notice: str) -> bool:
    """Whether the NOTICE has a paragraph or line about the package; one about a package covers its parts."""
    whole = re.sub(r"-part\d+$", "", canonicalize_name(name))
    return re.search(rf"^{re.escape(whole)}(?![\w-])", notice, re.MULTILINE) is not None


def unread(packages: Iterable[Distribution], notice: str) -> list[str]:
    """The packages that are neither plainly permissive nor in the NOTICE, with what they declare."""
    return [
        f"{package.name} {package.version} ({declared(package)})"
        for package in packages
        if not is_permissive(package) and not is_in_notice(package.name, notice)
    ]


def declared(package: Distribution) -> str:
    """What the package's metadata say of its licence, in a few words."""
    expressions = package.metadata.get_all("License-Expression") or _classifiers(package)
    words = " and ".join(expressions or _free_text(package)).partition("\n")[0]
    return words[:_MAX_CHARACTERS] or "no licence in its metadata"


def texts(package: Distribution) -> Iterator[str]:
    """The texts of licences and notices that the package carries in its metadata."""
    for path in package.files or []:
        is_named = re.search(r"licen[cs]e|copying|notice|authors", path.name, re.IGNORECASE)
        if is_named and ".dist-info" in str(path) and (found := Path(str(path.locate()))).is_file():
            yield found.read_text(encoding="utf-8", errors="replace").strip()


def listing(packages: Iterable[Distribution]) -> str:
    """All packages with their licences in a table, then the texts."""
    known = list(packages)
    lines = [f"{one.name} {one.version}: {declared(one)}" for one in known]
    for one in known:
        for text in texts(one):
            lines += ["", "-" * 80, f"{one.name} {one.version}", "", text]
    return "\n".join(lines) + "\n"


def _classifiers(package: Distribution) -> list[str]:
    found = package.metadata.get_all("Classifier") or []
    return [one.rpartition(" :: ")[2] for one in found if one.startswith("License")]


def _free_text(package: Distribution) -> list[str]:
    return package.metadata.get_all("License") or []


def main() -> None:
    """Write the list; exits with 1 and a sentence if a licence is to be read first."""
    folder, target = sys.argv[1:]
    packages = sorted(distributions(path=[folder]), key=lambda one: canonicalize_name(one.name))
    if not packages:
        sys.exit(f"release: {folder} has no installed packages")
    if found := unread(packages, NOTICE.read_text(encoding="utf-8")):
        sys.exit(
            f"release: read the licences of {', '.join(found)}, and say in NOTICE what they ask for, "
            "or do without the packages"
        )
    Path(target).write_text(listing(packages), encoding="utf-8")
    print(f"release: {len(packages)} packages, all permissive or in NOTICE: {target}")


if __name__ == "__main__":
    main()
