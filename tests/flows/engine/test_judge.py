"""The judge of sentences has the encoder of a model that translates, or that of the installed one."""

import pytest

from connectors.models.firefox import firefox_folder
from flows.engine import judge
from operators.languages import Direction
from operators.seq2seq.firefox import FirefoxModel, read_firefox


def test_a_model_that_is_loaded_is_not_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    into, back = (
        FirefoxModel(read_firefox(firefox_folder(Direction.of(*pair))), 1)
        for pair in (("en", "pt"), ("pt", "en"))
    )
    monkeypatch.setattr(judge, "packaged_firefox", lambda _direction: None)
    assert judge.open_judge([object(), back]) is None, "no other encoder fits"
    assert judge.open_judge([back, into]) is not None
