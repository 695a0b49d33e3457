"""Finals get to an address in order, none is lost while it does not answer, and captions do not wait."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from connectors.files.watch import OutputWatch
from connectors.sinks import posting
from connectors.sinks.posting import PostPartition, PostSink, PostState
from connectors.sinks.webhook import SECRET_VARIABLE, webhook
from connectors.sinks.youtube import youtube
from operators.errors import UsageError
from operators.languages import language
from operators.notifications import OutputChanged
from operators.secret import Secret
from tests.program import surtitle
from tests.subtitled import caption


class Receiver(ThreadingHTTPServer):
    """Answers with a status each; repeats the last one."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = list(statuses)
        self.requests: list[_Handler] = []
        self.url = f"http://127.0.0.1:{self.server_port}/in?cid=key"
        self.answers = threading.Event()
        self.answers.set()

    @property
    def numbers(self) -> list[int]:
        return [json.loads(request.body)["sequence"] for request in self.requests]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    body: bytes

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.answers.wait(30)
        self.server.requests.append(self)
        statuses = self.server.statuses
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        if not status:
            self.connection.close()  # as a server that crashes after it has taken it
            return
        self.send_response(status)
        self.send_header("Location", self.server.url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    with Receiver(*statuses) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.answers.set()
            receiver.shutdown()
            thread.join()


def posting_to(
    receiver: Receiver, watch: OutputWatch, make: Callable[..., Any] = webhook.make, state: Any = None
) -> PostPartition:
    sink: PostSink = make(Secret(receiver.url), watch=watch)
    return sink.build_part("post", "post", state)


@pytest.fixture
def told() -> list[OutputChanged]:
    return []


@pytest.fixture
def watch(told: list[OutputChanged]) -> OutputWatch:
    return OutputWatch(told.append)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "_FIRST_WAIT_S", 0.01)


def test_a_receiver_that_fails_gets_all_in_order_and_can_tell_what_is_repeated(
    monkeypatch: pytest.MonkeyPatch, told: list[OutputChanged], watch: OutputWatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, "word")
    with receiving(200, 503, 0, 302, 429, 200) as receiver:
        part = posting_to(receiver, watch)
        satz = [caption(f"Satz {number}.", number, number + 1, language="de") for number in range(3)]
        part.write_batch(satz)
        part.write_batch([caption("unfertig", 3, 4, is_final=False), caption(" ", 4, 5)])
        part.close()

    assert receiver.numbers == [1, 2, 2, 2, 2, 2, 3]
    last = json.loads(receiver.requests[-1].body)
    assert abs(datetime.now(UTC) - datetime.fromisoformat(last.pop("said_at"))) < timedelta(minutes=1)
    assert last == {
        "sequence": 3, "stream": "talk", "segment": 0, "source": "Hello.", "text": "Satz 2.",
        "language": "de", "start_s": 2, "end_s": 3,
    }  # fmt: skip
    assert receiver.requests[-1].headers["Content-Type"] == "application/json"
    keys = [request.headers["Idempotency-Key"] for request in receiver.requests]
    assert len(set(keys)) == 3
    assert keys[1:6] == keys[1:2] * 5
    assert {request.headers["Authorization"] for request in receiver.requests} == {"Bearer word"}
    assert [one.is_late for one in told] == [True, False]
    where = receiver.url.partition("?")[0]
    assert all(text.startswith(where) for one in told for text in (one.path, one.sentence))
    assert "key" not in f"{told}"
    assert watch.missing() == []


def test_captions_do_not_wait_what_is_too_much_is_counted_and_after_the_end_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch, watch: OutputWatch
) -> None:
    monkeypatch.setattr(posting, "_END_S", 0.2)
    with receiving(503) as receiver:
        receiver.answers.clear()
        part = posting_to(receiver, watch)
        for number in range(posting.MAX_WAITING + 5):
            part.write_batch([caption("Ja.", number, number + 1)])
        assert receiver.requests == []
        assert len(part.snapshot().waiting) == posting.MAX_WAITING
        part.close()
        receiver.answers.set()
        part._thread.join(5)
        assert not part._thread.is_alive()
    assert [one.records for one in watch.missing()] == [posting.MAX_WAITING + 5]


def test_what_was_not_taken_is_sent_by_the_resumed_run_with_the_same_numbers(watch: OutputWatch) -> None:
    with receiving(503) as receiver:
        part = posting_to(receiver, watch)
        part.write_batch([caption("Eins.", 0, 1), caption("Zwei.", 1, 2)])
        state = part.snapshot()
        receiver.statuses = [200]
        part.close()
        first = {request.headers["Idempotency-Key"] for request in receiver.requests}
        receiver.requests.clear()
        again = posting_to(receiver, watch, state=state)
        again.write_batch([caption("Drei.", 2, 3)])
        again.close()
    assert receiver.numbers == [1, 2, 3]
    assert {request.headers["Idempotency-Key"] for request in receiver.requests[:2]} == first


@pytest.mark.parametrize(
    "address", ["ftp://host/?key=1", "http://[::1/x", "http://host/ä", "http://host/a b", "http://host:x/"]
)
def test_an_address_or_a_secret_that_cannot_be_used_is_refused_and_not_shown(
    address: str, watch: OutputWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"^(ftp|http).*give one of https or http") as refused:
        webhook.make(Secret(address), watch=watch)
    assert "key" not in str(refused.value)
    monkeypatch.setenv(SECRET_VARIABLE, "hunter2\n")
    with pytest.raises(UsageError, match="without spaces or line ends") as refused:
        webhook.make(Secret("http://host/"), watch=watch)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("error", "lost"), [(ValueError, [1]), (http.client.HTTPException, [])])
def test_no_error_of_a_request_stops_later_ones_or_shows_the_address(
    error: type[Exception], lost: list[int], told: list[OutputChanged], watch: OutputWatch
) -> None:
    url = "http://host/?key=1"
    send = Mock(side_effect=[error(f"bad {url}"), 200, 200])
    part = PostSink(url, send, watch=watch).build_part("", "", None)
    part.write_batch([caption("Eins.", 0, 1), caption("Zwei.", 1, 2)])
    part.close()
    assert send.call_args.args[1].caption.text == "Zwei."
    assert [one.records for one in watch.missing()] == lost
    assert "key" not in f"{told} {watch.missing()}"


def test_a_user_in_the_address_is_sent_as_such(monkeypatch: pytest.MonkeyPatch, watch: OutputWatch) -> None:
    with receiving(200) as receiver:
        receiver.url = receiver.url.replace("//", "//user:p%40ss@")
        for secret, sent in (("", "Basic dXNlcjpwQHNz"), ("word", "Bearer word")):
            monkeypatch.setenv(SECRET_VARIABLE, secret)
            part = posting_to(receiver, watch)
            part.write_batch([caption("Eins.", 0, 1)])
            part.close()
            assert receiver.requests[-1].headers["Authorization"] == sent


def test_a_final_that_is_refused_is_left_out_and_counted(watch: OutputWatch) -> None:
    with receiving(200, 422, 503, 200) as receiver:
        part = posting_to(receiver, watch)
        part.write_batch([caption(f"Satz {number}.", number, number + 1) for number in range(3)])
        part.close()
    assert receiver.numbers == [1, 2, 3, 3]
    assert [(one.records, one.reason) for one in watch.missing()] == [(1, "it refused them with status 422")]


def test_youtube_gets_the_time_and_the_text_and_nothing_that_is_too_old(
    monkeypatch: pytest.MonkeyPatch, watch: OutputWatch
) -> None:
    now = 1_700_000_000.0
    monkeypatch.setattr("connectors.sinks.posting.time.time", lambda: now)
    with receiving(200) as receiver:
        receiver.url += "&lang="
        old = posting.NumberedFinal(6, caption("Alt.", 0, 1), now - 61)
        state = PostState(run="", next_number=7, waiting=(old,))
        part = posting_to(receiver, watch, youtube.make, state)
        part.write_batch([caption("Guten\nTag <b>.", 10, 12, ready_s=12.5)])
        part.close()
    (request,) = receiver.requests
    query = parse_qs(urlsplit(request.path).query, keep_blank_values=True)
    assert query == {"cid": ["key"], "lang": [""], "seq": ["7"]}
    assert request.body == b"2023-11-14T22:13:17.500\nGuten Tag <b>.\n"
    assert request.headers["Content-Type"] == "text/plain; charset=UTF-8"
    assert [(one.records, one.reason) for one in watch.missing()] == [(1, "it answered too late")]


def test_who_speaks_is_posted_and_marked_where_another_begins_as_in_a_broadcast(
    watch: OutputWatch,
) -> None:
    german = partial(webhook.make, language_of=lambda _: language("de"))
    live = partial(youtube.make, language_of=lambda _: language("fr"))
    said = [("1", "Eins."), ("1", "Zwei."), ("", "Drei."), ("Anna\n", "Vier.")]
    captions = [caption(text, speaker=who) for who, text in said]
    with receiving(200) as receiver:
        for make in (german, live):
            first = posting_to(receiver, watch, make)
            first.write_batch(captions[:1])
            first.close()
            resumed = posting_to(receiver, watch, make, msgspec.structs.replace(first.snapshot(), waiting=()))
            resumed.write_batch(captions[1:])
            resumed.close()
    posted = [json.loads(one.body) for one in receiver.requests[:4]]
    assert [one.get("speaker") for one in posted] == ["Sprecher 1", "Sprecher 1", None, "Anna"]
    assert [one["text"] for one in posted] == [text for _, text in said]
    shown = [one.body.decode().split("\n")[1] for one in receiver.requests[4:]]
    assert shown == [">> Eins.", "Zwei.", "Drei.", ">> Anna : Vier."]


def test_a_run_posts_its_finals_and_keeps_the_address_to_itself(tmp_path: Path) -> None:
    captions = Path(__file__).parents[2] / "samples" / "captions.jsonl"
    summary = tmp_path / "summary.json"
    with receiving(500, 200) as receiver:
        options = ["--set", f"output.webhook={receiver.url}", "--set", f"output.summary={summary}"]
        done = surtitle("replay", captions, "--quiet", *options)
    assert done.returncode == 0, done.stderr
    assert receiver.numbers == [1, *range(1, captions.read_text().count('"is_final":true') + 1)]
    assert "cid" not in summary.read_text() + done.stderr
