"""Files that surtitle itself wrote, and that something else has changed: what is damaged is made anew."""

import os
from pathlib import Path
from unittest import mock

import msgspec

from connectors.machine.measured import recalled_costs
from connectors.recovery import RecoveryFolder
from connectors.scoring import Journal
from flows.measuring.scores import MethodUpdate, SegmentTrial
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.events import Effort
from tests.fuzz.correct import Subject, refused_clearly, written

_TRIAL = SegmentTrial(0, 1, ((MethodUpdate(2, "Es war", ("Es",), Effort(passes=2)),),))


def check_costs(data: bytes, folder: Path) -> None:
    """What was measured is usable, or measured again and remembered."""
    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(folder)):
        model = written(folder, "model.gguf", b"GGUF")
        recalled_costs(model, 1, lambda: FLAT)
        (file,) = (folder / "surtitle" / "costs").iterdir()
        file.write_bytes(data)
        assert isinstance(recalled_costs(model, 1, lambda: FLAT), PassCosts)


def check_journal(data: bytes, folder: Path) -> None:
    """A benchmark's trials are read up to the damage, and go on from there."""
    path = written(folder, "journal.jsonl", data)
    with Journal(path, SegmentTrial) as journal:
        whole = journal.results
        journal.append(_TRIAL)
    with Journal(path, SegmentTrial) as journal:
        assert journal.results == [*whole, _TRIAL]


def check_run(data: bytes, folder: Path) -> None:
    """A folder of a run is gone on from, or refused."""
    path = folder / "talk.run"
    if not path.exists():
        with RecoveryFolder(path, {"translate": {"to": "de"}}):
            pass
    written(path, "run.json", data)
    with refused_clearly(path), RecoveryFolder(path, {"translate": {"to": "de"}}) as recovery:
        assert recovery.is_resumed


_TOKENS = (
    b'{', b'}', b'[', b']', b',', b':', b'"', b"\n", b"null", b"-1", b"1e999", b"NaN", b"9" * 30, b"[" * 2000,
    b"\xff", b'"tokens":', b'"x":"\xff"', b'"settings":', b'"repeat":', b'"updates":', b"\0",
)  # fmt: skip
COSTS = Subject(check_costs, (msgspec.json.encode(FLAT),), _TOKENS, {
    "no size": b'{"tokens":[],"ms":[]}',
    "more times than sizes": b'{"tokens":[1],"ms":[1,2]}',
    "brackets nested too deeply": b'{"x":' + b"[" * 20_000,
    "text that is not UTF-8": b'{"tokens":3,"is_steady":"\xff"}',
})  # fmt: skip
JOURNAL = Subject(
    check_journal,
    (2 * (msgspec.json.encode(_TRIAL) + b"\n"),),
    _TOKENS,
    {"brackets nested too deeply": b'{"x":' + b"[" * 20_000 + b"\n"},
)
RUN = Subject(
    check_run,
    (b'{"schema":1,"workers":1,"settings":{"translate":{"to":"de"}}}',),
    _TOKENS,
    {
        "a stage that is a number": b'{"schema":1,"workers":1,"settings":{"translate":3}}',
        "text that is not UTF-8": b'{"schema":1,"workers":1,"settings":{"translate":{"to":"\xff"}}}',
        "brackets nested too deeply": b'{"schema":' + b"[" * 20_000,
        "keys that control a terminal": b'{"schema":1,"workers":1,"settings":{"translate":{"\\u001b[2J":1}}}',
    },
)
