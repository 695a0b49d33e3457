"""What is counted, and how it is served, as a scraper and a probe see it."""

import http.client
import json
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import msgspec
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from connectors.metrics.counters import RunMetrics
from connectors.metrics.server import parse_address, served_metrics
from operators.errors import OutputError, UsageError
from operators.events import Effort, Erasure, ErasureRecord
from operators.metrics.health import Verdict
from operators.model_errors import ErrorKind


def counted(text: str) -> dict[str, float]:
    """The metrics' values by name and the values of labels."""
    return {
        " ".join([sample.name.removeprefix("surtitle_"), *dict(sorted(sample.labels.items())).values()]): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def record(segment: int, *, is_final: bool, from_speech_s: float = 0.7) -> ErasureRecord:
    return ErasureRecord(
        stream="<script>", segment=segment, revision=0, is_final=is_final,
        raw=Erasure(length=5, erased=3, ne_segment=0.6, ne_stream=0.6),
        shown=Erasure(length=4, erased=1, ne_segment=0.25, ne_stream=0.25),
        latency_from_speech_s=from_speech_s, latency_from_arrival_s=0.15, overtaken=2,
        effort=Effort(
            drafted=9, accepted=6, decoded=4, passes=5, prompt_tokens=80, prompt_reused=70, model_s=0.5
        ),
        signature="",
    )  # fmt: skip


@contextmanager
def serving(verdict: Verdict, address: str = "0") -> Iterator[tuple[bool, int]]:
    """Whether others may reach it, and the port."""
    with served_metrics(parse_address(address), RunMetrics().registry, lambda: verdict) as (where, is_open):
        yield is_open, int(where.rpartition(":")[2].removesuffix("/metrics"))


def get(port: int, path: str, **headers: str) -> tuple[int, str, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read().decode()


def test_records_are_counted() -> None:
    metrics = RunMetrics()
    for is_final in (False, False, True):
        metrics.partials.inc()
        metrics.record(record(0, is_final=is_final))
    failed = record(1, is_final=False, from_speech_s=-0.1)
    metrics.record(msgspec.structs.replace(failed, trouble=ErrorKind.EMPTY))
    found = counted(generate_latest(metrics.registry).decode())
    expected = {
        "model_troubles_total empty": 1,
        "partials_total": 3, "captions_total partial": 3, "captions_total final": 1, "segments_total": 2,
        "overtaken_partials_total": 8, "erased_tokens_total raw": 12, "erased_tokens_total shown": 4,
        "final_tokens_total raw": 5, "final_tokens_total shown": 4, "forward_passes_total": 20,
        "drafted_tokens_total": 36, "accepted_tokens_total": 24, "decoded_tokens_total": 16,
        "prompt_tokens_total": 320, "reused_prompt_tokens_total": 280, "model_seconds_total": 2.0,
        "partial_to_caption_seconds_bucket 0.1": 0, "partial_to_caption_seconds_bucket 0.2": 4,
        "partial_to_caption_seconds_count": 4, "speech_to_caption_seconds_bucket 0.5": 1,
        "speech_to_caption_seconds_bucket 0.75": 4,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert found["speech_to_caption_seconds_sum"] == pytest.approx(2.1)


def test_whoever_logs_a_failed_write_has_it_counted_and_no_number_of_outputs_is_too_many() -> None:
    metrics = RunMetrics()
    log = logging.Logger("operators.models", logging.INFO)
    log.addHandler(metrics)
    for number in range(200):
        log.warning("full", extra={"event": "write_failed", "output": f"output {number}"})
    log.error("broken")
    log.info("nothing special", extra={"event": "progress"})
    found = counted(generate_latest(metrics.registry).decode())
    assert found["write_failures_total output 0"] == 1
    assert found["write_failures_total other"] == 150
    assert (found["messages_total warning"], found["messages_total error"]) == (200, 1)
    assert "messages_total info" not in found


def test_names_and_help_are_what_prometheus_wants() -> None:
    metrics = RunMetrics()
    metrics.gauge("viewers", "Viewers in browsers.", lambda: 3)
    text = generate_latest(metrics.registry).decode()
    for family in text_string_to_metric_families(text):
        assert re.fullmatch(r"(surtitle|process)_[a-z_]+", family.name)
        assert family.documentation
    assert (counted(text)["viewers"], "surtitle_build_info" in text, "_created" in text) == (3, True, False)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("9464", "127.0.0.1", 9464), ("0", "127.0.0.1", 0), ("localhost:1", "localhost", 1),
        ("0.0.0.0:65535", "0.0.0.0", 65535), ("[::1]:9464", "::1", 9464),
    ],
)  # fmt: skip
def test_an_address_is_this_machine_s_own_unless_it_says_otherwise(text: str, host: str, port: int) -> None:
    assert parse_address(text) == (host, port)


@pytest.mark.parametrize("text", ["", ":9464", "host:", "host", "65536", "-1", "1.5", "٣", "1" * 5000])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not \[HOST:\]PORT; give metrics.listen an address such as"):
        parse_address(text)


def test_a_run_is_scraped_and_green_while_it_is_well_and_else_says_why() -> None:
    with serving(Verdict("ok")) as (is_open, port):
        assert not is_open
        status, kind, body = get(port, "/healthz")
        assert (status, kind, json.loads(body)["status"]) == (200, "application/json", "ok")
        status, kind, body = get(port, "/metrics")
        assert (status, kind.partition(";")[0]) == (200, "text/plain")
        assert "partials_total" in counted(body)
        status, kind, body = get(port, "/metrics", accept="application/openmetrics-text; version=1.0.0")
        assert (kind.partition(";")[0], body.endswith("# EOF\n")) == ("application/openmetrics-text", True)
        assert get(port, "/captions")[0] == 404
    with pytest.raises(OSError, match="refused"):
        get(port, "/healthz")
    with serving(Verdict("failing", "captions_stalled", "no caption for 12 s")) as (_, port):
        status, _, body = get(port, "/healthz")
    assert (status, json.loads(body)) == (
        503, {"status": "failing", "cause": "captions_stalled", "reason": "no caption for 12 s"}
    )  # fmt: skip


def test_no_other_site_reads_what_is_for_this_machine() -> None:
    with serving(Verdict("ok")) as (_, port):
        assert get(port, "/metrics", host="evil.example")[0] == 421
        assert get(port, "/metrics", origin="http://evil.example")[0] == 403
    with serving(Verdict("ok"), "0.0.0.0:0") as (is_open, port):
        assert is_open
        assert get(port, "/metrics", host="surtitle.monitoring.svc")[0] == 200


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = f"^metrics cannot be served at 127.0.0.1:{port}: Address already in use; choose another"
        with pytest.raises(OutputError, match=sentence), serving(Verdict("ok"), str(port)):
            pass
