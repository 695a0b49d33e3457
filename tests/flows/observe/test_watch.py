"""Messages, metrics and health of whole runs."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from typing_extensions import override

from flows.captions.graph import build
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.decoding.translator import Translator
from operators.events import Partial
from tests.recovering import ToyRuntime

SURTITLE = str(Path(sys.executable).with_name("surtitle"))
CAPTIONS = str(Path(__file__).parent.parent.parent / "samples" / "captions.jsonl")
# A defect of ours in the place where each run begins.
BROKEN = """
import sys
from flows.cli import app as cli
def caption(*_arguments, **_options):
    raise KeyError("a defect")
cli.caption = caption
sys.argv = ["surtitle", "replay", sys.argv[1], "--log-format", "json"]
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
    with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def health(address: str) -> dict[str, Any]:
    status, body = get(address, "/healthz")
    said: dict[str, Any] = json.loads(body)
    assert status == (200 if said["status"] in ("ok", "over") else 503)
    return said


def until(holds: Callable[[], bool]) -> None:
    """Ask again and again, for a minute at most: the machine may be busy."""
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.02)


# Messages


class Told:
    """What a process said."""

    def __init__(self, *command: str) -> None:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False
        )
        self.code, self.stdout = done.returncode, done.stdout
        #: Every line of standard error is an object.
        self.objects: list[dict[str, Any]] = [json.loads(line) for line in done.stderr.splitlines()]

    @property
    def events(self) -> list[str]:
        return [one["event"] for one in self.objects]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Told]]:
    """Runs of every kind that tell what they have to in JSON."""
    folder = tmp_path_factory.mktemp("told")
    bad = folder / "bad.jsonl"
    bad.write_text(Path(CAPTIONS).read_text() + "no event\n")
    settings = folder / "surtitle.toml"
    settings.write_text(
        f'[input]\ncaptions = {json.dumps(CAPTIONS)}\n[messages]\nformat = "json"\n[metrics]\nlisten = 0\n'
    )
    as_json = ["--log-format", "json"]
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(2) as pool:
        port = str(taken.getsockname()[1])
        runs = {
            "no such option": [SURTITLE, "replay", "--bogus", "--log-format=json"],
            "bad line": [SURTITLE, "replay", str(bad), "--skip-bad", *as_json],
            "port taken": [SURTITLE, "replay", CAPTIONS, "--metrics", port, *as_json],
            "defect": [sys.executable, "-c", BROKEN, CAPTIONS],
            "job": [sys.executable, "-m", "bytewax.run", f"flows.captions:flow('{settings}')"],
        }  # fmt: skip
        yield dict(zip(runs, pool.map(lambda command: Told(*command), runs.values()), strict=True))


@pytest.mark.parametrize(
    ("name", "code", "event", "beginning"),
    [
        ("no such option", 2, "usage_error", "No such option: --bogus"),
        ("port taken", 4, "output_error", "metrics cannot be served at 127.0.0.1:"),
        ("defect", 70, "internal_error", "this is a defect of surtitle"),
    ],
)
def test_an_error_is_one_object(
    told: dict[str, Told], name: str, code: int, event: str, beginning: str
) -> None:
    (one,) = told[name].objects
    assert (told[name].code, one["exit_code"], one["event"]) == (code, code, event)
    assert one["message"].startswith(beginning)
    assert one.get("error") == ("KeyError" if name == "defect" else None)
    assert ("a defect" in one.get("traceback", "")) == (name == "defect")


def test_a_run_tells_its_begin_its_figures_and_what_was_wrong(told: dict[str, Told]) -> None:
    run = told["bad line"]
    assert (run.code, run.events) == (3, ["run_started", "run_ended", "input_error"])
    assert (run.objects[1]["segments"], run.objects[1]["updates"]) == (4, 11)
    assert "1 line was not valid" in run.objects[2]["message"]
    assert "segments  4 of 11 updates" in run.stdout


def test_a_job_tells_in_json_where_its_settings_say_so(told: dict[str, Told]) -> None:
    assert (told["job"].code, told["job"].events) == (0, ["metrics_opened"])


# Metrics


@contextmanager
def replay(*options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A run with metrics, and their address."""
    with subprocess.Popen(
        [SURTITLE, "replay", *options, "--quiet", "--metrics", "0"], text=True,
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
        until(lambda: found()["surtitle_partial_to_caption_seconds_count"] == 2)
        figures = found()
        assert health(address) == {"status": "ok", "cause": None, "reason": None}
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert figures["surtitle_partials_total"] == 2
    assert figures["surtitle_forward_passes_total"] > 2
    assert figures["surtitle_open_sessions"] == 1
    assert figures["surtitle_kv_tokens"] > 100
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


def test_a_model_that_hangs_turns_health_red_and_green_when_it_goes_on(tmp_path: Path) -> None:
    raw: dict[str, dict[str, Any]] = {
        "input": {"partials": partials(tmp_path / "partials.jsonl", 0.0, 0.1, 1000.0), "realtime": True},
        "output": {"terminal": False},
        "metrics": {"listen": 0, "stall_s": 0.1},
    }
    runtime = ToyRuntime(load_settings(None, raw))
    runtime.translator().__class__ = Hanging
    dataflow = build(load_settings(None, raw), runtime)
    address = str(runtime.watch.open())
    seen: list[str | None] = [health(address)["status"]]

    def probe() -> None:
        until(lambda: health(address)["cause"] == "captions_stalled")
        seen.append(health(address)["reason"])
        assert "surtitle_healthy 0.0" in get(address, "/metrics")[1]
        Hanging.may.set()
        until(lambda: health(address)["status"] == "ok")
        runtime.stop.set()

    try:
        with ThreadPoolExecutor(1) as pool:
            runtime.watch.ready()
            probing = pool.submit(probe)
            run(dataflow, runtime.stop)
            probing.result()
        runtime.end()
        seen.append(health(address)["status"])
    finally:
        runtime.watch.close()
    assert seen == ["starting", "no caption for 0 s despite speech", "over"]
