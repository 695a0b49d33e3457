"""Subtitle files: whole at every moment, and the same after a crash as without one."""

import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
import srt as srt_reader
import webvtt
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import cluster_main
from hypothesis import given

from connectors.files.records import Held
from connectors.jsonl.source import JsonlSource
from connectors.sinks.subtitles import VTT_HEADER, Format, SubtitlePosition, SubtitleSink, srt, vtt
from operators.errors import OutputError
from operators.events import Caption
from operators.stages.subtitle import subtitle
from operators.subtitles.timing import Cue
from operators.subtitles.writer import Columns, SubtitleWriter
from tests.program import completed
from tests.subtitled import any_captions, caption

MS = timedelta(milliseconds=1)
ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def test_a_cue_of_subrip() -> None:
    assert srt(Cue(0, 3_723_004, ("one", "two")), 7) == "7\n00:00:00,000 --> 01:02:03,004\none\ntwo\n\n"


def test_a_cue_of_webvtt() -> None:
    assert vtt(Cue(1, 360_000_000, ("one", "two"))) == "00:00:00.001 --> 100:00:00.000\none\ntwo\n\n"


@pytest.mark.parametrize(
    ("text", "in_srt", "in_vtt"),
    [
        ("<i>a</i>", "‹i›a‹/i›", "&lt;i&gt;a&lt;/i&gt;"),
        ("1 --> 2", "1 --› 2", "1 --&gt; 2"),
        ("Q&amp;A", "Q&amp;A", "Q&amp;amp;A"),
        (r"{\an8}top\Nnext", "(∖an8)top∖Nnext", r"{\an8}top\Nnext"),
    ],
)
def test_recognised_text_is_never_markup(text: str, in_srt: str, in_vtt: str) -> None:
    assert srt(Cue(0, 1000, (text,)), 1).splitlines()[2] == in_srt
    assert vtt(Cue(0, 1000, (text,))).splitlines()[1] == in_vtt


@given(any_captions)
def test_readers_find_the_cues_that_were_written_after_each_of_them(captions: list[Caption]) -> None:
    writer = SubtitleWriter("target", Columns())
    cues = writer.take(captions) + writer.release()
    as_srt, as_vtt = "", VTT_HEADER
    for number, cue in enumerate(cues, 1):
        as_srt += srt(cue, number)
        as_vtt += vtt(cue)
    assert "\n\n\n" not in as_srt + as_vtt
    subtitles = list(srt_reader.parse(as_srt, ignore_errors=False))
    assert [one.index for one in subtitles] == list(range(1, len(cues) + 1))
    times = [(one.start / MS, one.end / MS) for one in subtitles]
    assert times == [(cue.start_ms, cue.end_ms) for cue in cues]
    assert [len(one.content.split("\n")) for one in subtitles] == [len(cue.lines) for cue in cues]
    assert [one.lines for one in webvtt.from_buffer(StringIO(as_vtt)).captions] == [
        [line.translate(ESCAPED) for line in cue.lines] for cue in cues
    ]


ROOT = Path(__file__).parent.parent.parent.parent
CUE = Cue(1000, 2000, ("Guten Morgen",))


def cues_in(path: Path) -> int:
    """How many cues a reader of its format finds in a file that must be valid."""
    if path.suffix == ".vtt":
        return len(webvtt.read(str(path)).captions)
    cues = list(srt_reader.parse(path.read_text(encoding="utf-8"), ignore_errors=False))
    assert [one.index for one in cues] == list(range(1, len(cues) + 1))
    return len(cues)


def partition(path: Path, position: SubtitlePosition | None = None) -> Any:
    kind: Format = "srt" if path.suffix == ".srt" else "vtt"
    return SubtitleSink(path, kind).build_part("out", "part", None if position is None else Held(position))


@pytest.fixture(params=["out.srt", "out.vtt"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def test_a_run_without_a_cue_leaves_a_valid_file(path: Path) -> None:
    path.write_text("what was there before")
    partition(path).close()
    assert cues_in(path) == 0
    assert path.read_bytes() == (b"WEBVTT\n\n" if path.suffix == ".vtt" else b"")


def test_the_file_is_valid_after_every_write(path: Path) -> None:
    part = partition(path)
    for number in range(1, 6):
        part.write_batch([Cue(number * 2000, number * 2000 + 1500, ("ein", f"<b> & {number}"))])
        assert cues_in(path) == number
    part.write_batch([])
    part.close()
    assert cues_in(path) == 5


def test_a_resumed_run_cuts_the_file_back_and_counts_on(path: Path) -> None:
    part = partition(path)
    part.write_batch([CUE])
    position = part.snapshot().position
    kept = path.read_bytes()
    part.write_batch([Cue(3000, 4000, ("lost with the machine",))])
    part.close()
    with path.open("ab") as file:
        file.write(b"\n00:00:0")
    part = partition(path, position)
    assert path.read_bytes() == kept
    part.write_batch([Cue(3000, 4000, ("zwei",))])
    part.close()
    assert cues_in(path) == 2
    if path.suffix == ".srt":
        assert path.read_text(encoding="utf-8").split("\n\n")[1].startswith("2\n00:00:03,000")


def test_half_a_cue_is_taken_back_when_the_disk_fills_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = partition(path)
    part.write_batch([CUE])
    kept, file = path.read_bytes(), part._target._file._file

    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(file, name)

        def write(self, data: bytes) -> int:
            if len(data) < 30:
                raise OSError(28, "No space left on device")
            return int(file.write(data[:20]))

    monkeypatch.setattr(part._target._file, "_file", Full())
    with pytest.raises(OutputError, match="No space left"):
        part.write_batch([CUE])
    assert path.read_bytes() == kept
    part.close()


# A run that is killed

FINALS = [caption(f"Satz Nummer {n} ist nun zu Ende.", 2 * n, 2 * n + 1.5, segment=n) for n in range(40)]


def flow(captions: Path, folder: Path, each: Callable[[Caption], Caption]) -> Dataflow:
    made = Dataflow("subtitled")
    stream = op.map("each", op.input("in", made, JsonlSource(captions, Caption, batch_size=1)), each)
    cues = subtitle("subtitle", stream, "target", Columns())
    op.output("srt", cues, SubtitleSink(folder / "out.srt", "srt"))
    op.output("vtt", cues, SubtitleSink(folder / "out.vtt", "vtt"))
    return made


def run(made: Dataflow, state: Path | None, workers: int = 1) -> None:
    config = RecoveryConfig(str(state)) if state else None  # type: ignore[no-untyped-call]  # Bytewax leaves it untyped
    cluster_main(  # type: ignore[no-untyped-call]  # Bytewax leaves it untyped
        made, [], 0, worker_count_per_proc=workers, recovery_config=config, epoch_interval=timedelta(0)
    )


def killed_at(folder: Path, segment: int) -> None:
    """Run the flow over the files in a folder, and kill it in the middle of a segment."""

    def each(event: Caption) -> Caption:
        if event.segment == segment:
            os.kill(os.getpid(), signal.SIGKILL)
        return event

    run(flow(folder / "captions.jsonl", folder, each), folder / "state")


def unbroken(captions: Path, folder: Path, workers: int = 1) -> Path:
    folder.mkdir()
    run(flow(captions, folder, lambda event: event), None, workers)
    return folder


def test_a_run_that_is_killed_twice_leaves_the_files_of_an_unbroken_one(tmp_path: Path) -> None:
    captions = tmp_path / "captions.jsonl"
    captions.write_bytes(msgspec.json.Encoder().encode_lines(FINALS))
    (tmp_path / "state").mkdir()
    init_db_dir(tmp_path / "state", 1)  # type: ignore[no-untyped-call]  # Bytewax leaves it untyped
    for segment in (13, 29, -1):
        code = (
            "from pathlib import Path; from tests.connectors.sinks.test_subtitles import killed_at; "
            f"killed_at(Path({str(tmp_path)!r}), {segment})"
        )
        done = completed([sys.executable, "-c", code], cwd=ROOT)
        assert done.returncode == (0 if segment < 0 else -signal.SIGKILL), done.stderr
        # What was written stands, whatever happened.
        assert cues_in(tmp_path / "out.srt") >= segment - 1
        assert cues_in(tmp_path / "out.vtt") >= segment - 1
    whole = unbroken(captions, tmp_path / "whole")
    for name in ("out.srt", "out.vtt"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()
        assert cues_in(tmp_path / name) == len(FINALS)


def test_one_worker_writes_however_many_there_are(tmp_path: Path) -> None:
    captions = tmp_path / "captions.jsonl"
    captions.write_bytes(msgspec.json.Encoder().encode_lines(FINALS))
    one, three = unbroken(captions, tmp_path / "one"), unbroken(captions, tmp_path / "three", workers=3)
    assert (one / "out.srt").read_bytes() == (three / "out.srt").read_bytes()
