"""``surtitle trace``: what it records of a real run, what it draws, and what it refuses."""

import json
import xml.etree.ElementTree as ET
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from flows.cli.app import app
from flows.engine.tracing import partials_of
from flows.pages.trace import cell, graph, grid, iterations, pictures, write_pictures
from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.blockwise import decode
from operators.decoding.drive import drive
from operators.decoding.forward import Origin, Task
from operators.decoding.recorder import Recorder
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from operators.decoding.trace import Decoding, LogitsRow, Trace, UpdateTrace, occurring
from operators.errors import InputError, OutputError, SurtitleError, UsageError
from operators.events import Partial
from operators.research.jacobi import Jacobi
from tests.flows.talk import captions, write
from tests.says import Said, Says
from tests.toy import END, ToyCache

SAMPLE = Path(__file__).parent.parent.parent / "samples" / "partials.jsonl"
SVG = "{http://www.w3.org/2000/svg}"

HOSTILE = (
    "<script>alert(1)</script>",
    "]]><svg onload=alert(2)>",
    " \"'&amp;{{ 7*7 }}",
    "\x00\x1b[2J\u202e\ufffe\uffff\ud800",
    " שלום",
    "こんにちは世界",
    "<0xE2>",
)


def partial(segment: int, stream: str = "talk", **values: Any) -> Partial:
    times = {"start_s": 0.0, "end_s": 1.0, "arrival_s": 1.0}
    given: dict[str, Any] = {"revision": 0, "is_final": False, "text": "Good.", **times}
    return Partial(stream=stream, segment=segment, **given | values)


class OneSession:
    """A pool of one session, by default of the toy model."""

    def __init__(self, session: Says | None = None) -> None:
        self.cache = session or PrefixSession(ToyCache())

    def session(self, key: str) -> Any:
        assert key == "one"
        return nullcontext(self.cache)

    def release(self, key: str) -> None:
        raise AssertionError(key)


def decoded(prompt: list[int], draft: list[int], limit: int = 14, committed: int = 0) -> Decoding:
    """What biased decoding with parallel guesses does on the toy model."""
    task = Task(prompt, draft, frozenset([END]), limit, committed=min(committed, len(draft)), source=prompt)
    rule = BiasedAcceptance(0.3)
    recorder = Recorder(lambda task: ssbd(task, rule, None, Jacobi(task, block=4)), OneSession())
    with recorder.session("one") as session:
        drive(recorder.method(task), session)
    return recorder.take()["one"]


def a_trace(*windows: Decoding, pieces: dict[int, str] | None = None, **values: Any) -> Trace:
    made = tuple(
        UpdateTrace(number, is_final=False, source="Good.", text="Gut.", windows=(window,))
        for number, window in enumerate(windows)
    )
    pieces = {token: f" {token}" for token in occurring(made)} | (pieces or {})
    given: dict[str, Any] = {"surtitle": "0", "stream": "s", "segment": 0, "model": "toy", "settings": {}}
    return Trace(pieces=pieces, updates=made, **given | values)


tasks = st.builds(
    decoded,
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(st.integers(1, 6), max_size=12),
    st.integers(1, 14),
    st.integers(0, 4),
)


@given(st.lists(tasks, max_size=3), st.lists(st.text(), min_size=7, max_size=7))
def test_whatever_tokens_say_the_pictures_are_xml_and_have_a_cell_for_each(
    windows: list[Decoding], texts: list[str]
) -> None:
    for stem, picture in pictures(a_trace(*windows, pieces=dict(enumerate(texts)))):
        root = ET.fromstring(picture.encode("utf-8"))
        tokens = [one for one in root.iter(f"{SVG}title") if one.text and one.text[0].isdigit()]
        assert len(tokens) == len(windows[int(stem.split("-")[1])].output)


def test_text_from_outside_is_no_markup() -> None:
    pieces = dict(enumerate(HOSTILE))
    trace = a_trace(
        decoded([3, 1], [1, 2, 3, 4, 5, 6]), pieces=pieces, stream=HOSTILE[0], model=HOSTILE[1],
        settings={"method": HOSTILE[0], HOSTILE[1]: HOSTILE[0]},
    )  # fmt: skip
    made = dict(pictures(trace))
    for picture in made.values():
        assert "<script" not in picture
        assert "onload=alert(2)>" not in picture
        assert "\u202e" not in picture
    assert "こんにちは世界" in made["update-0000-grid"]


@pytest.mark.parametrize(
    ("row", "drawn"),
    [
        (LogitsRow(1, 0.6), None),
        (LogitsRow(1, 0.6, 1, 0.6), ("guess", "a", "", False)),
        (LogitsRow(1, 0.6, 2, 0.1), ("guess", "b", "≠ a", False)),
        (LogitsRow(1, 0.6, 1, 0.6, 1, 0.6), ("decided", "a", "", False)),
        (LogitsRow(1, 0.6, 2, 0.1, 2, 0.1), ("decided", "b", "≠ a", False)),
        (LogitsRow(1, 0.6, 2, 0.1, 1, 0.6), ("decided", "a", "b", True)),
        (LogitsRow(1, 0.6, 2, 0.1, ends=True), ("end", "■", "b", True)),
    ],
)
def test_a_cell_says_what_its_pass_made_of_the_place(row: LogitsRow, drawn: Any) -> None:
    assert cell(row, a_trace(pieces={1: "a", 2: "b"})) == drawn


def test_compared_with_greedy_decoding_the_guesses_of_each_pass_are_shown_and_those_that_were_right() -> None:
    # What it says depends on the place alone, except after two tokens of padding.
    script = [1, 2, 3, END, 9]
    says = Says([28], lambda output: Said(4 if output == (5, 5) else script[len(output)]))
    task = Task([28], (), frozenset([END]), 5, pad=5)
    recorder = Recorder(lambda task: decode(task, Jacobi(task)), OneSession(says))
    with recorder.session("one") as session:
        drive(recorder.method(task), session)
    made = recorder.take()["one"].compared((1, 2, 3))
    assert iterations(made).rows == (
        ("  1  ■□·", "1", "1"),
        ("  2  ■■■", "3", "0"),
        ("  3  ■■■", "3", "0"),
    )
    assert str(grid(made, a_trace(made)).parts).count('class="guess right"') == 1


def test_a_sentence_is_traced_and_compared_with_greedy_decoding(tmp_path: Path) -> None:
    made = tmp_path / "t.json"
    asked = ["trace", "--text", "The house was built in 1850.", "--to", "Portuguese", "--json", str(made)]
    done = CliRunner().invoke(app, [*asked, "--set", "translate.method=gs-jacobi"], catch_exceptions=False)
    assert "  1  ■" in done.stdout
    assert "The output is that of greedy decoding." in done.stdout
    (update,) = msgspec.json.decode(made.read_bytes(), type=Trace).updates
    (window,) = update.windows
    assert window.reference == tuple(token.id for token in update.tokens)
    assert [0 in (one.right or ()) for one in window.passes][:2] == [True, False]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [str(SAMPLE), "--text", "a"],
        [str(SAMPLE), "--text", ""],
        ["--text", "a", "--segment", "1"],
        ["--text", " "],
    ],
)
def test_either_partials_or_a_sentence_is_traced(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="give one of them"):
        CliRunner().invoke(app, ["trace", *arguments], catch_exceptions=False)


def test_the_graph_has_an_arc_to_each_token_that_waited_for_a_pass() -> None:
    one = decoded([1, 2], [1, 2, 3, 4, 5, 6], committed=2)
    waited = sum(token.decided > 0 for token in one.output)
    assert str(graph(one, a_trace(one)).parts).count('class="arc"') == waited > 0


@pytest.mark.parametrize(
    ("segment", "stream", "sentence"),
    [
        (3, None, r"no segment 3; choose from 0 of 'a', 0 of 'b', 1 of 'b'$"),
        (0, "x", r"no segment 0 of stream 'x'; choose from 0 of 'a'"),
        (0, None, r"2 streams; name one with --stream: 'a', 'b'$"),
    ],
)
def test_an_error_about_a_missing_or_ambiguous_segment_names_the_existing_ones(
    tmp_path: Path, segment: int, stream: str | None, sentence: str
) -> None:
    log = write(tmp_path / "p.jsonl", [partial(0, "a"), partial(0, "b", text="Bad."), partial(1, "b")])
    with pytest.raises(SurtitleError, match=sentence):
        partials_of(log, segment, stream)
    assert [one.text for one in partials_of(log, 0, "b")] == ["Bad."]
    assert len(partials_of(log, 1, None)) == 1


def test_only_partials_can_be_traced(tmp_path: Path) -> None:
    log = write(tmp_path / "captions.jsonl", captions())
    with pytest.raises(InputError, match="holds caption events; give partials"):
        partials_of(log, 0, None)


def test_what_cannot_be_written_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    def fails(*arguments: object) -> SurtitleError:
        with pytest.raises(SurtitleError) as raised:
            CliRunner().invoke(
                app,
                ["trace", str(SAMPLE), "--model", "no.gguf", *map(str, arguments)],
                catch_exceptions=False,
            )
        return raised.value

    assert isinstance(fails("--json", tmp_path), OutputError)
    assert isinstance(fails("--svg", SAMPLE), OutputError)
    assert isinstance(fails("--json", SAMPLE), OutputError)
    with pytest.raises(OutputError, match=r"grid\.svg cannot be written: No such file or directory"):
        write_pictures(a_trace(decoded([3, 1], [1, 2])), tmp_path / "none")


@pytest.mark.real_model
def test_a_real_segment_is_traced_as_it_is_replayed(tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        assert done.exit_code == 0
        return done.stdout

    decoding = ("--to", "German", "--set", "translate.method=jacobi", "--set", "translate.threads=1")
    trace = tmp_path / "t.json"
    spoken = [line for line in SAMPLE.read_text().splitlines() if '"segment":1' in line.replace(" ", "")]
    log = tmp_path / "p.jsonl"
    log.write_text("\n".join(spoken))
    printed = run("trace", log, "--segment", 1, *decoding, "--svg", tmp_path / "svg", "--json", trace)
    assert "How segment 1 of talk was decoded" in printed
    assert "evaluated once for all segments" in printed
    translations = tmp_path / "translations.jsonl"
    run(
        "replay",
        log,
        *decoding,
        "--set",
        "sentences.method=off",
        "--quiet",
        "--set",
        f"output.translations={translations}",
    )
    lines = translations.read_text().splitlines()
    wanted = [json.loads(line) for line in lines]
    assert len(wanted) == 3
    made = msgspec.json.decode(trace.read_bytes(), type=Trace)
    assert [update.text for update in made.updates] == [one["text"] for one in wanted]
    assert [len(update.passes) for update in made.updates] == [one["effort"]["passes"] for one in wanted]
    assert [[token.id for token in update.tokens] for update in made.updates] == [
        one["tokens"] for one in wanted
    ]
    first = [window.passes[0] for update in made.updates for window in update.windows]
    assert made.head_tokens > 0
    assert all(one.reused >= made.head_tokens for one in first), "no update evaluates the prompt's head"
    assert Origin.DRAFT in {token.origin for update in made.updates for token in update.tokens}
    for path in (tmp_path / "svg").iterdir():
        ET.parse(path)
    assert len(list((tmp_path / "svg").iterdir())) >= 3
