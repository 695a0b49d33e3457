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
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.decoding.translator import Translator
from operators.events import AudioChunk, Partial
from operators.metrics.erasure import ErasureMeter
from operators.metrics.health import Rule
from operators.notifications import (
    LoadingBegan,
    LoadingEnded,
    RunBegan,
    RunEnded,
    SoundHeard,
    SoundLost,
    SourceChanged,
    SpeechCut,
    UpdateMeasured,
)
from tests.flows.talk import captions
from tests.operators.serving.toys import partial
from tests.program import ROOT, SURTITLE, Program, completed
from tests.recovering import ToyResources
from tests.waiting import until

CAPTIONS = str(ROOT / "tests" / "samples" / "captions.jsonl")
# A defect of ours in the place where each run begins.
BROKEN = """
import sys
from flows.captions import runner
from flows.cli import app as cli
def caption(*_arguments, **_options):
    raise KeyError("a defect")
runner.caption = caption
sys.argv = ["surtitle", "replay", sys.argv[1], "--set", "messages.format=json"]
cli.main()
"""


def partials(path: Path, *arrivals_s: float) -> str:
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


@pytest.mark.parametrize(
    ("command", "code", "events", "message"),
    [
        ([SURTITLE, "replay", "--bogus"], 2, ["usage_error"], "no such option: --bogus"),
        (
            [SURTITLE, "replay", CAPTIONS, "--set", "metrics.listen=TAKEN"],
            4, ["output_error"], "metrics cannot be served at 127.0.0.1:",
        ),
        ([sys.executable, "-c", BROKEN, CAPTIONS], 70, ["internal_error"], "this is a defect in surtitle"),
        (
            [SURTITLE, "replay", "bad.jsonl", "--set", "input.skip_bad=true"],
            3, ["run_started", "run_ended", "input_error"], "1 line was not valid",
        ),
        (
            [sys.executable, "-m", "bytewax.run", "flows.captions:flow('job.toml')"],
            0, ["metrics_opened", "run_started"], "",
        ),
    ],
)  # fmt: skip
def test_every_line_of_standard_error_is_an_object(
    command: list[str], code: int, events: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_text(Path(CAPTIONS).read_text() + "no event\n")
    (tmp_path / "job.toml").write_text(
        f'[input]\ncaptions = {json.dumps(CAPTIONS)}\n[translate]\nto = "German"\n'
        '[messages]\nformat = "json"\n[metrics]\nlisten = 0\n'
    )
    as_json = ["--set", "messages.format=json"] if command[0] == SURTITLE else []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = [one.replace("TAKEN", port) for one in [*command, *as_json]]
        done = completed(words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60)
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, [one["event"] for one in told]) == (code, events)
    assert message in told[-1]["message"]
    assert told[-1].get("exit_code", 0) == code
    assert ("a defect" in told[-1].get("traceback", "")) == (code == 70)
    for one in told:
        if one["event"] == "run_ended":
            assert (one["segments"], one["updates"]) == (4, 11)


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


def test_the_metrics_of_a_run_can_be_scraped_while_it_runs(tmp_path: Path) -> None:
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


class Hanging(Translator):
    """A model whose second update blocks until the test releases it."""

    calls = 0
    may = threading.Event()

    @override
    def update(self, *arguments: Any, **options: Any) -> Any:
        Hanging.calls += 1
        if Hanging.calls == 2:
            assert Hanging.may.wait(30)
        return super().update(*arguments, **options)


def test_a_model_that_hangs_turns_health_red_until_it_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.observe.monitoring.Rule", lambda: Rule(stall_s=0.1))
    raw: dict[str, dict[str, Any]] = {
        "input": {"partials": partials(tmp_path / "partials.jsonl", 0.0, 0.1, 1000.0), "realtime": True},
        "translate": {"to": "German"},
        "output": {"terminal": False},
        "metrics": {"listen": 0},
    }
    parts = make_parts(load_settings(None, raw), ToyResources)
    update = partial("a")
    parts.resources.service()._of(update).__class__ = Hanging  # type: ignore[attr-defined]  # a DirectService
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


def chunk(start_s: float) -> AudioChunk:
    pcm = np.full(1600, 16384, np.int16).tobytes()
    return AudioChunk(stream="microphone", start_s=start_s, pcm=pcm)


def live_monitoring() -> Monitoring:
    return Monitoring(
        load_settings(None, {"input": {"microphone": "default"}, "metrics": {"listen": 0}}), lambda: 3
    )


def test_health_depends_on_loading_and_on_a_lost_microphone() -> None:
    monitoring = live_monitoring()
    heard = []
    for event in (
        RunBegan(), LoadingBegan(), LoadingEnded(), SourceChanged("the microphone was disconnected", 0.2),
        SoundHeard(chunk(0.3), 0.4), RunEnded(),
    ):  # fmt: skip
        monitoring.observe(event)
        heard.append(monitoring.verdict().cause or monitoring.verdict().state)
    assert heard == ["ok", "starting", "ok", "source_lost", "ok", "over"]


def test_sound_captions_and_new_losses_are_counted() -> None:
    monitoring = live_monitoring()
    for event in (
        SoundHeard(chunk(0.0), 0.1), SoundHeard(chunk(0.1), 0.2), SoundLost(1.0), SoundLost(1.5, 20.0),
        SpeechCut("a text was cut"), UpdateMeasured(ErasureMeter("13a").record(captions()[0]), 1.0),
    ):  # fmt: skip
        monitoring.observe(event)
    names = ("audio_seconds", "lost_audio_seconds", "absent_audio_seconds", "cut_speech", "segments")
    counts = [monitoring.metrics.registry.get_sample_value(f"surtitle_{name}_total") for name in names]
    assert counts == [0.2, 1.5, 20.0, 1, 1]
