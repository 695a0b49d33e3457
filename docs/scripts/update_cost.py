"""Draws docs/update-cost.svg: what an update costs over the words heard so far, by three methods.

python docs/scripts/update_cost.py TEXT [--joined 3] [--lag 4] [--skip 0] [--limit 12] [--model default]

TEXT has a sentence on each line; units of several sentences stand for speech that is joined over pauses. The
cost is processor time with one thread, which other programs on the machine hardly change.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from matplotlib.figure import Figure

from flows.engine.translation import open_engine
from flows.measuring.corpus import BenchSegment, load_corpus
from flows.settings.loading import load_settings
from operators.decoding.translator import SegmentState, Translator

#: The settings of each method, and one of Okabe and Ito's colours.
METHODS: dict[str, tuple[dict[str, Any], str]] = {
    "re-translation": ({"method": "retranslate", "commit": 0, "keep": False}, "#595959"),
    "SSBD, all evaluated anew": ({"keep": False}, "#D55E00"),
    "SSBD, committed tokens kept": ({"keep": True}, "#0072B2"),
}
#: Words of a bin, and the least number of its updates: fewer tell nothing.
STEP, LEAST = 12, 4

Milliseconds = dict[str, dict[int, list[float]]]


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path)
    for name, usual in (("joined", 3), ("lag", 4), ("skip", 0), ("limit", 12)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--model", default="default")
    options = parser.parse_args()
    lines = options.text.read_text().splitlines()
    groups = [lines[first : first + options.joined] for first in range(0, len(lines), options.joined)]
    with TemporaryDirectory() as folder:
        joined = Path(folder) / "units.txt"
        joined.write_text("".join(" ".join(group) + "\n" for group in groups))
        corpus = load_corpus(joined, None, lag=options.lag, skip=options.skip, limit=options.limit)
    settings = {
        name: load_settings(None, {"translate": {"model": options.model, "threads": 1, **own}}).translate
        for name, (own, _) in METHODS.items()
    }
    engine = open_engine(list(settings.values())[-1])
    ms: Milliseconds = {name: defaultdict(list) for name in METHODS}
    for segment in corpus.segments:
        for name, own in settings.items():
            measure(engine.translator(own), segment, ms[name])
    draw(ms)


def measure(translator: Translator, segment: BenchSegment, ms: dict[int, list[float]]) -> None:
    """Translate the updates of a segment, and add the milliseconds of each."""
    state = SegmentState()
    for number, text in enumerate(segment.updates, 1):
        began = process_time()
        state, _ = translator.update(segment.key, state, text, is_final=number == len(segment.updates))
        ms[len(text.split()) // STEP].append(1000 * (process_time() - began))
    translator.release(segment.key, state)


def draw(ms: Milliseconds) -> None:
    """Print the medians, and draw them."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes = figure.subplots()
    for name, (_, colour) in METHODS.items():
        bins = [(place, own) for place, own in sorted(ms[name].items()) if len(own) >= LEAST]
        words, each = [STEP * (place + 0.5) for place, _ in bins], [median(own) for _, own in bins]
        axes.plot(words, each, color=colour, label=name, marker="o", markersize=3)
        print(name, *(f"{at:.0f}:{cost:.0f}" for at, cost in zip(words, each, strict=True)))
    axes.set(xlabel="words heard", ylabel="ms of an update, median", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(Path(__file__).parent.parent / "update-cost.svg", format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
