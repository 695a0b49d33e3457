"""Examples for prefix training (Arivazhagan et al. 2020, "Re-translation versus streaming", section 4.2).

An example is a pair of texts, or a prefix of the source and the same share of the target.
"""

from random import Random
from typing import NamedTuple

from operators.prompts.prompt import Prompt

Pair = tuple[str, str]


class Example(NamedTuple):
    source: str
    target: str
    is_final: bool


class Tokens(NamedTuple):
    prompt: tuple[int, ...]
    #: Ends with a line break.
    answer: tuple[int, ...]


def example(pair: Pair, rng: Random, *, prefixes: float, joint: str) -> Example:
    """The pair, or with probability ``prefixes`` a prefix of random length.

    ``joint`` separates the target's words; if it is empty, the target is cut between any two characters.
    """
    words, target = pair[0].split(), pair[1].split()
    if rng.random() >= prefixes:
        return Example(" ".join(words), " ".join(target), is_final=True)
    pieces = target if joint else list(" ".join(target))
    length = rng.randint(1, len(words))
    supported = pieces[: len(pieces) * length // len(words)]
    return Example(" ".join(words[:length]), joint.join(supported), is_final=False)


def asked(prompt: Prompt, shown: Example) -> Tokens:
    """The tokens of an example; an empty target teaches the model to give an empty answer."""
    answer = prompt.vocabulary.tokenize(prompt.lead + shown.target) if shown.target else []
    source = prompt.source(shown.source)
    return Tokens(prompt.build(source, is_final=shown.is_final), (*answer, *prompt.vocabulary.tokenize("\n")))
