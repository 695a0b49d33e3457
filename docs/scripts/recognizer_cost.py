"""What a recogniser costs: python docs/scripts/recognizer_cost.py ENGINE RECORDING [--model FOLDER]

Hears the recording once, as fast as it can, in chunks of a tenth of a second, and prints the text, then times
and memory as one line. A model's first seconds count: they are what a live caption waits for.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median, quantiles
from time import perf_counter

from connectors.audio.decoder import AudioDecoder
from flows.engine.recognition import make_recognizer
from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.part import RecognizerSettings, unobserved
from operators.recognizers.protocol import Hypothesis

_CHUNK_BYTES = 2 * SAMPLE_RATE // 10
# An update takes the model; a chunk that only waits for the next update does not.
_UPDATE_S = 0.005


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["moonshine", "vosk", "whisper"])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--model", help="folder of the speech model")
    parser.add_argument("--repeat", type=int, default=1, help="hear it so many times on end")
    options = parser.parse_args()
    settings = RecognizerSettings(engine=options.engine, model=options.model)
    pcm = b"".join(AudioDecoder(options.recording).blocks())
    samples = len(pcm) // 2

    began, cpu_s = perf_counter(), _cpu_s()
    recognizer = make_recognizer(settings, observe=unobserved)
    load_s = perf_counter() - began
    took: list[float] = []
    memory: list[float] = []
    for turn in range(options.repeat):
        for at in range(0, len(pcm), _CHUNK_BYTES):
            start_s = (turn * samples + at // 2) / SAMPLE_RATE
            chunk = AudioChunk(stream="", start_s=start_s, pcm=pcm[at : at + _CHUNK_BYTES])
            began = perf_counter()
            hypotheses = recognizer.accept(chunk)
            took.append(perf_counter() - began)
            if turn == 0:
                _print_finals(hypotheses)
        memory.append(_resident_mb())
    recognizer.finish()
    recognizer.close()

    updates = [took_s for took_s in took if took_s > _UPDATE_S]
    duration_s = options.repeat * samples / SAMPLE_RATE
    # Caches fill in the first twentieth.
    settled = memory[len(memory) // 20 :]
    growth = 100 * (settled[-1] / settled[0] - 1)
    print(
        f"load {load_s:.2f} s, processor {(_cpu_s() - cpu_s) / duration_s:.2f} s/s, "
        f"update {median(updates):.3f} s (95 %: {quantiles(updates, n=20)[-1]:.3f} s), "
        f"memory {memory[-1]:.0f} MB, {growth:+.1f} % in {duration_s / 60:.0f} min"
    )


def _print_finals(hypotheses: Sequence[Hypothesis]) -> None:
    for hypothesis in hypotheses:
        if hypothesis.is_final:
            print(f"{hypothesis.start_s:7.2f} {hypothesis.end_s:7.2f}  {hypothesis.text}")


def _cpu_s() -> float:
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _resident_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1000


if __name__ == "__main__":
    measure()
