"""A client's place in its stream."""

import asyncio
from threading import Lock

from connectors.web.messages import Languages
from connectors.web.protocol import StreamLog
from connectors.web.streams import Client, Followed
from tests.connectors.web.browser import Page, caption


def test_a_connection_that_breaks_between_any_two_events_of_a_reminder_loses_nothing() -> None:
    log = StreamLog("run", Languages(source="en", target="de"), "listening")

    async def received() -> bytes:
        client = Client(Followed(log), None, lambda: None)
        await client.next(Lock())
        for text in ("Guten", "Guten Morgen"):
            log.caption(caption(text))
        client.remind()
        return await client.next(Lock())

    events = asyncio.run(received()).split(b"\n\n")[:-1]
    assert len(events) == 3
    for count in range(len(events) + 1):
        page = Page()
        page.last_id = "run-0"
        page.take(b"\n\n".join(events[:count]))
        page.take(log.arrival(page.last_id)[1])
        assert (page.text, page.snapshots) == (["Guten Morgen"], 0), count
