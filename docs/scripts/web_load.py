"""How late captions reach many browsers at once: the figures in docs/figures.md.

``python docs/scripts/web_load.py [CLIENTS] [SECONDS]``: a server in this process, all clients in one other.
Each update's text begins with the moment at which it was published, on a clock that both processes share.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from connectors.web.hub import Hub
from connectors.web.messages import Languages
from connectors.web.server import WebServer
from operators.events import Caption

_PER_SECOND = 5
_STAMP = re.compile(rb'"append":"[ab](\d+\.\d+) ')
_WORDS = "und so wächst der Satz mit jeder Fassung um einige Wörter weiter bis er fertig ist"


def main() -> None:
    """Publish, and print what the clients say."""
    count, seconds = (int(value) for value in (*sys.argv[1:], *("500", "20")[len(sys.argv) - 1 :]))
    hub = Hub([Languages(source="en", target="de")], ["load"], max_clients=count)
    server = WebServer(hub, port=0, max_clients=count)
    port = server.start().rpartition(":")[2].rstrip("/")
    command = [sys.executable, __file__, "--clients", str(count), port]
    began = time.process_time()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as clients:
        while hub.clients < count:
            time.sleep(0.1)
        joined_s = time.process_time() - began
        time.sleep(1.0)
        began, begun = time.process_time(), time.monotonic()
        for update in range(seconds * _PER_SECOND):
            time.sleep(max(0.0, begun + update / _PER_SECOND - time.monotonic()))
            hub.caption(_caption(update))
        spent = (time.process_time() - began) / (time.monotonic() - begun)
        time.sleep(1.0)
        server.stop()
        delays = np.array(json.loads(clients.communicate()[0])) * 1000
    p50, p95, p99 = np.percentile(delays, (50, 95, 99))
    sent = count * seconds * _PER_SECOND
    print(f"{count} clients, {_PER_SECOND} updates a second, {seconds} s: {len(delays)} of {sent} received")
    print(f"after p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, at most {delays.max():.0f} ms")
    print(f"server: {100 * spent:.0f} % of a core; letting all in took {joined_s:.1f} s of one")


def _caption(update: int) -> Caption:
    segment, revision = divmod(update, 10)
    # The first letter changes, so that each update carries the whole text: the worst case.
    text = f"{'ab'[update % 2]}{time.time():.6f} " + " ".join(_WORDS.split()[: 3 + 2 * revision])
    return Caption(
        stream="load", segment=segment, revision=revision, is_final=revision == 9, source=_WORDS, shown=text,
        withheld="", start_s=0.0, end_s=0.0, arrival_s=0.0, ready_s=0.0,
    )  # fmt: skip


async def follow(count: int, port: int) -> None:
    """Be all the clients, and print the delays in seconds."""
    delays: list[float] = []
    await asyncio.gather(*(_client(port, delays, 0.002 * number) for number in range(count)))
    print(json.dumps(delays))


async def _client(port: int, delays: list[float], wait_s: float) -> None:
    await asyncio.sleep(wait_s)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /streams/load/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while data := await reader.read(65536):
        now = time.time()
        delays.extend(now - float(stamp) for stamp in _STAMP.findall(data))
    writer.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--clients"]:
        asyncio.run(follow(int(sys.argv[2]), int(sys.argv[3])))
    else:
        main()
