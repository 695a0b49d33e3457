"""Files of text that runs read: settings, templates, terms, events and messages, folders of runs."""

import contextlib
from pathlib import Path
from typing import Any

import msgspec

from connectors.jsonl.files import event_type_of, read_events, validate
from connectors.jsonl.source import JsonlSource
from connectors.recovery import RecoveryFolder
from connectors.terminology import read_glossary
from connectors.web.hub import Hub
from connectors.web.messages import Languages, Message
from flows.captions.files import begin_outputs, held_outputs
from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from flows.settings.schema import InputSettings, OutputSettings, Settings
from flows.settings.translate import TranslateSettings
from operators.errors import InputError
from operators.events import Caption, ErasureRecord, Event, Partial, Translation
from operators.glossary import times_said
from operators.metrics.summary import Summary
from operators.text import cleaned
from tests.flows.talk import captions
from tests.fuzz.correct import Subject, refused_clearly, written

_FIELDS = sorted({name for kind in (Partial, Translation, Caption) for name in kind.__struct_fields__})
_NUMBERS = ("-1", "0", "1.5", "1e9", "1e308", "1e999", "NaN", "9007199254740993", "18446744073709551616")
_JSON = tuple(
    part.encode()
    for part in (
        *(f'"{name}":' for name in _FIELDS),
        *_NUMBERS,
        "1" * 400, "null", "true", "{", "}", "[" * 2000, ",", ":", '"', "\\u0000", "\\ud800", "\\u001b[2J",
        "\n", "\r", "\u2028", "../../",
        '"event":"caption"', '"event":"erasure"', '"event":{}', "\ufeff", "\0",
    )
)  # fmt: skip
_encoded = msgspec.json.Encoder().encode_lines
_CAPTIONS = _encoded(captions()[:5])
_PARTIALS = b"".join(
    b'{"stream":"talk","segment":%d,"revision":0,"is_final":true,"text":"It was","start_s":0,"end_s":1,'
    b'"arrival_s":1}\n' % segment
    for segment in range(2)
)
_TRANSLATIONS = (
    b'{"stream":"talk","segment":0,"revision":0,"is_final":true,"source":"It","text":"Es war","tokens":[7,8],'
    b'"pieces":["Es"," war"],"start_s":0,"end_s":1,"arrival_s":1,"ready_s":2,"effort":{"drafted":2}}\n'
)


def check_settings(data: bytes, folder: Path) -> None:
    path = written(folder, "surtitle.toml", data)
    for overrides in (None, {"translate": {"to": "German"}, "input": {"audio": "talk.wav"}}):
        with refused_clearly(path):
            msgspec.json.encode(load_settings(path, overrides))


def check_glossary(data: bytes, folder: Path) -> None:
    path = written(folder, "terms.tsv", data)
    with refused_clearly(path):
        for term in read_glossary(path).occurring(data.decode("utf-8", "replace")):
            assert term.times > 0
            assert term.target == cleaned(term.target) != ""
            assert times_said(f"({term.target})", term.target) == 1


def check_lines(data: bytes, folder: Path) -> None:
    path = written(folder, "events.jsonl", data)
    kind: type[Event] = Partial
    with refused_clearly(path):
        kind = event_type_of(path)
        validate(path, kind)
    source = JsonlSource(path, kind, skip_bad=True)
    part = source.build_part("in", "part", None)
    events: list[Event] = []
    with contextlib.suppress(StopIteration):
        while True:
            events += part.next_batch()
    part.close()
    for event in events:
        assert msgspec.json.decode(msgspec.json.encode(event), type=kind) == event
    kept = source.rejected_path.read_bytes() if source.rejected else b""
    assert len(kept) <= len(data)


def check_replay(data: bytes, folder: Path) -> None:
    """Captions and translations are replayed into all that can be written of them."""
    path = written(folder, "events.jsonl", data)
    try:
        kind = event_type_of(path)
    except InputError:
        return
    if kind not in (Caption, Translation):
        return
    files: dict[str, Any] = {one: str(folder / f"out.{one}") for one in ("log", "captions", "srt", "vtt")}
    given: dict[str, Any] = {f"{kind.__name__.lower()}s": str(path)}
    output = OutputSettings(terminal=False, **files)
    translate = TranslateSettings(to="German")
    settings = Settings(input=InputSettings(skip_bad=True, **given), translate=translate, output=output)
    parts = make_parts(settings)
    flow = build(parts)
    with held_outputs(settings, parts.outputs):
        begin_outputs(settings, parts.outputs, is_resumed=False)
        run(flow, parts.resources.stop, parts.given.close)
    hub = Hub([Languages(source="en", target="de")])
    for caption in read_events(folder / "out.captions", Caption):
        hub.caption(caption)
    for record in read_events(folder / "out.log", ErasureRecord):
        hub.record(record)
    # What is infinite, or no number, would be written as nothing.
    for stream in hub.listed():
        for line in (hub._publishing(stream["name"]).log.after(0) or b"").splitlines():
            if line.startswith(b"data: "):
                msgspec.json.decode(line.removeprefix(b"data: "), type=Message)
    summary = parts.observers.summary.summary(logs=[folder / "out.log"])
    msgspec.json.decode(msgspec.json.encode(summary), type=Summary)
    assert (folder / "out.vtt").read_text(encoding="utf-8").startswith("WEBVTT")


def check_run(data: bytes, folder: Path) -> None:
    path = folder / "talk.run"
    if not path.exists():
        with RecoveryFolder(path, {"translate": {"to": "de"}}):
            pass
    written(path, "run.json", data)
    with refused_clearly(path), RecoveryFolder(path, {"translate": {"to": "de"}}) as recovery:
        assert recovery.is_resumed


_SETTINGS = b"""[input]
audio = "talk.wav"
realtime = true
[translate]
from = "English"
to = "German"
bias = 0.2
[web]
names = ["a.example"]
[recognize.azure]
language = "en-US"
"""
_TOML = tuple(
    part.encode()
    for part in (
        "[", "]", "[[", "=", "\n", '"', "'''", "#", ".", "{", "}", ",", "nan", "inf", "-1", "1e400", "true",
        "2020-02-21", "99999999999999999999", "1" * 5000, "[" * 2000, "a." * 1000, "\\u0000", "\\u001b[2J",
        "recognize", "azure", "port", "key", "\ufeff", "\0", "\r",
    )
)  # fmt: skip

SETTINGS = Subject(
    check_settings,
    (_SETTINGS, b""),
    _TOML,
    {
        "brackets nested too deeply": b"a=" + b"[" * 8000,
        "a number of too many digits": b"a=" + b"1" * 5000,
        "a stage that is a number, and an option for it": b"translate = 3",
        "a key that controls a terminal": b'"\\u001b[2J\\n" = 1',
        "a key of thousands of letters": b"a" * 10_000 + b" = 1",
        "a key of thousands of parts": b"a." * 8000 + b"a = 1",
        "a name with a null character": b'[input]\naudio = "a\\u0000b"',
        "names with a null character": b'[web]\nnames = ["a\\u0000b"]',
        "tables nested too deeply": b"[translate.from" + b".a" * 7000 + b"]",
        "more bytes than settings have": b"\n" * 100_000,
    },
)
GLOSSARY = Subject(
    check_glossary,
    (b"token\tToken\r\nF1 score\tF1-Score\tnote\n", "深層学習\tDeep Learning\nAT&T\tAT&T\n".encode()),
    tuple(
        part.encode()
        for part in (
            "\t", "\n", "\r", " ", "s", "-", "’", "İ", "ß", "ǅ", "ﬁ", "한", "学",
            "\u0301", "\u200b", "\u2028", "\0",
            "\u001b[2J", "\ufeff", "(", "\\", "[", "*", "token", "TOKEN", "iT", "a " * 60, "🇩🇪" * 40,
        )
    ),
    {},
)  # fmt: skip
LINES = Subject(check_lines, (_PARTIALS, _CAPTIONS, b""), _JSON, {})
REPLAY = Subject(check_replay, (_CAPTIONS, _TRANSLATIONS), _JSON, {})
RUN = Subject(
    check_run,
    (b'{"schema":1,"settings":{"translate":{"to":"de"}}}',),
    (*_JSON, b"\xff", b'"settings":'),
    {
        "a stage that is a number": b'{"schema":1,"settings":{"translate":3}}',
        "text that is not UTF-8": b'{"schema":1,"settings":{"translate":{"to":"\xff"}}}',
        "brackets nested too deeply": b'{"schema":' + b"[" * 20_000,
        "keys that control a terminal": b'{"schema":1,"settings":{"translate":{"\\u001b[2J":1}}}',
    },
)
