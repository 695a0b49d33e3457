"""What Moonshine's passes cost and how they round: python docs/scripts/moonshine_passes.py AUDIO…

Prints what passes over 1, 8 and 32 tokens take; by how much a pass over many tokens is off from passes over
one token each; how many finals are greedy decoding's, and what they take, by the margin below which they are
decoded again; and how many last words of unfinished text survive the next update, by their probability.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from flows.measuring.corpus import read_clips, samples
from flows.measuring.speech_scores import spoken_words
from operators.decoding.drive import drive
from operators.decoding.greedy import retranslate
from operators.decoding.session import PrefixSession
from operators.decoding.speech import certain, gaps_to_next
from operators.recognizers.moonshine.model import BEGIN, Encoded, MoonshineModel
from operators.recognizers.moonshine.recognizer import bundled_model, decode, speech_task
from operators.recognizers.windowed.method import SpeechMethod
from operators.recognizers.windowed.segmenter import Segmenter, Window, silero

_SIZES = (1, 8, 32)
_MARGINS = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
_SHARES = (0.0, 0.3, 0.5, 0.7, 0.9, 0.99, 1.01)
#: The recordings are begun at these samples, too: the same speech in other windows.
_OFFSETS = (0, 2000, 4000)

Tokens = tuple[int, ...]


class Final:
    """A final's window, the last hypothesis before it, and its transcript by greedy decoding."""

    def __init__(self, encoded: Encoded, count: int, draft: Tokens) -> None:
        self.encoded, self.draft = encoded, draft
        self.task = speech_task(draft, count, is_final=True)
        self.greedy = drive(retranslate(self.task), PrefixSession(encoded.again()))[0].tokens


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audio", type=Path, nargs="+")
    model = MoonshineModel(bundled_model(), min(2, os.cpu_count() or 1))
    finals: list[Final] = []
    survived: list[tuple[float, bool]] = []
    for windows in _utterances(parser.parse_args().audio):
        final, words = _hear(model, windows)
        finals.append(final)
        survived += words
    _print_passes(max(finals, key=lambda final: len(final.greedy)).encoded)
    _print_noise(finals)
    _print_margins(finals)
    _print_survival(survived)


def _utterances(audio: Sequence[Path]) -> Iterator[list[Window]]:
    for offset in _OFFSETS:
        for clip in read_clips(audio, None):
            segmenter = Segmenter(silero(), 0.5)
            windows: list[Window] = []
            for window in [*segmenter.accept(samples(clip)[offset:]), *segmenter.finish()]:
                windows.append(window)
                if window.is_final:
                    yield windows
                    windows = []


def _hear(model: MoonshineModel, windows: Sequence[Window]) -> tuple[Final, list[tuple[float, bool]]]:
    """The final, and of each last word before it the probability and whether it survived."""
    draft: Tokens = ()
    said: list[tuple[tuple[str, ...], float]] = []
    for window in windows[:-1]:
        encoded = model.encode(window.samples)
        heard = decode(SpeechMethod(), encoded, draft, len(window.samples), is_final=False)
        draft = heard.tokens
        said.append((_words(model, draft), _last_probability(model, draft, heard.probability)))
    final = Final(model.encode(windows[-1].samples), len(windows[-1].samples), draft)
    said.append((_words(model, final.greedy), 1.0))
    return final, [
        (probability, later[: len(words)] == words)
        for (words, probability), (later, _) in pairwise(said)
        if words
    ]


def _words(model: MoonshineModel, tokens: Tokens) -> tuple[str, ...]:
    return spoken_words(model.tokenizer.text(tokens))


def _last_probability(model: MoonshineModel, tokens: Tokens, probability: object) -> float:
    """Of the last word's least probable token, its punctuation left out."""
    assert callable(probability)
    shares = []
    for place in reversed(range(len(tokens))):
        piece = model.tokenizer.piece(tokens[place]).decode("utf-8", "replace")
        if any(character.isalnum() for character in piece):
            shares.append(float(probability(place)))
        if piece.startswith(" ") and shares:
            break
    return min(shares, default=0.0)


def _print_passes(encoded: Encoded) -> None:
    encoded.evaluate([BEGIN], 0, 1)
    times: dict[int, list[float]] = {size: [] for size in _SIZES}
    for _turn in range(25):
        for size, own in times.items():
            encoded.cut(1)
            began = perf_counter()
            encoded.evaluate([BEGIN + 9] * size, 1, size)
            own.append(1000 * (perf_counter() - began))
    print("passes:", ", ".join(f"{size} tokens {median(own):.1f} ms" for size, own in times.items()))


def _gaps(
    encoded: Encoded, sizes: Sequence[int], tokens: Sequence[int]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rows, at = [], 0
    for size in sizes:
        rows += gaps_to_next(encoded.evaluate(tokens[at : at + size], at, size))
        at += size
    return np.array(rows)


def _print_noise(finals: Sequence[Final]) -> None:
    together, apart = [], []
    for final in finals:
        tokens, count = [BEGIN, *final.greedy], len(final.greedy)
        singly = _gaps(final.encoded.again(), [1] * len(tokens), tokens)
        together += abs(_gaps(final.encoded.again(), [len(tokens)], tokens) - singly).tolist()
        apart += abs(_gaps(final.encoded.again(), [1, *[count] * (count > 0)], tokens) - singly).tolist()
    for what, noise in (("in one pass", together), ("after the first token", apart)):
        quantiles = np.quantile(noise, [0.95, 0.99, 1])
        print(
            f"{what}: {len(noise)} tokens of {len(finals)} finals, mean {np.mean(noise):.2f}, "
            "95 % {:.2f}, 99 % {:.2f}, most {:.2f}".format(*quantiles)
        )


def _print_margins(finals: Sequence[Final]) -> None:
    took: dict[float | None, float] = dict.fromkeys((None, *_MARGINS), 0.0)
    equal = dict.fromkeys(_MARGINS, 0)
    for final in finals:
        for margin in took:
            method = retranslate(final.task) if margin is None else certain(final.task, margin)
            began = perf_counter()
            tokens = drive(method, PrefixSession(final.encoded.again()))[0].tokens
            took[margin] += 1000 * (perf_counter() - began)
            if margin is not None:
                equal[margin] += tokens == final.greedy
    print(f"finals from scratch: {took[None] / len(finals):.0f} ms")
    for margin in _MARGINS:
        print(
            f"margin {margin:g}: {equal[margin]} of {len(finals)} equal, {took[margin] / len(finals):.0f} ms"
        )


def _print_survival(survived: Sequence[tuple[float, bool]]) -> None:
    print(f"last words: {np.mean([stood for _, stood in survived]):.2f} of {len(survived)} survive")
    for low, high in pairwise(_SHARES):
        own = [stood for share, stood in survived if low <= share < high]
        if own:
            print(f"probability from {low:g}: {np.mean(own):.2f} of {len(own)}")


if __name__ == "__main__":
    measure()
