"""Converts recorded blocks of any rate and layout to runs of 16 kHz mono samples."""

from collections.abc import Iterable, Iterator

import numpy as np
import soxr  # type: ignore[import-untyped] # ships no stubs
from numpy.typing import NDArray

from connectors.microphone.buffer import Block
from operators.events import SAMPLE_RATE
from operators.mono import mono


class Resampler:
    """Converts blocks into pieces: a position in 16 kHz samples, and 16-bit samples from there on."""

    def __init__(self) -> None:
        self._last: Block | None = None
        self._soxr: soxr.ResampleStream | None = None
        self._position = 0

    def pieces(self, blocks: Iterable[Block]) -> Iterator[tuple[int, bytes]]:
        """The blocks resampled; their last samples may come with the next blocks."""
        for block in blocks:
            if not self._continues(block):
                yield from self.rest()
                self._begin(block)
            self._last = block
            yield self._piece(block.data if self._soxr is None else self._resampled(block))

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """The remaining samples of the blocks so far; the next blocks do not continue them."""
        self._last = None
        if self._soxr is not None:
            tail = self._soxr.resample_chunk(np.zeros(0, np.float32), last=True)
            self._soxr = None
            yield self._piece(_pcm(tail))

    def _continues(self, block: Block) -> bool:
        last = self._last
        return last is not None and last.run is block.run and last.frame + last.frames == block.frame

    def _begin(self, block: Block) -> None:
        run = block.run
        self._position = run.start + round(block.frame * SAMPLE_RATE / run.rate)
        if (run.rate, run.channels) != (SAMPLE_RATE, 1):
            self._soxr = soxr.ResampleStream(run.rate, SAMPLE_RATE, 1, "float32")

    def _resampled(self, block: Block) -> bytes:
        assert self._soxr is not None
        frames = np.frombuffer(block.data, "<i2").reshape(-1, block.run.channels)
        samples = mono(frames.astype(np.float32)) / np.float32(32768)
        return _pcm(self._soxr.resample_chunk(samples))

    def _piece(self, pcm: bytes) -> tuple[int, bytes]:
        at = self._position
        self._position += len(pcm) // 2
        return at, pcm


def _pcm(samples: NDArray[np.float32]) -> bytes:
    pcm: bytes = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()
    return pcm
