"""Which process of a cluster a run is, and impossible settings of clusters and topics."""

from pathlib import Path
from typing import Any

import pytest

from flows.captions.files import _identity
from flows.captions.inputs import given_input
from flows.captions.kafka import check_topics
from flows.running.dataflow import this_process
from flows.settings.loading import load_settings
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.secret import to_plain


def of(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "job.toml"
    path.write_text(text)
    return load_settings(path)


@pytest.mark.parametrize(
    ("run", "complaint"),
    [
        ('addresses = ["a:1", "b:2"]\nprocess = 2', "there is no process 2 among 2 addresses"),
        ("process = 1", "there is no process 1 among 0 addresses"),
        ('addresses = ["a:1", "a:1"]', "have the same address"),
        ('addresses = ["a", "b:2"]', "matching regex"),
    ],
)
def test_an_impossible_cluster_is_refused(tmp_path: Path, run: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        this_process(of(tmp_path, f"[run]\n{run}\n"))


def test_speech_is_not_divided_among_processes() -> None:
    overrides: dict[str, Any] = {"input": {"audio": "talk.wav"}, "run": {"addresses": ["a:1", "b:2"]}}
    with pytest.raises(UsageError, match=r"leave out run\.addresses"):
        this_process(load_settings(None, overrides))


def test_a_topic_is_an_input_and_is_kept_up_with(tmp_path: Path) -> None:
    settings = of(tmp_path, '[input.kafka]\ntopic = "said"\nevents = "captions"\n')
    assert given_input(settings) == "kafka"
    assert settings.keeps_up
    with pytest.raises(UsageError, match=r"exactly one input: .*input\.kafka\.topic"):
        given_input(Settings())


def test_a_job_does_not_write_the_topic_that_it_reads(tmp_path: Path) -> None:
    both = '[input.kafka]\ntopic = "said"\n[output.kafka]\npartials = "said"\n'
    with pytest.raises(UsageError, match=r"input\.kafka\.topic and output\.kafka\.partials are both said"):
        check_topics(of(tmp_path, both))


def test_properties_of_the_client_are_shown_and_stored_nowhere(tmp_path: Path) -> None:
    secret = 'topic = "said"\nclient = {"sasl.password" = "hunter2"}\n'
    settings = of(tmp_path, f'translate.to = "German"\n[input.kafka]\n{secret}')
    assert "hunter2" not in f"{settings!r} {to_plain(settings)} {_identity(settings)}"
    # What a resumed job may have otherwise: other brokers of the same topic.
    other = of(tmp_path, 'translate.to = "German"\n[input.kafka]\ntopic = "said"\nbrokers = ["other:9092"]\n')
    assert _identity(settings) == _identity(other)
