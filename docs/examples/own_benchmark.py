"""A benchmark of your own: how fast a text can be split into words.

mkdir flows/measuring/words && touch flows/measuring/words/__init__.py
cp docs/examples/own_benchmark.py flows/measuring/words/command.py
surtitle bench-words talk.txt --json words.json
"""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import msgspec
import typer

from flows.measuring.subjects import Json, subject


@subject("bench-words")
def bench_words(text: Annotated[Path, typer.Argument(help="A text.")], json: Json = None) -> None:
    """Measure how fast a text is split into words."""
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.results import Results, publish, running
    from flows.measuring.signature import sign
    from flows.pages.table import Column, tabulated

    class WordsRow(msgspec.Struct, frozen=True, kw_only=True):
        line: int
        words: int
        microseconds: float

    rows = []
    with running() as runner:
        for number, line in enumerate(runner.each(text.read_text().splitlines(), "splitting", "lines")):
            began = perf_counter()
            words = len(line.split())
            rows.append(WordsRow(line=number, words=words, microseconds=1e6 * (perf_counter() - began)))
    columns = [Column("line", "line"), Column("words", "words"), Column("µs", "microseconds", 1)]
    publish(Results(sign(corpus=text.name), {"rows": rows}, [tabulated("Words", rows, columns)]), json=json)
