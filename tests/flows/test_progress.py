"""Commands that draw a line of progress in a terminal end as they do without one."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from operators.recognizers.moonshine import bundled_model
from tests.program import SURTITLE, Program

SPEECH = bundled_model().parent / "two_cities.wav"
# At 16 kHz the last sample ends a little before the length, so no position is the end.
RATE, LENGTHS = 22_050, (90_021, 70_099, 61_337)
PARTIALS = Path(__file__).parent.parent / "samples" / "partials.jsonl"


def recordings(folder: Path) -> list[Path]:
    samples, rate = soundfile.read(SPEECH)
    at = np.arange(max(LENGTHS)) * rate / RATE
    samples = np.interp(at, np.arange(len(samples)), samples)
    paths = [folder / f"talk{number}.wav" for number in range(len(LENGTHS))]
    for path, frames in zip(paths, LENGTHS, strict=True):
        soundfile.write(path, samples[:frames], RATE)
    return paths


def in_terminal(*arguments: object, stdout: int | None = None) -> tuple[int, str]:
    """Run the program with standard error, and standard output if nothing else is given, in a terminal."""
    ours, theirs = os.openpty()
    try:
        process = Program(
            [SURTITLE, *map(str, arguments)], stdin=subprocess.DEVNULL, stderr=theirs,
            stdout=theirs if stdout is None else stdout,
        )  # fmt: skip
    finally:
        os.close(theirs)
    shown = b""
    with os.fdopen(ours, "rb", buffering=0) as screen, process:
        try:
            while data := screen.read(65_536):
                shown += data
        except OSError:  # the last one who could write has ended
            pass
    return process.wait(), shown.decode(errors="replace")


def test_each_of_several_recordings_is_subtitled_in_a_terminal(tmp_path: Path) -> None:
    given = recordings(tmp_path)
    status, shown = in_terminal("subtitle", *given, "--captions-only")
    assert "translating the recording" in shown
    assert status == 0, shown
    assert all(one.with_suffix(".en.srt").stat().st_size for one in given)
    assert all(f"{one}: {one.with_suffix('.en.srt')}" in shown.replace("\r\n", "") for one in given)


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("file TALK --captions-only --srt talk.srt", "segments"),
        ("trace PARTIALS --to Portuguese", "signature"),
        ("bench PARTIALS --to Portuguese --repeat 1 --limit 1 --vary method=retranslate", "Speed relative"),
        ("loadgen TALK --captions-only --rooms 1 --seconds 2", "load on the flow"),
    ],
)
def test_what_is_printed_beside_the_line_goes_where_standard_output_does(
    command: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    talk = recordings(tmp_path)[0]
    arguments = command.replace("TALK", str(talk)).replace("PARTIALS", str(PARTIALS)).split()
    with (tmp_path / "printed").open("w+") as out:
        status, shown = in_terminal(*arguments, stdout=out.fileno())
        out.seek(0)
        told = out.read()
    assert status == 0, shown
    assert printed in told
    assert printed not in shown
