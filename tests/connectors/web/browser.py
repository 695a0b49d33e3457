"""What a browser does with the events of a stream, and a browser as small as can be."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from operators.events import Caption
from tests import subtitled


def caption(
    text: str, segment: int = 0, *, final: bool = False, stream: str = "talk", source: str = "", **more: Any
) -> Caption:
    return subtitled.caption(text, segment=segment, is_final=final, stream=stream, source=source, **more)


class Page:
    """A page as docs/formats.md tells to write one: what a viewer reads after some events."""

    def __init__(self) -> None:
        self.segments: dict[int, dict[str, Any]] = {}
        self.last_id: str | None = None
        self.snapshots = 0
        #: What the voices are called, by what segments call them.
        self.names: dict[str, str] = {}
        self.state: str | None = None
        self.figures: dict[str, Any] | None = None
        self.is_over = False
        #: Updates that were received, in order.
        self.updates: list[dict[str, Any]] = []

    def take(self, events: bytes) -> None:
        """Take whole events, each ended by an empty line."""
        for event in events.split(b"\n\n"):
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
            if b"data" in fields:
                self.last_id = fields[b"id"].decode()
                self._apply(json.loads(fields[b"data"]))

    def _apply(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "snapshot":
                self.segments = {one["segment"]: dict(one) for one in message["segments"]}
                self.snapshots += 1
                self.is_over = False
                self._name(message.get("speakers", []))
            case "update":
                self._update(message)
            case "speakers":
                self._name(message["speakers"])
            case "state":
                self.state = message["state"]
            case "figures":
                self.figures = message
            case "end":
                self.is_over = True
            case _:
                raise AssertionError(message)

    def _name(self, speakers: list[dict[str, str]]) -> None:
        self.names = {one["speaker"]: one["name"] for one in speakers}

    @property
    def said(self) -> list[tuple[str, str]]:
        """Who says what; an empty name where that is not known."""
        by_number = (self.segments[number] for number in sorted(self.segments))
        return [(self.names[one["speaker"]] if "speaker" in one else "", one["text"]) for one in by_number]

    def _update(self, message: dict[str, Any]) -> None:
        self.updates.append(message)
        before = self.segments.get(message["segment"], {"text": "", "source": "", "final": False})
        assert not before["final"], "nothing comes after a final"
        assert message["keep"] <= len(before["text"])
        assert message["source_keep"] <= len(before["source"])
        self.segments[message["segment"]] = {
            "segment": message["segment"],
            "text": before["text"][: message["keep"]] + message["append"],
            "source": before["source"][: message["source_keep"]] + message["source_append"],
            **{
                name: message[name]
                for name in ("settled", "final", "start_s", "end_s", "spoken", "speaker")
                if name in message
            },
        }

    @property
    def text(self) -> list[str]:
        """What is to be read."""
        return [self.segments[number]["text"] for number in sorted(self.segments)]


class Follower:
    """One connection to a stream's events; its page goes on from where the page was."""

    def __init__(self, port: int, page: Page, path: str, headers: dict[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        given = {"Last-Event-ID": page.last_id} if page.last_id else {}
        self._connection.request("GET", path, headers={**given, **headers})
        self.answer = self._connection.getresponse()
        self.page = page
        self._rest = b""

    def read(self) -> bool:
        """Take what comes next; whether there was anything."""
        chunk = self.answer.read1(65536)
        whole, found, self._rest = (self._rest + chunk).rpartition(b"\n\n")
        if found:
            self.page.take(whole)
        return bool(chunk)

    def until(self, text: str) -> Page:
        """Read until a text is on the page."""
        while not any(text in one for one in self.page.text):
            assert self.read(), f"{text!r} never came; there was {self.page.text}"
        return self.page

    def until_over(self) -> Page:
        """Read until the stream is over."""
        while not self.page.is_over:
            assert self.read(), "no end came"
        return self.page

    def close(self) -> None:
        """Drop the connection."""
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self.answer.close()
        self._connection.close()


@contextmanager
def follow(
    port: int,
    page: Page | None = None,
    *,
    stream: str = "talk",
    language: str = "",
    headers: dict[str, str] | None = None,
) -> Iterator[Follower]:
    """A browser that follows a stream, in the ``language`` that its reader prefers."""
    query = f"?lang={language}" if language else ""
    follower = Follower(port, page or Page(), f"/streams/{stream}/events{query}", headers or {})
    try:
        yield follower
    finally:
        follower.close()
