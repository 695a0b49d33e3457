"""A run whose model fails under it: llama.cpp's own calls, made to go wrong."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llama_cpp
import msgspec
import numpy as np
import pytest

from flows.captions.runner import caption
from flows.settings.loading import begin_settings
from flows.settings.schema import Settings
from operators.decoding.translator import Output, SegmentState, Translator
from operators.errors import InputError
from operators.events import Caption, ErasureRecord
from operators.model_errors import ErrorKind
from tests.flows.talk import partials, write
from tests.tiny_gguf import CONTROL, byte_pairs, write_model

TALK = (
    ("The city", "The city council", "The city council voted", "The city council voted on Tuesday."),
    ("Good", "Good morning", "Good morning, everyone", "Good morning, everyone."),
)
Fault = Callable[[Any, Any], int]
decode: Fault = llama_cpp.llama_decode


@pytest.fixture
def given(tmp_path: Path) -> dict[str, dict[str, Any]]:
    write(tmp_path / "partials.jsonl", partials(TALK, is_sentence=True))
    return {
        "input": {"partials": str(tmp_path / "partials.jsonl")},
        "translate": {"to": "German", "threads": 2},
        "output": {name: str(tmp_path / f"{name}.jsonl") for name in ("captions", "log")},
    }


@pytest.fixture
def tiny(given: dict[str, dict[str, Any]], tmp_path: Path) -> Settings:
    """The same with a model that says nothing of interest, but fast."""
    given["translate"]["model"] = str(write_model(tmp_path / "tiny.gguf", byte_pairs({"<end>": CONTROL})))
    return begin_settings(None, given)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> dict[int, Fault]:
    """What llama_decode does at which update, counted from 0; it does what it should at all others."""
    update = Translator.update
    faults: dict[int, Fault] = {}
    numbers = iter(range(100))
    fault: list[Fault | None] = [None]

    def troubled(
        translator: Translator, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool
    ) -> tuple[SegmentState, Output]:
        fault[0] = faults.get(next(numbers))
        return update(translator, key, state, text, is_final=is_final, is_stable=is_stable)

    def call(context: Any, batch: Any) -> int:
        return (fault[0] or decode)(context, batch)

    monkeypatch.setattr(llama_cpp, "llama_decode", call)
    monkeypatch.setattr(Translator, "update", troubled)
    return faults


def returns(status: int) -> Fault:
    return lambda _context, _batch: status


def computes_nothing(context: Any, batch: Any) -> int:
    """A pass that leaves NaN in llama.cpp's own buffer."""
    status = decode(context, batch)
    words = llama_cpp.llama_vocab_n_tokens(
        llama_cpp.llama_model_get_vocab(llama_cpp.llama_get_model(context))
    )
    np.ctypeslib.as_array(llama_cpp.llama_get_logits(context), shape=(words,))[words // 2] = np.nan
    return status


def captions(settings: Settings) -> Iterator[Caption]:
    assert settings.output.captions is not None
    return iter(msgspec.json.Decoder(Caption).decode_lines(Path(settings.output.captions).read_bytes()))


def test_a_model_that_fails_now_and_then_loses_only_those_updates(
    tiny: Settings, faults: dict[int, Fault], capfd: pytest.CaptureFixture[str]
) -> None:
    faults |= {2: returns(-3), 3: computes_nothing, 5: computes_nothing, 6: returns(1)}
    caption(tiny, quiet=False, settings_file=None)

    shown = list(captions(tiny))
    troubles = [
        ErrorKind.FAILED_PASS,
        ErrorKind.NOT_A_NUMBER,
        None,
        ErrorKind.NOT_A_NUMBER,
        ErrorKind.FAILED_PASS,
    ]
    # A small model does not always end.
    lost = [one.trouble if one.trouble and one.trouble.is_loss else None for one in shown]
    assert lost == [None, None, *troubles, None]
    assert all(one.text for one in shown)
    # What was good stays, and even a final keeps it.
    assert shown[1].text == shown[2].text == shown[3].text
    assert shown[4].text == shown[5].text == shown[6].text
    assert [(one.segment, one.revision) for one in shown if one.is_final] == [(0, 3), (1, 3)]

    assert tiny.output.log is not None
    log = msgspec.json.Decoder(ErasureRecord).decode_lines(Path(tiny.output.log).read_bytes())
    assert [one.trouble for one in log] == [one.trouble for one in shown]
    out, err = capfd.readouterr()
    assert "failed_pass 2, not_a_number 2" in out  # beside those that are its own
    assert err.count("segment talk/000000: llama_decode returned -3") == 1
    assert err.count("the model") == 2


def test_a_model_that_fails_until_the_end_is_reported_there(
    tiny: Settings, faults: dict[int, Fault], capfd: pytest.CaptureFixture[str]
) -> None:
    faults |= dict.fromkeys(range(100), returns(-3))
    with pytest.raises(InputError, match="no answer to the last 8 updates"):
        caption(tiny, quiet=False, settings_file=None)
    finals = [one for one in captions(tiny) if one.is_final]
    assert [(one.segment, one.text, one.trouble) for one in finals] == [
        (segment, "", ErrorKind.FAILED_PASS) for segment in range(2)
    ]
    assert "failed_pass 8" in capfd.readouterr().out


def test_a_model_that_fails_at_the_start_ends_the_run_with_a_sentence(
    tiny: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama_cpp, "llama_decode", returns(-1))
    with pytest.raises(
        InputError, match=r"the model cannot be used, llama_decode returned -1 for .* choose another"
    ):
        caption(tiny, quiet=True, settings_file=None)
