"""Who looks on at a run goes by its settings."""

from io import StringIO
from typing import Any

import pytest

from connectors.messages.log import NOTICE
from connectors.terminal.screen import Lines
from flows.observe.run_observers import RunObservers
from flows.settings.loading import load_settings
from operators.errors import UsageError
from operators.observed import CaptionShown, PartialHeard, RunBegan, SoundHeard


def observers(**raw: dict[str, Any]) -> RunObservers:
    settings = load_settings(None, {"input": {"captions": "talk.jsonl"}, **raw})
    return RunObservers(settings, Lines(StringIO()))


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ({}, []),
        ({"metrics": {"listen": 0}}, [SoundHeard, PartialHeard]),
        ({"web": {"enabled": True, "port": 0}}, [CaptionShown]),
        ({"input": {"microphone": "default"}}, [SoundHeard]),
    ],
)
def test_no_stage_of_the_flow_is_looked_at_for_nobody(
    raw: dict[str, dict[str, Any]], wanted: list[type]
) -> None:
    made = observers(**raw)
    assert [kind for kind in (SoundHeard, PartialHeard, CaptionShown) if made.wants(kind)] == wanted


def test_what_nobody_asked_for_is_not_served() -> None:
    with observers().served() as address:
        assert address is None


def test_metrics_and_captions_are_served_and_the_user_is_told_where(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(NOTICE)
    made = observers(metrics={"listen": 0}, web={"enabled": True, "port": 0})
    with made.served() as address:
        made.observe(RunBegan())
        metrics, captions = caplog.messages
    assert metrics.startswith("metrics at http://127.0.0.1:")
    assert captions == f"captions at {address}"
    assert made.monitoring is not None
    assert made.monitoring.metrics.registry.get_sample_value("surtitle_viewers") == 0


def test_an_address_that_is_none_is_refused_before_anything_listens() -> None:
    with pytest.raises(UsageError, match=r"is not \[HOST:\]PORT"):
        observers(metrics={"listen": "nowhere:"})


def test_an_empty_name_is_no_folder_for_the_files_of_rooms() -> None:
    made = observers(input={"rooms": True}, rooms={"folder": ""}, web={"enabled": True, "port": 0})
    assert made.audience is not None
    assert made.audience._files is None
