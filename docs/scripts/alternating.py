"""Compares SSBD with a conversation in which pieces of source and translation alternate.

python docs/scripts/alternating.py SOURCES REFERENCES --model FILE [--to German] [--lag 3] [--limit 6]

Each piece of the speech is a message of the user, and the model answers it with the translation of that
piece. So the conversation only grows, nothing of it is evaluated twice, and nothing is ever taken back. For
models whose turns are written as in ChatML, such as Qwen's. Prints chrF, erasure in words, the time of an
update, and some finals.
"""

import argparse
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from msgspec.structs import replace
from sacrebleu.metrics.chrf import CHRF

from flows.engine.translation import Engine, open_engine
from flows.measuring.corpus import BenchSegment, load_corpus
from flows.settings.translate import TranslateSettings
from operators.decoding.forward import Forward
from operators.decoding.translator import SegmentState, Translator
from operators.text import common_prefix

_ASK = (
    "<|im_start|>system\nYou are an interpreter. Each message is the next piece of a speech in {source}."
    " Answer with the {target} translation of that piece alone, which continues your translation so far."
)
_USER, _MODEL = "<|im_end|>\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
#: Tokens of an answer at most, for each token of its piece.
_LONGEST = 4

Shown = list[str]


def main() -> None:
    """Print a row for each way to translate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("references", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--to", default="German")
    for name, usual in (("lag", 3), ("skip", 0), ("limit", 6)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    corpus = load_corpus(options.sources, None, lag=options.lag, skip=options.skip, limit=options.limit)
    references = options.references.read_text().splitlines()[options.skip :][: options.limit]
    settings = TranslateSettings(target=options.to, model=options.model, dictionary="none", threads=2)
    engine = open_engine(settings)
    again = engine.translator(replace(settings, method="retranslate", keep=False))
    ways: dict[str, Callable[[BenchSegment], tuple[Shown, list[float]]]] = {
        "re-translation": lambda segment: updated(again, segment),
        "SSBD": lambda segment: updated(engine.translator(settings), segment),
        "alternating": lambda segment: alternated(engine, settings, segment),
    }
    finals: dict[str, list[str]] = {name: [] for name in ways}
    ms: dict[str, list[float]] = {name: [] for name in ways}
    erased, length = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    for segment in corpus.segments:
        for name, way in ways.items():
            shown, took = way(segment)
            ms[name] += took
            finals[name].append(shown[-1])
            length[name] += len(shown[-1].split())
            erased[name] += erasure(shown)
    whole = sum(ms["re-translation"])
    for name, own in ms.items():
        chrf = CHRF().corpus_score(finals[name], [references]).score
        print(
            f"{name:15} chrF {chrf:.1f}  NE {erased[name] / length[name]:.2f}  p50 {median(own):.0f} ms"
            f"  p95 {np.percentile(own, 95):.0f} ms  speedup {whole / sum(own):.2f}"
        )
        print(*finals[name][:3], sep="\n")


def updated(translator: Translator, segment: BenchSegment) -> tuple[Shown, list[float]]:
    """What is shown after each update, and its milliseconds."""
    state, shown, ms = SegmentState(), list[str](), list[float]()
    for number, text in enumerate(segment.updates, 1):
        began = perf_counter()
        state, output = translator.update(segment.key, state, text, is_final=number == len(segment.updates))
        ms.append(1000 * (perf_counter() - began))
        shown.append("".join(output.pieces))
    translator.release(segment.key, state)
    return shown, ms


def alternated(
    engine: Engine, settings: TranslateSettings, segment: BenchSegment
) -> tuple[Shown, list[float]]:
    """The same for the conversation."""
    model, ask = engine.model, _ASK.format(source=settings.source, target=settings.target)
    tokens = model.tokenize(ask, special=True)
    shown, ms, before = [""], list[float](), ""
    for text in segment.updates:
        began = perf_counter()
        piece, before = model.tokenize(text[len(before) :].strip()), text
        tokens += [*model.tokenize(_USER, special=True), *piece, *model.tokenize(_MODEL, special=True)]
        answer: list[int] = []
        with engine.pool.session("alternating") as session:
            while len(answer) < _LONGEST * len(piece):
                row = session.forward(Forward([*tokens, *answer], len(tokens) + len(answer) - 1))[0]
                token = int(row.argmax())
                if model.is_end(token):
                    break
                answer.append(token)
        tokens += answer
        ms.append(1000 * (perf_counter() - began))
        said = b"".join(map(model.piece, answer)).decode(errors="replace")
        shown.append(" ".join(f"{shown[-1]} {said}".split()))
    engine.pool.release("alternating")
    return shown[1:], ms


def erasure(shown: Sequence[str]) -> int:
    """Words that were taken back."""
    words = [text.split() for text in shown]
    return sum(len(old) - common_prefix(old, new) for old, new in pairwise(words))


if __name__ == "__main__":
    main()
