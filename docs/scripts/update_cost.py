"""Draws docs/update-cost.svg: what an update costs over the words heard so far, by three methods.

python docs/scripts/update_cost.py TEXT [--joined 3] [--lag 4] [--skip 0] [--limit 12] [--model default]

TEXT has a sentence on each line; units of several sentences stand for speech that is joined over pauses.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from matplotlib.figure import Figure

from flows.bench.corpus import load_corpus
from flows.bench.runner import run_trials, warm_up
from flows.engine.translation import open_engine
from flows.settings.loading import load_settings

#: Okabe and Ito's colours.
METHODS = {
    "re-translation": ({"method": "retranslate", "commit": 0, "keep": False}, "#595959"),
    "SSBD, all evaluated anew": ({"keep": False}, "#D55E00"),
    "SSBD, committed tokens kept": ({"keep": True}, "#0072B2"),
}
#: Words of a bin.
STEP = 8


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
        name: load_settings(None, {"translate": {"model": options.model, **own}}).translate
        for name, (own, _) in METHODS.items()
    }
    engine = open_engine(list(settings.values())[-1])
    translators = [engine.translator(each) for each in settings.values()]
    warm_up(corpus, translators)
    ms: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in METHODS}
    for trial in run_trials(corpus, translators, 1, (), set()):
        heard = [len(text.split()) for text in corpus.segments[trial.segment].updates]
        for name, updates in zip(METHODS, trial.updates, strict=True):
            for words, update in zip(heard, updates, strict=True):
                ms[name][words // STEP].append(1000 * update.effort.total_s)
    draw(ms)


def draw(ms: dict[str, dict[int, list[float]]]) -> None:
    """Print the medians, and draw them."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes = figure.subplots()
    for name, (_, colour) in METHODS.items():
        # A bin of few updates tells nothing.
        points = [
            (STEP * (place + 0.5), median(own)) for place, own in sorted(ms[name].items()) if len(own) > 4
        ]
        axes.plot(*zip(*points, strict=True), color=colour, label=name, marker="o", markersize=3)
        print(name, *(f"{words:.0f}:{each:.0f}" for words, each in points))
    axes.set_xlabel("words heard")
    axes.set_ylabel("ms of an update, median")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path = Path(__file__).parent.parent / "update-cost.svg"
    figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
