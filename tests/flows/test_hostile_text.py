"""Hostile text through the whole chain: it has no effect on outputs, and no text is lost."""

import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import srt as srt_reader
import webvtt
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.exports.simulstream import write_simulstream
from connectors.jsonl.files import read_events
from connectors.sinks.subtitles import VTT_HEADER, srt, vtt
from connectors.terminal import open_screen
from connectors.web.messages import Languages
from connectors.web.protocol import StreamLog
from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.captions.resources import RunResources
from flows.pages.reading import MeasuredUpdate, ReportInput
from flows.pages.report import Run, page
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import SequentialDecoder
from operators.decoding.forward import Logits
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import SegmentState, Translator, TranslatorSettings
from operators.events import Caption, ErasureRecord, Partial, SegmentEvent, Translation
from operators.languages import Direction, language
from operators.metrics.tokenizers import tokenizer
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.serving.service import DirectService
from operators.stages.display import caption
from operators.subtitles.writer import SubtitleWriter
from operators.text import cleaned
from tests.flows.talk import partials, write
from tests.tmux import Tty
from tests.toy import ToyStore

_END, _HEAD, _TAIL = 256, 257, 258


class Bytes:
    begin: list[int] = []  # noqa: RUF012 - a property in the protocol

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002 - the protocol
        return list(text.encode())

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""

    def is_end(self, token: int) -> bool:
        return token == _END


class EchoStore(ToyStore):
    """A store whose model repeats the source, byte by byte."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences)
        self.held: list[list[int]] = [[] for _ in range(sequences)]

    def copy_sequence(self, source: int, target: int) -> None:
        self.held[target] = list(self.held[source])

    def cut_sequence(self, sequence: int, length: int) -> None:
        del self.held[sequence][length:]

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        held = self.held[sequence]
        assert start == len(held), "a pass must go on where the cache ends"
        held += tokens
        logits = np.zeros((rows, _TAIL + 1), np.float32)
        if _TAIL in held:
            tail = held.index(_TAIL)
            answer = [*held[1:tail], _END]
            for row in range(rows):
                said = len(held) - rows + row - tail
                logits[row, answer[said] if 0 <= said < len(answer) else _END] = 9
        return logits


def echo_translator() -> Translator:
    prompt = Prompt(Bytes(), (_HEAD,), "", (_TAIL,), EndOfTurn(Bytes()))
    settings = TranslatorSettings(max_source=192, max_output=408)
    pool = SessionPool(EchoStore(5), prompt.head, 4)
    return Translator(
        prompt, SequentialDecoder(pool), lambda task: ssbd(task, BiasedAcceptance(0.0)), settings
    )


NASTY = [
    "\x1b[2J", "\x1b]0;pwned\x07", "\x1b]8;;http://x\x1b\\", "\x9b31m", "\x90q\x9c", "\x9d", "\x07", "\x08",
    "\r", "\n", "\x00", "\x7f", "\x85", "\u2028", "\u202e", "\u2066", "\u2069", "\u200f", "\u200b", "\u00ad",
    "\ufeff", "\U000e0041", "e" + "\u0301" * 40, "\u200d" * 40, "👩\u200d👩\u200d👧", "🇩🇪🇫", "\u1100" * 9,
    "\u0915\u094d\u0937\u093f", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "漢字、",
    "\ufffd", "\uffff", "<script>alert(1)</script>", "<b>", "&lt;", "</v>", "{\\an8}", " --> 00:00:01,000",
    "\n\n2\n", "WEBVTT", "NOTE x", "<end_of_turn>", "<|im_start|>", "</think>", "\nDeutsch: x", '"}\n{',
    "data: x\n\n", "word", " ", ". ", "x" * 60,
]  # fmt: skip
hostile = st.lists(
    st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=12
).map("".join)

#: What the terminal is told by us; all else must be text.
OURS = re.compile(r"\x1b\[(?:2|22)m|\x1b\[K|\x1b\[[0-9]+[ABC]|\r\n|\r")
EMBEDDING = set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")


@pytest.fixture(autouse=True)
def _capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def is_harmless(text: str) -> bool:
    return not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text) and (
        not EMBEDDING & set(text)
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(hostile, min_size=1, max_size=3), min_size=1, max_size=3))
def test_hostile_text_is_shown_as_plain_text_everywhere(texts: list[list[str]]) -> None:
    screen = open_screen(42, terminal := Tty())
    web = StreamLog("run", Languages(source="en", target="de"))
    writer = SubtitleWriter("both", Direction.of("en", "de"))
    cues = []
    for one in translated(partials(texts, stream="talk\x1b[2J", length_s=4.0)):
        # An echo is cut where it repeats itself, and stays so while the text does.
        is_cut = one.trouble is not None or one.effort.passes == 0
        assert is_cut or "".join(one.text.split()) == "".join(cleaned(one.source).split())
        screen.draw([one])
        web.caption(one)
        cues += writer.take([one])
    screen.close()
    cues += writer.release()
    assert is_harmless(OURS.sub("", terminal.getvalue()))
    check_subtitles(
        "".join(srt(cue, number) for number, cue in enumerate(cues, 1)),
        VTT_HEADER + "".join(map(vtt, cues)),
        len(cues),
    )
    check_web(web)


def translated(given: Iterable[Partial]) -> Iterator[Caption]:
    """Captions of partials whose translation is what was said."""
    translator, state = echo_translator(), SegmentState()
    for partial in given:
        state = state if partial.revision else SegmentState()
        state, output = translator.update(partial.key, state, partial.text, is_final=partial.is_final)
        fields = msgspec.structs.asdict(partial)
        source = fields.pop("text")
        fields.pop("is_sentence")
        yield caption(
            Translation(
                source=source,
                text="".join(output.pieces),
                tokens=output.tokens,
                pieces=output.pieces,
                ready_s=partial.arrival_s,
                trouble=output.trouble,
                effort=output.effort,
                **fields,
            ),
            mask_k=3,
        )


def check_subtitles(srt_text: str, vtt_text: str, count: int) -> None:
    cues = list(srt_reader.parse(srt_text, ignore_errors=False))
    read = webvtt.from_buffer(io.StringIO(vtt_text)).captions
    assert len(cues) == len(read) == srt_text.count(" --> ") == vtt_text.count(" --> ") == count
    for text in (line for cue in cues for line in cue.content.split("\n")):
        assert not set("<>{}\\") & set(text)
        # One mark before a line that runs from right to left and one after it, both ours.
        assert is_harmless(text[1:-1] if text[:1] in ("\u202a", "\u202b") and text[-1] == "\u202c" else text)


def check_web(log: StreamLog) -> None:
    _, snapshot = log.arrival(None)
    for event in (snapshot + (log.after(0) or b"")).decode().removesuffix("\n\n").split("\n\n"):
        _, data = event.split("\n")
        assert all(map(is_harmless, strings(json.loads(data.removeprefix("data: ")))))


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for one in value.values() for text in strings(one))
        case list():
            yield from (text for one in value for text in strings(one))


@pytest.mark.parametrize("sentences", ["off", "auto"])
def test_a_run_over_hostile_text_ends_well_and_its_files_hold_every_update(
    sentences: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    translator = echo_translator()
    service = DirectService(lambda _update: translator)
    monkeypatch.setattr(RunResources, "service", lambda _self: service)
    texts = [[piece, piece + " and " + other] for piece, other in pairwise(NASTY)]
    texts.append(["".join(NASTY) * 2, "".join(NASTY) * 3])
    write(tmp_path / "in", partials(texts, stream="talk\x1b[2J", length_s=4.0))
    files = ("captions", "partials", "sentences", "translations", "log", "srt", "vtt")
    output = {name: str(tmp_path / name) for name in files}
    given: dict[str, dict[str, Any]] = {
        "input": {"partials": str(tmp_path / "in")}, "translate": {"to": "German"},
        "sentences": {"method": sentences}, "output": output,
    }  # fmt: skip
    settings = load_settings(None, given)
    terminal = Tty()
    monkeypatch.setattr(
        "flows.captions.parts.open_screen", lambda columns, **_: open_screen(columns, terminal)
    )
    parts = make_parts(settings)
    run(build(parts), parts.resources.stop)

    assert is_harmless(OURS.sub("", terminal.getvalue()))
    assert len(caplog.messages) == 1
    assert is_harmless(caplog.messages[0])
    kinds: dict[str, type[SegmentEvent]] = {
        "partials": Partial, "sentences": Partial, "translations": Translation, "captions": Caption,
        "log": ErasureRecord,
    }  # fmt: skip
    updates = {
        name: [
            (one.segment, one.revision, one.is_final)
            for one in msgspec.json.Decoder(kind).decode_lines((tmp_path / name).read_bytes())
        ]
        for name, kind in kinds.items()
    }
    every = [(segment, revision, revision == 1) for segment in range(len(texts)) for revision in range(2)]
    assert updates["partials"] == every
    if sentences == "off":
        assert updates["sentences"] == every
    assert {segment for segment, _, is_final in updates["sentences"] if is_final} == {
        segment for segment, _, _ in updates["sentences"]
    }
    assert all(updates[name] == updates["sentences"] for name in ("translations", "captions", "log"))
    check_subtitles(
        srt_text := (tmp_path / "srt").read_text(encoding="utf-8"),
        (tmp_path / "vtt").read_text(encoding="utf-8"),
        srt_text.count(" --> "),
    )
    check_report(tmp_path / "captions", tmp_path / "sim")


def check_report(captions: Path, log: Path) -> None:
    write_simulstream(events := list(read_events(captions, Caption)), log, tokenizer("word"))
    assert len([json.loads(line) for line in log.read_text().splitlines()]) == len(events) + 1
    updates: list[MeasuredUpdate] = []
    report = ReportInput(captions, Caption, language("German")).report(None, updates)
    html = page([Run(report, updates, language("German"))])
    assert is_harmless(html.replace("\n", ""))
    assert "<script>alert" not in html
