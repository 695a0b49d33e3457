"""Reads the output of another process with a timeout."""

from contextlib import suppress
from io import BufferedReader
from queue import Empty, Queue
from threading import Thread
from typing import IO

_BLOCK_BYTES = 2**15


class PipeReader:
    """Reads a pipe on a thread, at most two blocks ahead: Windows cannot wait for a pipe for a limited time.

    The pipe is closed at its end, or after both `close` and the end of the process.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        assert isinstance(pipe, BufferedReader)
        self._pipe = pipe
        self._blocks = Queue[bytes](2)
        self._rest = b""
        self._is_over = False
        Thread(target=self._read, name="pipe", daemon=True).start()

    def read(self, size: int, timeout_s: float) -> bytes | None:
        """At most ``size`` bytes; empty at the end, None if nothing came in time."""
        if not self._rest and not self._is_over:
            try:
                self._rest = self._blocks.get(timeout=timeout_s)
            except Empty:
                return None
            self._is_over = not self._rest
        block, self._rest = self._rest[:size], self._rest[size:]
        return block

    def close(self) -> None:
        """Read no more; may be called more than once."""
        self._rest, self._is_over = b"", True
        # The thread may be waiting for space in the queue.
        with suppress(Empty):
            while True:
                self._blocks.get_nowait()

    def _read(self) -> None:
        # Reading a closed pipe raises ValueError.
        with self._pipe as pipe, suppress(OSError, ValueError):
            # `read` would wait for a whole block, a second of sound. The descriptor is not read directly: it
            # may belong to another file once another thread has closed it.
            while (block := pipe.read1(_BLOCK_BYTES)) and not self._is_over:
                self._blocks.put(block)
        self._blocks.put(b"")
