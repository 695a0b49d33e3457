"""The order of segments and revisions is checked, also after a resume."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.jsonl.files import event_type_of, read_events, validate
from connectors.jsonl.source import JsonlSource
from connectors.sinks.jsonl import JsonlSink
from operators.errors import InputError
from operators.events import AudioChunk, Caption, Effort, Erasure, ErasureRecord, Event, Partial, Translation
from tests.connectors.jsonl.partials import BAD_LINES, drained, line, partial, read, write, write_events


@pytest.mark.parametrize(
    ("follower", "expected"),
    [
        (line(segment=3, revision=1), "line 3: expected a revision of segment 3 above 1, found 1"),
        (line(segment=3, revision=0), "line 3: expected a revision of segment 3 above 1, found 0"),
        (line(segment=2, revision=9), "line 3: segment 2 already ended"),
    ],
)
def test_revisions_only_grow_and_nothing_follows_a_final(
    tmp_path: Path, follower: bytes, expected: str
) -> None:
    before = [line(segment=3, revision=1), line(segment=2, revision=4, is_final=True)]
    path = write(tmp_path / "p.jsonl", *before, follower)
    with pytest.raises(InputError, match=expected):
        validate(path, Partial)


def test_streams_and_segments_may_interleave(tmp_path: Path) -> None:
    lines = [line(stream=name, segment=s, revision=r) for r in (0, 2) for s in (1, 0) for name in "ab"]
    assert validate(write(tmp_path / "p.jsonl", *lines), Partial) == 8


def test_what_a_resumed_run_knows_of_segments_is_what_the_run_before_it_knew(tmp_path: Path) -> None:
    begun = [partial(0, is_final=True), partial(1, is_final=True), partial(3, 2), partial(5, is_final=True)]
    path = write_events(tmp_path / "p.jsonl", begun)
    part = JsonlSource(path, Partial).build_part("in", "part", None)
    assert len(list(drained(part))) == 4
    position = part.snapshot()
    part.close()
    for follower, complaint in [
        (partial(1, 7), "segment 1 already ended"),
        (partial(5, 7), "segment 5 already ended"),
        (partial(3, 2), "expected a revision of segment 3 above 2"),
    ]:
        write_events(path, [*begun, follower])
        resumed = JsonlSource(path, Partial).build_part("in", "part", position)
        with pytest.raises(InputError, match=complaint):
            list(drained(resumed))
        resumed.close()
    write_events(path, [*begun, partial(2), partial(3, 3), partial(4)])
    resumed = JsonlSource(path, Partial).build_part("in", "part", position)
    assert len(list(drained(resumed))) == 3
    resumed.close()


def test_the_event_type_may_be_spelled_with_escapes(tmp_path: Path) -> None:
    path = write(tmp_path / "events.jsonl", line(event="partial").replace(b"partial", b"\\u0070artial"))
    assert event_type_of(path) is Partial
    assert validate(path, Partial) == 1


def test_lines_that_are_no_events_do_not_hide_the_type(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"\n", b"# made by hand\n", b'{"note": 1}\n', line())
    assert event_type_of(path) is Partial


def test_a_file_without_events_names_its_first_line_and_what_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line(text=None, arrival_s=None))
    with pytest.raises(InputError, match=r'p\.jsonl, line 1: not an event: it has no field "event", and not'):
        event_type_of(path)
    with pytest.raises(InputError, match=r"line 1: expected one of audio, partial,"):
        event_type_of(write(path, line(event="subtitle")))
    with pytest.raises(InputError, match="is empty"):
        event_type_of(write(path, b"\n\n"))


def test_what_is_not_a_readable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        validate(tmp_path / "none.jsonl", Partial)
    with pytest.raises(InputError, match="not a regular file"):
        validate(tmp_path, Partial)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        event_type_of(tmp_path / "pipe")
    with pytest.raises(InputError, match="there is no such file"):
        read(JsonlSource(tmp_path / "none.jsonl", Partial))


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


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line(confidence=0.9))
    assert read(JsonlSource(path, Partial)) == [partial()]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
finite = st.floats(min_value=0, max_value=1e10)
counts = st.integers(min_value=0, max_value=2**53 - 1)
lengths = st.integers(min_value=0, max_value=10**9)
segments_of = {"stream": texts, "segment": counts, "revision": counts, "is_final": st.booleans()}
times_of = {"start_s": finite, "end_s": finite, "arrival_s": finite}
efforts = st.builds(Effort, drafted=counts, accepted=counts, decoded=counts, model_s=finite)
erasures = st.builds(Erasure, length=lengths, erased=lengths, ne_segment=finite, ne_stream=finite)
any_events = st.one_of(
    st.builds(AudioChunk, stream=texts, start_s=finite, pcm=st.binary(max_size=40), is_last=st.booleans()),
    st.builds(Partial, **segments_of, **times_of, text=texts),
    st.builds(
        Translation, **segments_of, **times_of, source=texts, text=texts,
        tokens=st.lists(st.integers(0, 2**31 - 1)).map(tuple), pieces=st.lists(texts).map(tuple),
        ready_s=finite, effort=efforts,
    ),
    st.builds(
        Caption, **segments_of, **times_of, source=texts, shown=texts, withheld=texts, ready_s=finite,
        effort=efforts,
    ),
    st.builds(
        ErasureRecord, **segments_of, raw=erasures, shown=erasures, accepted_over_drafted=st.none() | finite,
        accepted_over_output=st.none() | finite, latency_from_speech_s=finite, latency_from_arrival_s=finite,
        effort=efforts, signature=texts,
    ),
)  # fmt: skip


@given(any_events)
def test_what_is_written_is_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, event: Event
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    sink = JsonlSink(path).build_part("out", "part", None)
    sink.write_batch([event])
    sink.close()
    assert event_type_of(path) is type(event)
    source = JsonlSource(path, type(event)).build_part("in", "part", None)
    assert list(drained(source)) == [event]
    source.close()
