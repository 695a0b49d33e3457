"""LICENSE and NOTICE: what they name is what is installed."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parent.parent
NOTICE = (ROOT / "NOTICE").read_text()
PERMISSIVE = {
    "MIT", "MIT-0", "MIT-CMU", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Apache-2.0", "PSF-2.0", "Zlib",
    "CC0-1.0",
}  # fmt: skip
#: The same in the words of packages that spell no licence expression.
IN_WORDS = {
    "MIT License", "BSD License", "3-Clause BSD License", "ISC License (ISCL)", "Apache Software License",
}  # fmt: skip
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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
    for requirement in map(Requirement, found.requires or []):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield from needed(canonicalize_name(requirement.name), frozenset(requirement.extras), known)


def runtime_packages() -> list[str]:
    """The names of all packages that surtitle and its extras ask for, and of those that these need."""
    extras = PROJECT["optional-dependencies"]
    installed = (extra for name, extra in extras.items() if name != "train")
    known: set[tuple[str, frozenset[str]]] = set()
    wanted = map(Requirement, [*PROJECT["dependencies"], *chain.from_iterable(installed)])
    found = (needed(canonicalize_name(one.name), frozenset(one.extras), known) for one in wanted)
    return sorted(set(chain.from_iterable(found)))


def is_permissive(name: str) -> bool:
    """Whether the package's metadata declare nothing but licences that ask for no more than their text."""
    given = distribution(name).metadata
    for expression in given.get_all("License-Expression") or []:
        return set(re.findall(r"[\w.+-]+", expression)) - {"AND", "OR"} <= PERMISSIVE
    classifiers = [one for one in given.get_all("Classifier") or [] if one.startswith("License")]
    words = [one.rpartition(" :: ")[2] for one in classifiers] or given.get_all("License") or []
    return bool(words) and set(words) <= PERMISSIVE | IN_WORDS


@pytest.mark.parametrize("name", runtime_packages())
def test_a_package_that_is_not_plainly_permissive_is_named_in_the_notice(name: str) -> None:
    # The notice on a package covers its parts.
    whole = re.sub(r"-part\d+$", "", canonicalize_name(name))
    assert is_permissive(name) or re.search(rf"^{re.escape(whole)}(?![\w-])", NOTICE, re.MULTILINE)


@pytest.mark.parametrize("name", re.findall(r"^([a-z0-9-]+)(?:, installed.*)?:", NOTICE, re.MULTILINE))
def test_a_package_that_the_notice_names_is_installed(name: str) -> None:
    assert distribution(name).version


def test_the_notice_has_the_sentence_that_gemmas_terms_ask_for() -> None:
    sentence = (
        "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms"
    )
    assert sentence in NOTICE.splitlines()
