"""How many ends of segments are taken for the end of a sentence: python docs/scripts/sentence_ends.py …

Give pairs of a file of partials (``surtitle file --save-partials``) and what was really said: a text, or
JSONL with a field ``text``. Each end of a segment is judged as it is heard, by the rules alone and with the
judge of English. A false end breaks a sentence, a false join misses its end; where the
text has a semicolon, colon or dash either is right. The last column is how many words of the next segment had
been heard.
"""

import argparse
import json
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from connectors.jsonl.files import read_events
from flows.engine.judge import open_judge
from operators.events import Partial
from operators.languages import Language, language
from operators.sentences.joining import mend
from operators.sentences.seam import Decision, Judge, Opinion, Seam, Verdict, decide
from operators.sentences.words import Spellings, words_of

_ENDS, _EITHER = re.compile(r"[.?!]"), re.compile(r"[;:—]")
_WORD = re.compile(r"\w+(?:['’.]\w+)*")


class Case(NamedTuple):
    """One end of a segment, what followed it, and what the text has there."""

    before: Partial
    after: Sequence[Partial]
    truth: str


class Judged(NamedTuple):
    """A case, and what was decided after so many words."""

    truth: str
    decision: Decision
    words: int


class _Timed:
    """A judge, and how long it took."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.took_s: list[float] = []

    def __call__(self, before: str, after: str) -> Opinion:
        began = perf_counter()
        opinion = self._judge(before, after)
        self.took_s.append(perf_counter() - began)
        return opinion


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path, nargs="+", metavar="PARTIALS TEXT")
    parser.add_argument("--from", dest="source", default="English")
    parser.add_argument("--each", action="store_true", help="print each decision")
    options = parser.parse_args()
    english = open_judge([])
    assert english is not None, "its encoder is a dependency"
    timed = _Timed(english)
    for name, judge in (("rules", None), ("judge", timed)):
        for partials, text in zip(options.pairs[::2], options.pairs[1::2], strict=True):
            judged = _judge(_cases(partials, _said(text)), language(options.source), judge, each=options.each)
            print(f"{partials.name}, {name}: {_row(judged)}")
    times = sorted(timed.took_s)
    print(f"{len(times)} questions, {1000 * times[len(times) // 2]:.1f} ms at the median")


def _said(text: Path) -> str:
    if text.suffix != ".jsonl":
        return text.read_text()
    return " ".join(json.loads(line)["text"] for line in text.read_text().splitlines())


def _cases(partials: Path, said: str) -> list[Case]:
    """The ends of segments, aligned with the text."""
    events = list(read_events(partials, Partial))
    segments = [list(own) for _, own in groupby(events, lambda one: one.segment)]
    heard, ends = list[str](), list[int]()
    for own in segments:
        heard += (word.lower() for word in _WORD.findall(own[-1].text))
        ends.append(len(heard))
    words = list(_WORD.finditer(said))
    matcher = SequenceMatcher(None, heard, [word.group().lower() for word in words], autojunk=False)
    place = {one.a + step: one.b + step for one in matcher.get_matching_blocks() for step in range(one.size)}
    cases = []
    for (before, after), end in zip(pairwise(segments), ends, strict=False):
        last, first = max(at for at in place if at < end), min(at for at in place if at >= end)
        behind = max(1, place[first] - (first - end))
        between = said[words[min(place[last] + end - 1 - last, behind - 1)].end() : words[behind].start()]
        truth = "ends" if _ENDS.search(between) else "either" if _EITHER.search(between) else "goes on"
        cases.append(Case(before[-1], after, truth))
    return cases


def _judge(cases: Sequence[Case], spoken: Language, judge: Judge | None, *, each: bool) -> list[Judged]:
    spellings, sentence = Spellings(), cases[0].before.text
    judged = []
    for before, after, truth in cases:
        for heard in after:
            pause_s = max(0.0, heard.start_s - before.end_s)
            seam = Seam(sentence, heard.text, pause_s, spoken, heard.is_final)
            decision = decide(seam, judge, spellings)
            if decision.verdict is not Verdict.UNSURE:
                break
        final = after[-1].text
        joined = mend(sentence, final, spoken, mark=decision.mark, keeps_capital=decision.keeps_capital)
        judged.append(Judged(truth, decision, len(words_of(heard.text))))
        if each:
            print(f"{truth:8} {decision.verdict.value:8} {decision.log_odds:5.1f}  … {joined[-70:]}")
        spellings.learn(final)
        # A mistake is counted once: the next case continues what was said.
        ends = truth == "ends" or (truth == "either" and decision.verdict is Verdict.ENDS)
        sentence = final if ends else joined
    return judged


def _row(judged: Sequence[Judged]) -> str:
    inside = [one.decision for one in judged if one.truth == "goes on"]
    ends = [one.decision for one in judged if one.truth == "ends"]
    false_ends = sum(one.verdict is Verdict.ENDS for one in inside)
    false_joins = sum(one.verdict is not Verdict.ENDS for one in ends)
    words = sum(one.words for one in judged) / len(judged)
    return (
        f"false ends {false_ends} of {len(inside)}, "
        f"false joins {false_joins} of {len(ends)}, {words:.1f} words"
    )


if __name__ == "__main__":
    measure()
