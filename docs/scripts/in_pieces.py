"""What pauses cost a translation: python docs/scripts/in_pieces.py SOURCES REFERENCES

Cuts sentences into segments as a recogniser does at pauses, and prints chrF and BLEU of whole sentences, of
the pieces translated one by one, and of the pieces joined to sentences again. Sentences that were joined
falsely have no line of their own, so OmniSTEval divides each output anew, by the least edit distance to all
references, and scores it. With ``--save-partials`` it writes the events of the recogniser for ``surtitle
replay``, partials growing by two words.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec
from spoken_pieces import Piece, pieces, sentences

from flows.engine.judge import open_judge
from flows.engine.translation import open_engine
from flows.settings.translate import TranslateSettings
from operators.decoding.translator import SegmentState, Translator
from operators.events import Partial
from operators.languages import Language, language
from operators.sentences.joining import ended, mend
from operators.sentences.seam import Decision, Judge, Seam, Verdict, decide
from operators.sentences.words import Spellings

_WORD_S = 0.35
# Where `make setup` puts what the extra `scorers` names.
_SCORERS = Path(sys.prefix) / "scorers"


def measure() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("references", type=Path)
    parser.add_argument("--from", dest="source", default="English")
    parser.add_argument("--to", default="German")
    parser.add_argument("--model", default="default")
    parser.add_argument("--lines", type=int, nargs=2, default=(101, 160))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules-alone", action="store_true")
    parser.add_argument("--save-partials", type=Path)
    options = parser.parse_args()
    first, last = options.lines
    wholes = [
        list(sentences(line)) or [line] for line in options.sources.read_text().splitlines()[first - 1 : last]
    ]
    references = options.references.read_text().splitlines()[first - 1 : last]
    rng = Random(options.seed)
    heard = [[piece for sentence in line for piece in pieces(sentence, rng)] for line in wholes]
    if options.save_partials:
        lines = (msgspec.json.encode(event) for event in _events([one for line in heard for one in line]))
        options.save_partials.write_bytes(b"\n".join(lines) + b"\n")
    settings = TranslateSettings(
        source=options.source, target=options.to, model=options.model, method="retranslate", dictionary="none"
    )
    engine = open_engine(settings)
    spoken = language(options.source)
    judge = None if options.rules_alone else open_judge([engine.model])
    ways = {
        "whole": [sentence for line in wholes for sentence in line],
        "pieces": [piece.final for line in heard for piece in line],
        "joined": _joined(heard, spoken, judge),
    }
    translator = engine.translator(settings)
    for name, texts in ways.items():
        made = " ".join(_translate(translator, text) for text in texts)
        print(f"{name:7} {len(texts):4} texts  {_scores(made, references, language(options.to))}", flush=True)


def _scores(made: str, references: Sequence[str], written: Language) -> str:
    """The scores of an output that is divided into as many lines as there are references."""
    with TemporaryDirectory() as folder:
        files = {
            "hypothesis_file": made,
            "ref_sentences_file": "\n".join(references),
            "text_segmentation": "\n".join(f"docid=0,segid={at}" for at in range(len(references))),
        }
        options = ["--hypothesis_format", "text", "--no_latency", "--bleu_tokenizer", written.tokenizer]
        for name, text in files.items():
            path = Path(folder, name)
            path.write_text(f"{text}\n")
            options += [f"--{name}", str(path)]
        level = "--word_level" if written.joint else "--char_level"
        command = [sys.executable, "-m", "omnisteval.cli", "longform", level, "--output_folder", folder]
        subprocess.run(
            [*command, *options], env=os.environ | {"PYTHONPATH": str(_SCORERS)}, check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        rows = (line.split("\t") for line in Path(folder, "scores.tsv").read_text().splitlines())
        scores = {row[0]: row[1] for row in rows}
    return f"chrF {float(scores['chrF']):.1f}  BLEU {float(scores['BLEU']):.1f}"


def _joined(heard: Sequence[Sequence[Piece]], spoken: Language, judge: Judge | None) -> list[str]:
    """The sentences that the pieces are joined to; prints how many seams went wrong."""
    stream = [piece for line in heard for piece in line]
    spellings, sentence, done = Spellings(), stream[0].final, list[str]()
    wrong = {False: 0, True: 0}
    for before, after in pairwise(stream):
        seam = Seam(sentence, "", before.pause_s, spoken)
        decision = _decide(seam, after, judge, spellings)
        ends = decision.verdict is Verdict.ENDS
        wrong[before.is_last] += ends is not before.is_last
        spellings.learn(after.final)
        if ends:
            done.append(ended(sentence))
            sentence = after.final
        else:
            sentence = mend(
                sentence, after.final, spoken, mark=decision.mark, keeps_capital=decision.keeps_capital
            )
    ends_count = sum(piece.is_last for piece in stream[:-1])
    inside = len(stream) - 1 - ends_count
    print(f"false ends {wrong[False]} of {inside}, false joins {wrong[True]} of {ends_count}", flush=True)
    return [*done, ended(sentence)]


def _decide(seam: Seam, after: Piece, judge: Judge | None, spellings: Spellings) -> Decision:
    """As the words behind the seam are heard, two at a time."""
    for text, is_final in _growing(after):
        decision = decide(seam._replace(after=text, is_whole=is_final), judge, spellings)
        if decision.verdict is not Verdict.UNSURE:
            break
    return decision


def _growing(piece: Piece) -> Iterator[tuple[str, bool]]:
    words = piece.heard.split()
    for end in range(2, len(words), 2):
        yield " ".join(words[:end]), False
    yield piece.final, True


def _translate(translator: Translator, text: str) -> str:
    state, output = translator.update("one", SegmentState(), text, is_final=True)
    translator.release("one", state)
    return "".join(output.pieces).strip()


def _events(stream: Sequence[Piece]) -> Iterator[Partial]:
    start_s = 0.0
    for segment, piece in enumerate(stream):
        for revision, (text, is_final) in enumerate(_growing(piece)):
            end_s = start_s + _WORD_S * len(text.split())
            arrival_s = end_s + (0.26 if is_final else 0.05)
            yield Partial(
                stream="pieces", segment=segment, revision=revision, is_final=is_final, text=text,
                start_s=round(start_s, 3), end_s=round(end_s, 3), arrival_s=round(arrival_s, 3),
            )  # fmt: skip
        start_s = end_s + max(0.0, piece.pause_s)


if __name__ == "__main__":
    measure()
