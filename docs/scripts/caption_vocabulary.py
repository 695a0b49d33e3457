"""Chooses the tokens of a captions model: by use in pairs and in word lists, and by the tokens' order.

    pip install wordfreq
    PYTHONPATH=. python docs/scripts/caption_vocabulary.py words.gguf --size 65536 --main pairs.tsv.gz …

A token counts by how often it occurs in the main pairs (each file alike; a fifth again in lower case, as
recognisers write), by a fiftieth of that in other pairs, by the words of wordfreq (Speer 2022, data CC BY-SA
4.0), small and with a capital, and a little by its id: Gemma's are in the order of their frequency in its own
data. The weights were chosen by how many words of NTREX, left out for this, stay as they are.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from wordfreq import get_frequency_dict

from connectors.corpora import each_text
from connectors.gguf.file import read_gguf
from connectors.models.resolve import resolve_model
from connectors.models.vocabulary import list_file, tokenizer_of
from connectors.models.writer import write_model
from operators.languages import language
from operators.models.llama_model import TextTokenizer
from operators.models.pruning import Choice

MAIN, OTHERS, LOWER, ORDER, LEVEL = 0.7, 0.02, 0.2, 0.1, 2000


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="base")
    parser.add_argument("--size", type=int, default=65536)
    parser.add_argument("--main", type=Path, nargs="+", required=True)
    parser.add_argument("--others", type=Path, nargs="*", default=[])
    parser.add_argument("--languages", nargs="+", default=["en", "de"])
    given = parser.parse_args()
    path = resolve_model(given.model)
    file = read_gguf(path)
    tokenizer = tokenizer_of(file, path)
    counter = TextTokenizer(path)
    weights = np.zeros(tokenizer.size)
    for one in given.main:
        weights += MAIN * share(counter.count(each_text(one)))
        weights += MAIN * LOWER * share(counter.count(text.lower() for text in each_text(one)))
    for one in given.others:
        weights += OTHERS * share(counter.count(each_text(one)))
    for one in given.languages:
        weights += share(words(counter, get_frequency_dict(language(one).code, "large"))) / 2
    choice = Choice(tokenizer, {script for one in given.languages for script in language(one).scripts})
    known = np.array(choice.words(tokenizer.size))
    order = np.zeros(tokenizer.size)
    order[known] = 1 / (known + LEVEL)
    weights += ORDER * share(order)
    wanted = np.argsort(-weights, kind="stable")
    choice.add(wanted[weights[wanted] > 0].tolist(), given.size)
    write_model(given.output, list_file(file, tokenizer.size, choice.ids))
    print(f"{given.output}: {len(choice)} of {tokenizer.size} tokens")


def words(counter: TextTokenizer, frequencies: Mapping[str, float]) -> np.ndarray:
    """How often each token occurs in words, half of them with a capital."""
    counts = np.zeros(counter.size)
    for word, frequency in frequencies.items():
        for form in (f" {word}", f" {word[:1].upper()}{word[1:]}"):
            np.add.at(counts, counter.tokenize(form), frequency / 2)
    return counts


def share(counts: np.ndarray) -> np.ndarray:
    """Parts of the whole."""
    return counts / max(counts.sum(), 1e-9)


if __name__ == "__main__":
    main()
