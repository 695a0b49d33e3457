"""Corpora by name as benchmarks take them: texts that grow, and talks that a recogniser heard."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from connectors.corpora import DATA_VARIABLE
from flows.cli.app import app
from flows.measuring.corpus import load_corpus, load_named
from operators.errors import UsageError
from operators.languages import Direction

EN_DE = Direction.of("en", "de")
#: Start, end and reference of the segments of a talk.
SAID = [(0.0, 2.0, "A"), (3.0, 6.0, "B"), (6.5, 8.0, "C"), (8.5, 10.0, "D"), (12.0, 14.0, "E")]
#: What a recogniser heard: A, B split by a pause, C and D as one, E, and a cough.
HEARD = [(0.1, 2.2), (2.9, 4.0), (5.0, 6.1), (6.4, 10.1), (11.8, 14.3), (20.0, 21.0)]


@pytest.fixture
def partials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    lines = [
        {"talk": "talk.1", "offset_s": start, "duration_s": end - start, "en": "x y z", "de": reference}
        for start, end, reference in SAID
    ]
    (tmp_path / "acl6060.dev.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return write(tmp_path / "heard.jsonl", "talk.1.wav")


def write(path: Path, stream: str) -> Path:
    lines = [
        {
            "stream": stream, "segment": number, "revision": revision, "text": f"{number}.{revision}",
            "is_final": revision == 1, "start_s": start, "end_s": end if revision else (start + end) / 2,
            "arrival_s": end,
        }
        for number, (start, end) in enumerate(HEARD)
        for revision in (0, 1)
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return path


def test_only_segments_that_are_one_utterance_have_its_reference(partials: Path) -> None:
    corpus = load_named("acl6060", EN_DE, partials, lag=3, chosen=slice(0, None))
    assert corpus.references == ["A", "E"]
    assert [segment.updates for segment in corpus.segments] == [("0.0", "0.1"), ("4.0", "4.1")]
    assert corpus.name == "acl6060|heard.jsonl|updates:recorded|fit:2-of-6|segments:1-2"
    with pytest.raises(UsageError, match=r"no talk is called other; .* one of talk\.1"):
        load_named("acl6060", EN_DE, write(partials, "other"), lag=3, chosen=slice(0, None))


def test_texts_grow_and_have_their_references(partials: Path) -> None:  # noqa: ARG001 - it is the folder
    corpus = load_named("acl6060", EN_DE, None, lag=2, chosen=slice(1, 3))
    assert [segment.updates for segment in corpus.segments] == [("x y", "x y z")] * 2
    assert corpus.references == ["B", "C"]


def test_a_stream_that_is_written_is_read_back_as_the_same_updates(tmp_path: Path) -> None:
    text, made = tmp_path / "text.txt", tmp_path / "made.jsonl"
    text.write_text("one two three four five\nsix\n")
    done = CliRunner().invoke(app, ["partials", str(text), "--lag", "2", "-o", str(made)])
    assert done.exit_code == 0, done.output
    written = load_corpus(made, lag=None, chosen=slice(0, None)).segments
    assert [one.updates for one in written] == [
        one.updates for one in load_corpus(text, lag=2, chosen=slice(0, None)).segments
    ]
    times = [(one["start_s"], one["end_s"]) for one in map(json.loads, made.read_text().splitlines())]
    assert times == [pytest.approx(one) for one in ((0, 0.8), (0, 1.6), (0, 2.0), (2.0, 2.4))]
