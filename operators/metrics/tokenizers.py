"""Tokenizers in which figures are counted: sacrebleu's, to make erasure comparable with papers.

Latency is counted in ``word``, or in ``char`` for languages without spaces, as in SimulEval.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import count

from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from operators.errors import UsageError
from operators.languages import Language

#: Splits a text into tokens.
Tokenizer = Callable[[str], tuple[str, ...]]

# Maximum characters that are split in one call. MeCab takes quadratic time in the length of the longest word
# and fails on some long texts; no caption is that long.
_MAX_CHARACTERS = 2000

_MODULES = {
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "zh": ("tokenizer_zh", "TokenizerZh"),
    "ja-mecab": ("tokenizer_ja_mecab", "TokenizerJaMecab"),
    "char": ("tokenizer_char", "TokenizerChar"),
    "word": ("tokenizer_none", "NoneTokenizer"),
    "intl": ("tokenizer_intl", "TokenizerV14International"),
    # These two need a file, which `connectors.scoring.tokenizer_file` provides.
    "flores101": ("tokenizer_spm", "Flores101Tokenizer"),
    "flores200": ("tokenizer_spm", "Flores200Tokenizer"),
}

# Each of sacrebleu's tokenizers caches the last 65,536 texts: tens of megabytes in a long run.
_MAX_REMEMBERED = 512


@cache
def tokenizer(name: str) -> Tokenizer:
    """The sacrebleu tokenizer called ``name``; raises `UsageError` for an unknown one."""
    if name not in _MODULES:
        raise UsageError(f"there is no tokenizer {name!r}; choose one of {', '.join(_MODULES)}")
    module, attribute = _MODULES[name]
    split = getattr(import_module(f"sacrebleu.tokenizers.{module}"), attribute)()
    calls = count(1)

    def tokens(text: str) -> tuple[str, ...]:
        if next(calls) % _MAX_REMEMBERED == 0:
            _forget(BaseTokenizer)
        if len(text) <= _MAX_CHARACTERS:
            return tuple(split(text).split())
        parts = (text[begin : begin + _MAX_CHARACTERS] for begin in range(0, len(text), _MAX_CHARACTERS))
        return tuple(token for part in parts for token in split(part).split())

    return tokens


def _forget(kind: type[BaseTokenizer]) -> None:
    """Clear the caches of all subclasses; tokenizers also call each other."""
    for one in kind.__subclasses__():
        if hasattr(one.__call__, "cache_clear"):
            one.__call__.cache_clear()
        _forget(one)


@cache  # each room needs it, and the versions are read from files
def erasure_signature(tokenizer_name: str, mask_k: int | None) -> str:
    """The signature that reproduces an erasure figure: tokenizer, aggregation, mask and versions.

    ``mask_k`` is None if the captions do not contain it.
    """
    mask = "unknown" if mask_k is None else str(mask_k)
    versions = f"sacrebleu:{version('sacrebleu')}|surtitle:{version('surtitle')}"
    return f"tok:{tokenizer_name}|aggr:pooled|mask:{mask}|{versions}"


def latency_tokenizer(language: Language) -> str:
    """The name of the tokenizer in which latency is counted."""
    return "word" if language.script.is_spaced else "char"


def spelled(text: str, tokens: Sequence[str]) -> list[str]:
    """Each token as it is written in the text, with the white space before it.

    Joined, they are the text without the white space at its end. If a tokenizer has rewritten the text
    (sacrebleu's 13a turns ``&amp;`` into ``&``), the result is the tokens, separated by spaces.
    """
    made, place = [], 0
    for token in tokens:
        found = text.find(token, place)
        if found < 0 or text[place:found].strip():
            return [token if number == 0 else f" {token}" for number, token in enumerate(tokens)]
        made.append(text[place : found + len(token)])
        place = found + len(token)
    return made
