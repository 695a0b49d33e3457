"""Phrases with a rare word, as sentences to train on.

python docs/scripts/rare_phrases.py PAIRS OUTPUT --to de

Of the pairs of `training_corpora.py` (its source ``ding-phrases``) those stay whose rarest English word is
neither common nor unknown: they hold what a small model does not know from sentences. With a capital and a
full stop they look like short sentences, so that a model does not learn that text may end without a mark.
Needs wordfreq.
"""

import argparse
import gzip
import re
from pathlib import Path
from random import Random

from training_corpora import write
from wordfreq import zipf_frequency

#: Zipf frequencies (log10 of uses in a billion words) of the rarest word, and what each word of the
#: translation has at least.
_RAREST, _LEAST_TARGET = (2.6, 4.9), 1.8
_MOST_WORDS = 8
#: Comparatives in lists, and places for objects.
_SKIPPED = re.compile(r"^(most|more) |\b(somebody|something)\b", re.IGNORECASE)


def rarest(text: str, language: str) -> float:
    """The frequency of the rarest word of ``text``; 0 without words."""
    words = (word.strip("(),.'!?").lower() for word in text.split())
    return min((zipf_frequency(word, language) for word in words if word), default=0.0)


def is_wanted(source: str, target: str, language: str) -> bool:
    """Whether a pair has a rare word that can be learned."""
    least, most = _RAREST
    return (
        len(source.split()) <= _MOST_WORDS
        and not _SKIPPED.search(source)
        and least <= rarest(source, "en") <= most
        and rarest(target, language) >= _LEAST_TARGET
    )


def sentence(text: str) -> str:
    """The phrase as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def main() -> None:
    """Write what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--to", required=True, help="code of the language of the translations")
    options = parser.parse_args()
    with gzip.open(options.pairs, "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t") for line in file]
    kept = [(sentence(one), sentence(other)) for one, other in pairs if is_wanted(one, other, options.to)]
    Random(1).shuffle(kept)
    write(options.output, kept)
    print(f"{len(kept)} of {len(pairs)} phrases")


if __name__ == "__main__":
    main()
