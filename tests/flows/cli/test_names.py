"""Names that commands print (of files, devices, findings, steps) send no control sequences to a terminal."""

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rich.console import Console

from connectors.microphone.devices import InputDevice
from flows.cli.app import print_devices
from flows.doctor.checks import Finding, Result
from flows.doctor.report import print_result
from flows.running.progress import ProgressLine
from tests.program import surtitle

NAME, PRINTED = "talk\x1b]0;obeyed\x07", r"talk\x1b]0;obeyed\x07"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            ["replay", "partials.jsonl", "--captions-only", "--set", f"output.log={NAME}.jsonl"], id="summary"
        ),
        pytest.param(["subtitle", f"{NAME}.wav", "--captions-only"], id="files that were written"),
        pytest.param(["file", f"missing {NAME}.wav"], id="a file that is missing"),
        pytest.param([NAME], id="no command"),
        pytest.param(["file", f"--{NAME}"], id="no option"),
    ],
)
def test_a_name_on_the_command_line_is_printed(tmp_path: Path, command: list[str]) -> None:
    soundfile.write(tmp_path / f"{NAME}.wav", np.zeros(16_000), 16_000)
    samples = Path(__file__).parents[2] / "samples"
    (tmp_path / "partials.jsonl").write_bytes((samples / "partials.jsonl").read_bytes())
    done = surtitle(*command, cwd=tmp_path)
    told = done.stdout + done.stderr
    assert PRINTED in told
    assert "\x1b" not in told


def test_the_name_of_a_device_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_devices([InputDevice(index=1, name=NAME, host="", channels=2, rate=48_000, is_default=True)])
    assert PRINTED in (told := capsys.readouterr().out)
    assert "\x1b" not in told


def test_what_the_doctor_found_is_printed() -> None:
    out = io.StringIO()
    print_result(Console(file=out, width=200), Result("model", [Finding("problem", NAME, NAME)]))
    assert out.getvalue().count("obeyed") == 2
    assert "\x1b" not in out.getvalue()


def test_the_present_step_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(
        "flows.running.progress.Console", lambda **_: Console(file=out, width=200, force_terminal=True)
    )
    with ProgressLine(quiet=False, captions=False) as line:
        line.doing(f"writing [/] {NAME}", None)
    assert f"writing [/] {PRINTED}" in out.getvalue()
