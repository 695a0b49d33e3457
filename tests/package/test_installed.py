"""The built packages, installed where nothing else is, do what the checkout does (``make test-package``)."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from flows.doctor.checks import all_extras

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ROOT / "tests" / "samples"
#: The wheel of llama-cpp-python that set-up compiled.
LLAMA_WHEELS = ROOT / ".venv" / "llama"
#: All extras but PyTorch's, which is left out for its size.
EXTRAS = sorted(all_extras().keys() - {"train"})
#: Commands that need an extra, each with something to read.
NEED_AN_EXTRA = {
    "llm": ["replay", "partials.jsonl", "--to", "German", "--model", "captions"],
    "kafka": ["job", "kafka.toml"],
    "azure": [
        "file",
        "talk.wav",
        "--to",
        "de",
        "--recognizer",
        "azure",
        "--realtime",
        "--settings",
        "azure.toml",
    ],
    "sherpa": ["file", "talk.wav", "--to", "de", "--recognizer", "sherpa", "--speech-model", "."],
    "vosk": ["file", "talk.wav", "--to", "de", "--recognizer", "vosk", "--speech-model", "."],
    "whisper": ["file", "talk.wav", "--from", "pt", "--captions-only"],
    "media": ["file", "talk.mp4", "--to", "de"],
    "train": ["model", "train", "base", "--pairs", "pairs.tsv", "-o", "new.gguf", "--to", "de"],
}


class Installation:
    """A virtual environment with surtitle, a home folder in which it never ran, and a folder to run in."""

    def __init__(self, folder: Path, python: str) -> None:
        self.environment, self.home, self.work = folder / "venv", folder / "home", folder / "work"
        subprocess.run([python, "-m", "venv", self.environment], check=True)
        self.home.mkdir()
        self.work.mkdir()

    def install(self, package: str, *options: str) -> None:
        command = ["pip", "install", "-qq", *options, package]
        # Without a compiler.
        environment = os.environ | dict.fromkeys(("CC", "CXX"), "/nowhere/cc")
        subprocess.run(
            [self.environment / "bin" / "python", "-m", *command], cwd=self.work, env=environment, check=True
        )

    def command(self, *arguments: object) -> list[str]:
        """A command line in an environment that leads nowhere else."""
        path = self.environment / "bin"  # without the system's ffmpeg, for instance
        isolated = [f"PATH={path}", f"HOME={self.home}", "LANG=C.UTF-8", f"AZURE_SPEECH_KEY={'0' * 32}"]
        return ["env", "-i", *isolated, *map(str, arguments)]

    def surtitle(self, *arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(self.environment / "bin" / "surtitle", *arguments),
            cwd=self.work, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=600,
        )  # fmt: skip

    def prints(self, program: str) -> str:
        """What a program in Python prints."""
        command = self.command(self.environment / "bin" / "python", "-c", program)
        return subprocess.run(command, cwd=self.work, capture_output=True, text=True, check=True).stdout


def built(pattern: str) -> Path:
    (package,) = (ROOT / "dist").glob(pattern)
    return package


def interpreter(minor: int) -> str | None:
    """A Python 3.``minor``, of the path or of pyenv; a launcher of one that is not installed may be there."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [shutil.which(f"python3.{minor}"), *map(str, sorted(versions.glob(f"3.{minor}.*/bin/python3")))]
    return next((one for one in named if one and _runs(one)), None)


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode == 0


PYTHONS = [python for python in map(interpreter, (11, 12)) if python]
BUILT = [*((python, "surtitle-*.whl") for python in PYTHONS), (PYTHONS[0], "surtitle-*.tar.gz")]


@pytest.fixture(scope="module", params=BUILT, ids=lambda each: f"{each[0]}, {each[1].rpartition('.')[2]}")
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    python, package = request.param
    installation = Installation(tmp_path_factory.mktemp("installed"), python)
    installation.install(str(built(package)))
    for name in ("partials.jsonl", "captions.jsonl"):
        shutil.copy(SAMPLES / name, installation.work)
    (installation.work / "talk.txt").write_text("It was the best of times.\n")
    (installation.work / "talk.mp4").write_bytes(b"\0\0\0\x20ftypisom")
    (installation.work / "pairs.tsv").write_text("the house\tdas Haus\n")
    (installation.work / "kafka.toml").write_text('translate.to = "German"\n[input.kafka]\ntopic = "said"\n')
    (installation.work / "azure.toml").write_text('[recognize.azure]\nregion = "westeurope"\n')
    return installation


def finals(path: Path) -> list[str]:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event["shown"] for event in events if event["is_final"]]


def test_everything_is_imported_from_the_environment(installed: Installation) -> None:
    modules = "connectors, flows, operators"
    program = f"import {modules}; print(*(one.__file__ for one in ({modules})), sep='\\n')"
    for line in installed.prints(program).splitlines():
        assert Path(line).is_relative_to(installed.environment)


def test_the_dependencies_fit_together(installed: Installation) -> None:
    subprocess.run([installed.environment / "bin" / "python", "-m", "pip", "check"], check=True)


def test_it_prints_its_version(installed: Installation) -> None:
    printed = installed.surtitle("--version").stdout
    assert printed == f"surtitle {built('surtitle-*.whl').name.split('-')[1]}\n"


def test_it_recognises_and_translates_a_recording(installed: Installation, speech: Path) -> None:
    shutil.copy(speech, installed.work / "talk.wav")
    done = installed.surtitle(
        "file", "talk.wav", "--to", "Portuguese", "--srt", "talk.srt", "--captions", "s.jsonl"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert finals(installed.work / "s.jsonl")
    assert " --> " in (installed.work / "talk.srt").read_text()


@pytest.mark.parametrize("extra", NEED_AN_EXTRA)
def test_without_an_extra_one_sentence_says_how_to_install_it(installed: Installation, extra: str) -> None:
    (installed.work / "talk.wav").touch()
    done = installed.surtitle(*NEED_AN_EXTRA[extra])
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"{installed.environment}/bin/python -m pip" in done.stderr
    assert done.stderr.endswith(f" -m pip install 'surtitle[{extra}]'\n")


def test_the_demo_captions_its_speech_with_what_came_along(installed: Installation) -> None:
    done = installed.surtitle("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "sabedoria" in done.stdout, "the age of wisdom"


def test_uvx_runs_the_readmes_first_command(tmp_path: Path) -> None:
    (line,) = (one for one in (ROOT / "README.md").read_text().splitlines() if one.startswith("uvx "))
    shutil.copy(built("surtitle-*.whl"), tmp_path)
    uv = Path(sys.executable).with_name("uv")
    # uvx is `uv tool run`; the tool is kept nowhere.
    command = [str(uv), "--no-config", "tool", "run", "--system-certs", "--isolated", *line.split()[1:]]
    environment = os.environ | {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "sabedoria" in done.stdout
    again = line.rpartition(" ")[0]
    assert f"{again} live --to Portuguese" in done.stdout


@pytest.fixture(scope="module")
def with_extras(installed: Installation) -> Installation:
    """After all tests that want none of them."""
    installed.install(f"{built('surtitle-*.whl')}[{','.join(EXTRAS)}]", "--find-links", str(LLAMA_WHEELS))
    return installed


def test_every_extra_brings_what_is_imported_for_it(with_extras: Installation) -> None:
    names = {one for extra in EXTRAS for one in all_extras()[extra].packages}
    assert with_extras.prints(f"import {', '.join(sorted(names))}; print('all')") == "all\n"


def test_it_translates_with_the_captions_model_that_it_puts_together_at_its_first_start(
    with_extras: Installation,
) -> None:
    done = with_extras.surtitle(
        "replay", "partials.jsonl", "--to", "German", "--model", "captions", "--captions", "out.jsonl"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [text for text in finals(with_extras.work / "out.jsonl") if "Museum" in text or "Musee" in text]
    assert list((with_extras.home / ".cache" / "surtitle").glob("captions-en-de-*.gguf"))


def test_the_server_of_rooms_answers_with_its_page(with_extras: Installation) -> None:
    command = with_extras.command(
        with_extras.environment / "bin" / "surtitle", "serve", "--to", "Portuguese", "--port", "0"
    )
    with subprocess.Popen(command, cwd=with_extras.work, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = server.stderr.readline()
            (address,) = re.findall(r"http://\S+", said)
            with urllib.request.urlopen(address, timeout=10) as answer:
                page = answer.read().decode()
            with urllib.request.urlopen(f"{address.partition('?')[0]}static/speak.js", timeout=10) as answer:
                script = answer.read()
        finally:
            server.kill()
    assert "<html" in page
    assert script == (ROOT / "connectors" / "web" / "static" / "speak.js").read_bytes()
