"""The order of segments and revisions is checked, also after a resume."""

import pickle
from pathlib import Path

import pytest

from connectors.jsonl.reading import validate
from connectors.jsonl.source import JsonlSource
from operators.errors import InputError
from operators.events import Partial
from tests.connectors.jsonl.partials import drained, line, partial, write, write_events


@pytest.mark.parametrize(
    ("follower", "expected"),
    [
        (line(segment=3, revision=1), 'line 3: field "revision": expected more than 1, .* found 1'),
        (line(segment=3, revision=0), 'line 3: field "revision": expected more than 1, .* found 0'),
        (line(segment=2, revision=9), "line 3: .*segment 2 already ended at line 2"),
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


def test_memory_of_segments_is_bounded(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", [partial(segment, is_final=True) for segment in range(5000)])
    part = JsonlSource(path, Partial).build_part("in", "part", None)
    assert len(list(drained(part))) == 5000
    assert len(pickle.dumps(part.snapshot())) < 500
    part.close()


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
        (partial(3, 2), "expected more than 2, the revision of segment 3"),
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
