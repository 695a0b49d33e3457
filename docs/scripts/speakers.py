"""Measures whose words captions say they are, on talks that are put together of recordings of known voices.

.venv/bin/python docs/scripts/speakers.py VOICES [--talks N] [--of 2,3,4,5,6] [--seed N] [--minutes N]
    [--between 0.3,1] [--room]

``VOICES`` has a folder of recordings for each voice. A talk has turns of 3 to 20 s with pauses ``--between``,
each up to 4 dB louder or softer; what a voice says is taken in turn, cut at pauses. Each talk runs through
``surtitle file --speakers``. A word of a finished sentence counts as right if its label is the one that the
voice has most often; it is spoken where its place in the sentence says. ``--room``: all sound alike far from
the microphone, with an echo of 0.5 s as loud as the direct sound, and noise 15 dB below speech.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import wave
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np

from connectors.audio.decoder import open_audio
from connectors.jsonl.files import read_events
from operators.events import SAMPLE_RATE, Partial
from operators.recognizers.segmenter import HOP, Samples, silero

#: Seconds of a turn, and between two recordings in one; decibels of a turn.
TURN_S, REST_S, LOUDER_DB = (3.0, 20.0), (0.2, 0.6), 4.0
#: A pause at which a recording may be cut, and what is kept around speech.
PAUSE_S, AROUND_S = 0.2, 0.06
LEVEL = 0.05
#: Of a room: the time in which its echo becomes 60 dB softer, and how far its noise is below speech.
ECHO_S, NOISE_DB = 0.5, 15.0


class Said(NamedTuple):
    """Who spoke from when to when."""

    start_s: float
    end_s: float
    voice: str


class Result(NamedTuple):
    #: Share of the words that have the right voice in finished sentences.
    right: float
    found: int
    voices: int


def sound_of(path: Path) -> Samples:
    decoder = open_audio(path)
    try:
        pcm = b"".join(decoder.blocks())
    finally:
        decoder.close()
    samples = np.frombuffer(pcm, "<i2").astype(np.float32)
    return samples * np.float32(LEVEL / max(1e-9, float(np.sqrt(np.mean(samples**2)))))


def phrases_of(folder: Path) -> list[tuple[Samples, float | None]]:
    """What is said between pauses, and the seconds of the pause behind it; None at a recording's end."""
    found: list[tuple[Samples, float | None]] = []
    for path in sorted(folder.iterdir()):
        sound, detect = sound_of(path), silero()
        voiced = [at for at in range(0, len(sound) - HOP, HOP) if detect(sound[at : at + HOP] * 4) > 0.5]
        if not voiced:
            continue
        cuts = [(one, other) for one, other in pairwise(voiced) if other - one >= PAUSE_S * SAMPLE_RATE]
        around = round(AROUND_S * SAMPLE_RATE)
        starts = [voiced[0], *(other for _, other in cuts)]
        ends = [*(one for one, _ in cuts), voiced[-1]]
        spans = [(max(0, one - around), end + HOP + around) for one, end in zip(starts, ends, strict=True)]
        for (start, end), after in zip(spans, [*spans[1:], None], strict=True):
            found.append((sound[start:end], None if after is None else (after[0] - end) / SAMPLE_RATE))
    return found


def silence(seconds: float) -> Samples:
    return np.zeros(round(max(0.0, seconds) * SAMPLE_RATE), np.float32)


def talk_of(
    pool: dict[str, list[tuple[Samples, float | None]]],
    voices: list[str],
    chance: random.Random,
    seconds: float,
    between_s: tuple[float, float],
) -> tuple[Samples, list[Said]]:
    at = {voice: chance.randrange(len(pool[voice])) for voice in voices}
    parts, said, position, last = [silence(0.5)], list[Said](), 0.5, ""
    while position < seconds:
        last = voice = chance.choice([one for one in voices if one != last] or voices)
        turn_s, gain = chance.uniform(*TURN_S), 10 ** (chance.uniform(-LOUDER_DB, LOUDER_DB) / 20)
        end_s = position + turn_s
        while True:
            phrase, pause_s = pool[voice][at[voice] % len(pool[voice])]
            at[voice] += 1
            said.append(Said(position, position + len(phrase) / SAMPLE_RATE, voice))
            is_over = said[-1].end_s >= end_s
            rest_s = chance.uniform(*between_s) if is_over else min(pause_s or chance.uniform(*REST_S), 0.8)
            parts += [phrase * np.float32(gain), silence(rest_s)]
            position = said[-1].end_s + len(parts[-1]) / SAMPLE_RATE
            if is_over:
                break
    hiss = np.random.default_rng(chance.randrange(2**31)).normal(0, 0.0005, sum(map(len, parts)))
    return (np.concatenate(parts) + hiss).astype(np.float32), said


def in_a_room(sound: Samples, chance: random.Random) -> Samples:
    noise = np.random.default_rng(chance.randrange(2**31))
    taps = round(ECHO_S * SAMPLE_RATE)
    # 60 dB softer at its end.
    echo = noise.normal(size=taps) * 10 ** (-3 * np.arange(taps) / taps)
    echo[: round(0.005 * SAMPLE_RATE)] = 0
    echo /= np.sqrt(np.sum(echo**2))
    echo[0] = 1.0
    size = len(sound) + taps
    heard = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(echo, size), size)[: len(sound)]
    level = np.sqrt(np.mean(heard**2)) * 10 ** (-NOISE_DB / 20)
    return (heard + noise.normal(0, level, len(heard))).astype(np.float32)


def captioned(sound: Samples, options: list[str]) -> list[Partial]:
    """The finished sentences that surtitle makes of a talk."""
    with tempfile.TemporaryDirectory() as folder:
        path, sentences = Path(folder) / "talk.wav", Path(folder) / "sentences.jsonl"
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
            file.writeframes((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())
        asked = ["--captions-only", "--speakers", "--set", f"output.sentences={sentences}", *options]
        program = [sys.executable, "-c", "from flows.main import main; main()"]
        subprocess.run([*program, "file", str(path), *asked], check=True, capture_output=True)
        return [one for one in read_events(sentences, Partial) if one.is_final]


def scored(sentences: list[Partial], said: list[Said]) -> Result:
    counts = Counter[tuple[str, str]]()
    for one in sentences:
        words = one.text.split()
        for number in range(len(words)):
            moment = one.start_s + (number + 0.5) / len(words) * (one.end_s - one.start_s)
            voice = min(said, key=lambda each: max(each.start_s - moment, moment - each.end_s)).voice
            counts[voice, one.speaker or ""] += 1
    right = 0
    taken_voices, taken_labels = set[str](), set[str]()
    # The pairs of a voice and its label, the most frequent ones first.
    for (voice, label), count in counts.most_common():
        if label and voice not in taken_voices and label not in taken_labels:
            right += count
            taken_voices.add(voice)
            taken_labels.add(label)
    labels = {label for _, label in counts if label}
    return Result(right / max(1, counts.total()), len(labels), len({one.voice for one in said}))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("voices", type=Path)
    options.add_argument("--talks", type=int, default=10)
    options.add_argument("--of", default="2,3,4,5,6")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--between", default="0.3,1", help="seconds between two turns")
    options.add_argument("--room", action="store_true", help="all in a room with echo and noise")
    options.add_argument("more", nargs="*", help="more options for surtitle, behind --")
    asked = options.parse_args()
    chance = random.Random(asked.seed)
    pool = {
        folder.name: phrases for folder in sorted(asked.voices.iterdir()) if (phrases := phrases_of(folder))
    }
    least_s, most_s = map(float, asked.between.split(","))
    numbers = [int(one) for one in asked.of.split(",")]
    results = list[Result]()
    for talk in range(asked.talks):
        voices = chance.sample(list(pool), numbers[talk % len(numbers)])
        sound, said = talk_of(pool, voices, chance, 60 * asked.minutes, (least_s, most_s))
        sound = in_a_room(sound, chance) if asked.room else sound
        results.append(result := scored(captioned(sound, asked.more), said))
        print(f"{talk + 1}: {', '.join(voices)}: {result.found} found, {result.right:.1%} right", flush=True)
    found = sum(one.found == one.voices for one in results)
    print(
        f"{len(results)} talks: {mean(one.right for one in results):.1%} of words right, "
        f"{min(one.right for one in results):.1%} at least; all voices found in {found}"
    )


if __name__ == "__main__":
    main()
