"""The built packages, installed where nothing else is, do what the checkout does (``make test-package``)."""

import json
import os
import re
import shutil
import subprocess
import urllib.request
import venv
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
    "web": ["replay", "captions.jsonl", "--web", "--port", "0"],
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
    "vosk": ["file", "talk.wav", "--to", "de", "--recognizer", "vosk", "--speech-model", "."],
    "media": ["file", "talk.mp4", "--to", "de"],
    "train": ["model", "train", "base", "--pairs", "pairs.tsv", "-o", "new.gguf", "--to", "de"],
}


class Installation:
    """A virtual environment with surtitle, a home folder in which it never ran, and a folder to run in."""

    def __init__(self, folder: Path) -> None:
        self.environment, self.home, self.work = folder / "venv", folder / "home", folder / "work"
        venv.create(self.environment, with_pip=True)
        self.home.mkdir()
        self.work.mkdir()

    def install(self, package: str) -> None:
        command = ["pip", "install", "-qq", "--find-links", str(LLAMA_WHEELS), package]
        subprocess.run([self.environment / "bin" / "python", "-m", *command], cwd=self.work, check=True)

    def command(self, *arguments: object) -> list[str]:
        """A command line in an environment that leads nowhere else."""
        isolated = [f"PATH={os.defpath}", f"HOME={self.home}", "LANG=C.UTF-8", f"AZURE_SPEECH_KEY={'0' * 32}"]
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


@pytest.fixture(scope="module", params=["surtitle-*.whl", "surtitle-*.tar.gz"], ids=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    installation = Installation(tmp_path_factory.mktemp("installed"))
    installation.install(str(built(request.param)))
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
    modules = "connectors, flows, operators, llama_cpp"
    program = f"import {modules}; print(*(one.__file__ for one in ({modules})), sep='\\n')"
    for line in installed.prints(program).splitlines():
        assert Path(line).is_relative_to(installed.environment)


def test_the_dependencies_fit_together(installed: Installation) -> None:
    subprocess.run([installed.environment / "bin" / "python", "-m", "pip", "check"], check=True)


def test_it_prints_its_version(installed: Installation) -> None:
    printed = installed.surtitle("--version").stdout
    assert printed == f"surtitle {built('surtitle-*.whl').name.split('-')[1]}\n"


def test_it_translates_with_the_captions_model_that_it_puts_together_at_its_first_start(
    installed: Installation,
) -> None:
    done = installed.surtitle(
        "replay", "partials.jsonl", "--to", "German", "--model", "captions", "--captions", "out.jsonl"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [text for text in finals(installed.work / "out.jsonl") if "Museum" in text or "Musee" in text]
    assert list((installed.home / ".cache" / "surtitle").glob("captions-en-de-*.gguf"))


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
    if extra == "media" and shutil.which("ffmpeg", path=os.defpath):
        pytest.skip("the system has what it brings")
    (installed.work / "talk.wav").touch()
    done = installed.surtitle(*NEED_AN_EXTRA[extra])
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"install it with: {installed.environment}/bin/python" in done.stderr
    assert done.stderr.endswith(f" -m pip install 'surtitle[{extra}]'\n")


@pytest.fixture(scope="module")
def with_extras(installed: Installation) -> Installation:
    """After all tests that want none of them."""
    installed.install(f"{built('surtitle-*.whl')}[{','.join(EXTRAS)}]")
    return installed


def test_every_extra_brings_what_is_imported_for_it(with_extras: Installation) -> None:
    names = {one for extra in EXTRAS for one in all_extras()[extra].packages}
    assert with_extras.prints(f"import {', '.join(sorted(names))}; print('all')") == "all\n"


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
