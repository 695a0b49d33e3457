"""The key for Azure and the token for viewers are in nothing that a run writes, says or shows of itself."""

import base64
import os
import re
import signal
import subprocess
import sys
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import typer

from flows.cli import app as cli
from tests.connectors.web.browser import follow
from tests.operators.recognizers.azure.server import AzureServer, Session, running, say
from tests.program import SURTITLE, Program, completed

ROOT = Path(__file__).parent.parent.parent
KEY = "5ec2e7a0b1c24d3e8f9a0b1c2d3e4f50"
TOKEN = "pass-the-Museum_77"
# The program, all of it but the language model.
PROGRAM = (
    "from flows.captions import runner as captioning; from flows.cli import app as cli; "
    "from tests.recovering import ToyResources; "
    "ToyResources.recognizer = captioning.RunResources.recognizer; "
    "captioning.RunResources = ToyResources; {} cli.main()"
)
FILES = {
    "log.jsonl", "captions.jsonl", "partials.jsonl", "translations.jsonl", "talk.srt", "talk.vtt", "talk.wav",
    "summary.json",
}  # fmt: skip


def drop_in_mid_sentence(session: Session) -> None:
    session.recognize(0.6)
    session.drop()


def settings(folder: Path, host: str, *, key: str = "") -> list[str]:
    """Arguments of a run that writes all that there is to write into ``folder/out``."""
    with wave.open(str(folder / "talk.wav"), "wb") as speech:
        speech.setparams((1, 2, 16_000, 0, "NONE", ""))
        speech.writeframes(say([1, 2, 3], lead_s=0.1))
    (folder / "out").mkdir()
    path = folder / "surtitle.toml"
    path.write_text(
        f'[recognize]\nengine = "azure"\n[recognize.azure]\nhost = "{host}"\n'
        f"{key}[web]\nport = 0\nenabled = true\n"
        '[output]\nlog = "out/log.jsonl"\ncaptions = "out/captions.jsonl"\npartials = "out/partials.jsonl"\n'
        'translations = "out/translations.jsonl"\nsrt = "out/talk.srt"\nvtt = "out/talk.vtt"\n'
        'audio = "out/talk.wav"\nsummary = "out/summary.json"\n'
        '[recovery]\nfolder = "out/recovery"\ninterval_s = 0.05\n'
    )
    return ["file", "talk.wav", "--realtime", "--model", "captions", "--settings", "surtitle.toml"]


def start(
    folder: Path,
    arguments: list[str],
    *,
    before: str = "",
    environment: dict[str, str] | None = None,
    begin: "type[subprocess.Popen[bytes]]" = subprocess.Popen,
) -> "subprocess.Popen[bytes]":
    given = {"AZURE_SPEECH_KEY": KEY, "SURTITLE_WEB_TOKEN": TOKEN} if environment is None else environment
    others = {
        name: value for name, value in os.environ.items() if not name.startswith(("AZURE_", "SURTITLE_"))
    }
    return begin(
        [sys.executable, "-c", PROGRAM.format(before), *arguments], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**others, "PYTHONPATH": str(ROOT), **given},
    )  # fmt: skip


def shown(process: "subprocess.Popen[bytes]") -> bytes:
    """What everybody on the machine sees of a process and of its threads; the environment is its user's."""
    of = Path(f"/proc/{process.pid}")
    return b"".join(
        path.read_bytes() for path in (of / "cmdline", of / "comm", of / "status", *of.glob("task/*/comm"))
    )


def holds_secret(*texts: bytes) -> bool:
    forms = [
        form for secret in (KEY.encode(), TOKEN.encode()) for form in (secret, base64.b64encode(secret)[:-4])
    ]
    return any(form in text for text in texts for form in forms)


def written(folder: Path) -> dict[str, bytes]:
    paths = (path for path in (folder / "out").rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in paths}


def until_ended(process: "subprocess.Popen[bytes]") -> bytes:
    """What a run says until its captions stay."""
    assert process.stderr is not None
    said = b""
    while b"the input has ended" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said


@contextmanager
def ended(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def test_a_whole_run_and_its_report_show_no_secret(tmp_path: Path) -> None:
    with running(drop_in_mid_sentence, Session.recognize) as server:
        arguments = settings(tmp_path, server.url, key=f'key = "{KEY}"\n')
        process = start(tmp_path, arguments, environment={"SURTITLE_WEB_TOKEN": TOKEN})
        with ended(process):
            assert process.stderr is not None
            said = process.stderr.readline()
            port = int(said.split(b"127.0.0.1:")[1].split(b"/")[0])
            seen = shown(process)
            with follow(port, headers={"Cookie": f"surtitle-{port}={TOKEN}"}) as viewer:
                page = viewer.until_over()
            said += until_ended(process)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, said + stderr
        # It was a run, and the key was used.
        assert server.sessions[-1].headers["Ocp-Apim-Subscription-Key"] == KEY
    files = written(tmp_path)
    assert files.keys() >= FILES
    assert {"run.json", "part-0.sqlite3"} <= files.keys()
    report = [SURTITLE, "report", "captions.jsonl", "-o", "report.html", "--json", "report.json"]
    done = completed(report, cwd=tmp_path / "out", check=True)
    files = written(tmp_path)
    assert "report.html" in files
    assert not holds_secret(
        said, stdout, stderr, seen, done.stdout.encode(), done.stderr.encode(), repr(page.__dict__).encode()
    )
    assert [name for name, data in files.items() if holds_secret(data)] == []
    assert b"connected again" in said
    assert page.text


def test_no_failure_shows_a_secret(tmp_path: Path) -> None:
    wrong = [HTTPStatus.UNAUTHORIZED]
    defect = (
        "from operators.metrics.erasure import ErasureMeter; ErasureMeter.record = lambda *_: {}['a defect'];"
    )
    with running() as refusing, running() as serving:
        refusing.refusals = wrong
        cases = {
            "a key that is refused": (3, refusing, "", {}),
            "nobody at the address": (0, None, "", {}),
            "a defect with a traceback": (70, serving, defect, {}),
            "the key as the region": (2, serving, "", {"AZURE_SPEECH_REGION": KEY}),
            "a key of two lines": (2, serving, "", {"AZURE_SPEECH_KEY": f"{KEY}\n{KEY}"}),
            "a token that cannot be": (2, serving, "", {"SURTITLE_WEB_TOKEN": f"{TOKEN} {TOKEN}"}),
        }
        processes = {
            name: _start_case(tmp_path / str(number), server, before, changed)
            for number, (name, (_, server, before, changed)) in enumerate(cases.items())
        }
        for number, (name, process) in enumerate(processes.items()):
            with ended(process):
                stderr = b""
                if cases[name][0] == 0:
                    assert process.stderr is not None
                    stderr = until_ended(process)
                    process.send_signal(signal.SIGINT)
                stdout, more = process.communicate(timeout=60)
            assert process.returncode == cases[name][0], (name, stderr + more)
            assert stderr + more, name
            assert not holds_secret(stdout, stderr, more, *written(tmp_path / str(number)).values()), name
            assert (b"Traceback" in more) == (cases[name][0] == 70), (name, more)


def _start_case(
    folder: Path, server: AzureServer | None, before: str, changed: dict[str, str]
) -> "subprocess.Popen[bytes]":
    folder.mkdir()
    arguments = settings(folder, server.url if server else "ws://127.0.0.1:1")
    if "AZURE_SPEECH_REGION" in changed:
        path = folder / "surtitle.toml"
        path.write_text(path.read_text().replace(f'host = "{server.url if server else ""}"\n', ""))
    environment = {"AZURE_SPEECH_KEY": KEY, "SURTITLE_WEB_TOKEN": TOKEN, **changed}
    return start(folder, arguments, before=before, environment=environment, begin=Program)


def test_no_option_takes_a_secret() -> None:
    # What is on a command line is seen by everybody on the machine.
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]  # it is a group
    options = [name for command in commands.values() for one in command.params for name in one.opts]
    assert "--recognizer" in options
    # Files that hold some may be named.
    secrets = re.compile(r"token(?!izer)|key(?!s$)|password|secret")
    assert [name for name in options if secrets.search(name)] == []
