"""Messages, metrics and health of whole runs."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from typing_extensions import override

from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.observe.monitoring import Monitoring
from flows.observe.run_observers import Observers
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.decoding.translator import Translator
from operators.events import AudioChunk, Partial
from operators.metrics.erasure import ErasureMeter
from operators.metrics.health import Rule
from operators.models.pool import Usage
from operators.notifications import (
    LoadingBegan,
    LoadingEnded,
    ModelLoaded,
    PartialHeard,
    RunBegan,
    RunEnded,
    SoundHeard,
    SoundLost,
    SourceChanged,
    SpeechCut,
    UpdateMeasured,
)
from tests.flows.talk import captions
from tests.program import SURTITLE, Program, completed
from tests.recovering import ToyResources
from tests.waiting import until

CAPTIONS = str(Path(__file__).parent.parent.parent / "samples" / "captions.jsonl")
# A defect of ours in the place where each run begins.
BROKEN = """
import sys
from flows.cli import app as cli
def caption(*_arguments, **_options):
    raise KeyError("a defect")
cli.caption = caption
sys.argv = ["surtitle", "replay", sys.argv[1], "--set", "messages.format=json"]
cli.main()
"""


def partials(path: Path, *arrivals_s: float) -> str:
    """A file of one segment's partials."""
    with path.open("wb") as lines:
        for number, arrival_s in enumerate(arrivals_s):
            one = Partial(
                stream="talk", segment=0, revision=number, is_final=False, text=" word" * (number + 1),
                start_s=0.0, end_s=arrival_s, arrival_s=arrival_s,
            )  # fmt: skip
            lines.write(msgspec.json.encode(one) + b"\n")
    return str(path)


def get(address: str, path: str) -> tuple[int, str]:
    with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def health(address: str) -> dict[str, Any]:
    status, body = get(address, "/healthz")
    said: dict[str, Any] = json.loads(body)
    assert status == (200 if said["status"] in ("ok", "over") else 503)
    return said


# Messages


class ProcessOutput:
    """What a process said."""

    def __init__(self, *command: str) -> None:
        done = completed(command, timeout=60)
        self.code, self.stdout = done.returncode, done.stdout
        #: Every line of standard error is an object.
        self.objects: list[dict[str, Any]] = [json.loads(line) for line in done.stderr.splitlines()]

    @property
    def events(self) -> list[str]:
        return [one["event"] for one in self.objects]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ProcessOutput]]:
    """Runs of every kind that tell what they have to in JSON."""
    folder = tmp_path_factory.mktemp("told")
    bad = folder / "bad.jsonl"
    bad.write_text(Path(CAPTIONS).read_text() + "no event\n")
    settings = folder / "surtitle.toml"
    settings.write_text(
        f'[input]\ncaptions = {json.dumps(CAPTIONS)}\n[messages]\nformat = "json"\n[metrics]\nlisten = 0\n'
    )
    as_json = ["--set", "messages.format=json"]
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(2) as pool:
        port = str(taken.getsockname()[1])
        runs = {
            "no such option": [SURTITLE, "replay", "--bogus", *as_json],
            "bad line": [SURTITLE, "replay", str(bad), "--set", "input.skip_bad=true", *as_json],
            "port taken": [SURTITLE, "replay", CAPTIONS, "--set", f"metrics.listen={port}", *as_json],
            "defect": [sys.executable, "-c", BROKEN, CAPTIONS],
            "job": [sys.executable, "-m", "bytewax.run", f"flows.captions:flow('{settings}')"],
        }  # fmt: skip
        yield dict(zip(runs, pool.map(lambda command: ProcessOutput(*command), runs.values()), strict=True))


@pytest.mark.parametrize(
    ("name", "code", "event", "beginning"),
    [
        ("no such option", 2, "usage_error", "no such option: --bogus"),
        ("port taken", 4, "output_error", "metrics cannot be served at 127.0.0.1:"),
        ("defect", 70, "internal_error", "this is a defect in surtitle"),
    ],
)
def test_an_error_is_one_object(
    told: dict[str, ProcessOutput], name: str, code: int, event: str, beginning: str
) -> None:
    (one,) = told[name].objects
    assert (told[name].code, one["exit_code"], one["event"]) == (code, code, event)
    assert one["message"].startswith(beginning)
    assert one.get("error") == ("KeyError" if name == "defect" else None)
    assert ("a defect" in one.get("traceback", "")) == (name == "defect")


def test_a_run_tells_its_begin_its_figures_and_what_was_wrong(told: dict[str, ProcessOutput]) -> None:
    run = told["bad line"]
    assert (run.code, run.events) == (3, ["run_started", "run_ended", "input_error"])
    assert (run.objects[1]["segments"], run.objects[1]["updates"]) == (4, 11)
    assert "1 line was not valid" in run.objects[2]["message"]
    assert "segments  4 of 11 updates" in run.stdout


def test_a_job_tells_in_json_where_its_settings_say_so(told: dict[str, ProcessOutput]) -> None:
    assert (told["job"].code, told["job"].events) == (0, ["metrics_opened", "run_started"])


# Metrics


@contextmanager
def replay(*options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A run with metrics, and their address."""
    with Program(
        [SURTITLE, "replay", *options, "--model", "captions", "--quiet",
        "--set", "metrics.listen=0"], text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert said.startswith("surtitle: metrics at http://127.0.0.1:")
            yield process, said.split()[-1]
        finally:
            process.kill()


def test_a_run_is_scraped_while_it_goes_on(tmp_path: Path) -> None:
    def found() -> dict[str, float]:
        families = text_string_to_metric_families(get(address, "/metrics")[1])
        return {sample.name: sample.value for family in families for sample in family.samples}

    waits = partials(tmp_path / "partials.jsonl", 0.1, 0.3, 1000.0)
    with replay(waits, "--realtime") as (process, address):
        assert health(address)["status"] in ("starting", "ok")
        # On a busy machine both partials may have come before the first is translated, which then is skipped.
        until(lambda: found()["surtitle_partials_total"] == 2)
        until(lambda: found()["surtitle_partial_to_caption_seconds_count"] >= 1)
        figures = found()
        assert health(address) == {"status": "ok", "cause": None, "reason": None}
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        (said,) = process.stderr.read().splitlines()
        assert said.endswith("s, as in its recording")
    assert figures["surtitle_partials_total"] == 2
    assert figures["surtitle_forward_passes_total"] >= 1
    assert figures["surtitle_open_sessions"] == 1
    assert figures["surtitle_kv_tokens"] > 0
    assert figures["surtitle_healthy"] == 1
    assert figures["process_resident_memory_bytes"] > 1e8


# Health


class Hanging(Translator):
    """A model whose second update does not come back until it may."""

    calls = 0
    may = threading.Event()

    @override
    def update(self, *arguments: Any, **options: Any) -> Any:
        Hanging.calls += 1
        if Hanging.calls == 2:
            assert Hanging.may.wait(30)
        return super().update(*arguments, **options)


def test_a_model_that_hangs_turns_health_red_and_green_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.observe.monitoring.Rule", lambda: Rule(stall_s=0.1))
    raw: dict[str, dict[str, Any]] = {
        "input": {"partials": partials(tmp_path / "partials.jsonl", 0.0, 0.1, 1000.0), "realtime": True},
        "output": {"terminal": False},
        "metrics": {"listen": 0},
    }
    parts = make_parts(load_settings(None, raw), ToyResources)
    parts.resources.service()._of("").__class__ = Hanging  # type: ignore[attr-defined]  # a DirectService
    dataflow = build(parts)
    seen: list[str] = []

    def probe(address: str) -> None:
        until(lambda: health(address)["cause"] == "captions_stalled")
        seen.append(health(address)["reason"])
        assert "surtitle_healthy 0.0" in get(address, "/metrics")[1]
        Hanging.may.set()
        until(lambda: health(address)["status"] == "ok")
        parts.resources.stop.set()

    assert parts.observers.monitoring is not None
    with parts.observers.monitoring.served() as address, ThreadPoolExecutor(1) as pool:
        seen.append(health(address)["status"])
        parts.observers.observe(RunBegan())
        probing = pool.submit(probe, address)
        run(dataflow, parts.resources.stop)
        probing.result()
        seen.append(health(address)["status"])
    assert re.sub(r"\d+", "some", "; ".join(seen)) == "starting; no caption for some s despite speech; over"


# What is made of the events


def chunk(start_s: float) -> AudioChunk:
    pcm = np.full(1600, 16384, np.int16).tobytes()
    return AudioChunk(stream="microphone", start_s=start_s, pcm=pcm)


def live_monitoring() -> Monitoring:
    return Monitoring(
        load_settings(None, {"input": {"microphone": "default"}, "metrics": {"listen": 0}}), lambda: 3
    )


def counted(monitoring: Monitoring, *names: str) -> list[float | None]:
    return [monitoring.metrics.registry.get_sample_value(f"surtitle_{name}") for name in names]


def test_a_microphone_that_is_gone_is_no_good_health_until_it_is_heard_again() -> None:
    monitoring = live_monitoring()
    observers = Observers(monitoring)
    assert monitoring.verdict().state == "starting"
    observers.observe(RunBegan())
    observers.observe(SoundHeard(chunk(0.0), 0.1))
    assert monitoring.verdict().is_well
    observers.observe(SourceChanged("the microphone was disconnected; waiting for it", 0.2))
    assert monitoring.verdict()[1:] == ("source_lost", "the microphone was disconnected; waiting for it")
    observers.observe(SoundHeard(chunk(0.3), 0.4))
    assert monitoring.verdict().is_well
    observers.observe(RunEnded())
    assert monitoring.verdict().state == "over"


def test_while_a_model_is_loaded_nothing_is_owed() -> None:
    monitoring = live_monitoring()
    observers = Observers(monitoring)
    for event, state in (
        (RunBegan(), "ok"), (LoadingBegan(), "starting"), (LoadingBegan(), "starting"),
        (LoadingEnded(), "starting"), (LoadingEnded(), "ok"),
    ):  # fmt: skip
        observers.observe(event)
        assert monitoring.verdict().state == state
    assert counted(monitoring, "open_sessions", "viewers") == [0, 3]
    observers.observe(ModelLoaded(lambda: Usage(2, 4, 100)))
    assert counted(monitoring, "open_sessions", "most_sessions", "kv_tokens") == [2, 4, 100]


def test_sound_hypotheses_and_captions_are_counted_and_of_losses_what_is_new() -> None:
    monitoring = live_monitoring()
    observers = Observers(monitoring)
    caption = captions()[0]
    partial = Partial(
        stream="talk",
        segment=0,
        revision=0,
        is_final=False,
        text="Good",
        start_s=0.0,
        end_s=1.0,
        arrival_s=1.0,
    )
    observers.observe(SoundHeard(chunk(0.0), 0.1))
    observers.observe(SoundHeard(chunk(0.1), 0.2))
    observers.observe(SoundLost(1.0))
    observers.observe(SoundLost(1.5, 20.0))
    names = ("audio", "lost_audio", "absent_audio")
    assert counted(monitoring, *(f"{name}_seconds_total" for name in names)) == [0.2, 1.5, 20.0]
    observers.observe(SpeechCut("a text was cut"))
    assert counted(monitoring, "cut_speech_total") == [1]
    observers.observe(PartialHeard(partial, 1.0))
    assert counted(monitoring, "partials_total", "waiting_segments") == [1, 1]
    observers.observe(UpdateMeasured(ErasureMeter("13a").record(caption), 1.0))
    assert counted(monitoring, "segments_total", "waiting_segments") == [1, 0]
