"""How much later finals come because segments are joined: python docs/scripts/final_delay.py PARTIALS…

Give files of ``surtitle file --save-partials``. Prints, for the finals of sentences, how many seconds they
leave after the final of their last segment, at the median and the 95th percentile, and how many updates
leave for how many that came. Times are those of the events: the model's own time is not in them.
"""

import argparse
from functools import partial
from pathlib import Path

from connectors.jsonl.files import read_events
from flows.engine.judge import open_judge
from operators.events import Partial
from operators.languages import language
from operators.sentences.joining import Sentences, SentencesState
from operators.sentences.numbers import digits


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("partials", type=Path, nargs="+")
    parser.add_argument("--from", dest="source", default="English")
    parser.add_argument("--rules-alone", action="store_true")
    options = parser.parse_args()
    spoken = language(options.source)
    judge = None if options.rules_alone else open_judge([])
    spell = partial(digits, language=spoken)
    delays, heard, left = list[float](), 0, 0
    for path in options.partials:
        sentences = Sentences(SentencesState(path.stem), spoken, judge, spell=spell)
        arrived, made = dict[float, float](), list[Partial]()
        for one in read_events(path, Partial):
            heard += 1
            if one.is_final:
                arrived[one.end_s] = one.arrival_s
            made += sentences.hear(one)
        made += sentences.end()
        left += len(made)
        delays += [one.arrival_s - arrived[one.end_s] for one in made if one.is_final]
    delays.sort()
    median, most = (delays[int(part * (len(delays) - 1) + 0.5)] for part in (0.5, 0.95))
    print(f"{len(delays)} finals, {median:.2f} s later at the median, {most:.2f} s at the 95th percentile")
    print(f"{left} updates for {heard}")


if __name__ == "__main__":
    measure()
