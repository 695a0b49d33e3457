"""The order of segments and revisions is checked, also after a resume."""

import os
from pathlib import Path

import pytest

from connectors.jsonl.files import event_type_of, read_events, validate
from connectors.jsonl.source import JsonlSource
from connectors.sinks.jsonl import JsonlSink
from operators.errors import InputError
from operators.events import AudioChunk, Effort, Event, Partial
from tests.connectors.jsonl.partials import BAD_LINES, drained, line, read, write
from tests.subtitled import caption


@pytest.mark.parametrize(
    ("follower", "expected"),
    [
        (line(segment=3, revision=1), "line 3: expected a revision of segment 3 above 1, found 1"),
        (line(segment=3, revision=0), "line 3: expected a revision of segment 3 above 1, found 0"),
        (line(segment=2, revision=9), "line 3: segment 2 already ended"),
    ],
)
def test_revisions_only_grow_and_nothing_follows_a_final_also_in_a_resumed_run(
    tmp_path: Path, follower: bytes, expected: str
) -> None:
    before = [line(segment=3, revision=1), line(segment=2, revision=4, is_final=True)]
    path = write(tmp_path / "p.jsonl", *before)
    killed = JsonlSource(path, Partial).build_part("in", "part", None)
    assert len(list(drained(killed))) == 2
    write(path, *before, follower)
    resumed = JsonlSource(path, Partial).build_part("in", "part", killed.snapshot())
    for attempt in (lambda: validate(path, Partial), lambda: list(drained(resumed))):
        with pytest.raises(InputError, match=expected):
            attempt()
    killed.close()
    resumed.close()


def test_streams_and_segments_may_interleave(tmp_path: Path) -> None:
    lines = [line(stream=name, segment=s, revision=r) for r in (0, 2) for s in (1, 0) for name in "ab"]
    assert validate(write(tmp_path / "p.jsonl", *lines), Partial) == 8


def test_the_event_type_is_found_with_escapes_and_behind_lines_that_are_no_events(tmp_path: Path) -> None:
    escaped = line(event="partial", confidence=0.9).replace(b"partial", b"\\u0070artial")
    path = write(tmp_path / "events.jsonl", b"\n", escaped)
    assert event_type_of(path) is Partial
    assert validate(path, Partial) == 1
    assert event_type_of(write(path, b"# made by hand\n", b'{"note": 1}\n', line())) is Partial


def test_a_file_without_events_names_its_first_line_and_what_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line(text=None, arrival_s=None))
    with pytest.raises(InputError, match=r'p\.jsonl, line 1: not an event: it has no field "event", and not'):
        event_type_of(path)
    with pytest.raises(InputError, match=r"line 1: expected one of audio, partial,"):
        event_type_of(write(path, line(event="subtitle")))
    with pytest.raises(InputError, match="is empty"):
        event_type_of(write(path, b"\n\n"))


def test_what_is_not_a_readable_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        ("none", "there is no such file"),
        (".", "not a regular"),
        ("pipe", "not a regular"),
    ):
        for attempt in (event_type_of, lambda path: validate(path, Partial)):
            with pytest.raises(InputError, match=reason):
                attempt(tmp_path / path)


@pytest.mark.parametrize("expected", BAD_LINES)
def test_a_bad_line_is_named_with_file_line_and_field(tmp_path: Path, expected: str) -> None:
    path = write(tmp_path / "p.jsonl", line(), b"\n", BAD_LINES[expected])
    for attempt in (lambda: validate(path, Partial), lambda: read(JsonlSource(path, Partial))):
        with pytest.raises(InputError) as caught:
            attempt()
        assert str(caught.value).startswith(f"{path}, line 3: ")
        assert expected.strip() in str(caught.value)


def test_the_last_line_may_lack_its_newline_and_others_may_be_blank(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"\xef\xbb\xbf", line(), b"\r\n  \n", line(revision=1).rstrip())
    assert validate(path, Partial) == 2
    assert [event.revision for event in read(JsonlSource(path, Partial))] == [0, 1]


@pytest.mark.parametrize("half", [line()[:-9], line(text="Grün")[:30] + b"\xc3", b"\0\0\0"])
def test_a_last_line_that_was_cut_is_never_used_and_passed_over_where_that_is_told(
    tmp_path: Path, half: bytes
) -> None:
    path = write(tmp_path / "p.jsonl", line(), line(revision=1), half)
    told: list[str] = []
    assert len(list(read_events(path, Partial, told.append))) == 2
    assert told == [f"{path}, line 3: the file was cut there; all lines before it are used"]
    with pytest.raises(InputError, match=r"line 3: .*; correct that line, or remove it$"):
        validate(path, Partial)
    # A whole line that is wrong is no remnant of a crash.
    with pytest.raises(InputError, match="line 3: "):
        list(read_events(write(path, line(), line(revision=1), half + b"\n"), Partial, print))


@pytest.mark.parametrize(
    "event",
    [
        AudioChunk(stream="é\u2028\n", start_s=0.1, pcm=bytes(range(256)), is_last=True),
        caption("é\u2028\n\x00", 1 / 3, 1e10, effort=Effort(drafted=2**53 - 1, model_s=1e-9)),
    ],
)
def test_what_is_written_is_read_back_the_same(tmp_path: Path, event: Event) -> None:
    path = tmp_path / "round.jsonl"
    sink = JsonlSink(path).build_part("out", "part", None)
    sink.write_batch([event])
    sink.close()
    assert event_type_of(path) is type(event)
    assert read(JsonlSource(path, type(event))) == [event]
