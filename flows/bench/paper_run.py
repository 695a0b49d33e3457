"""The facts about a run that the paper's tables need, and the commands that fill their gaps."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from flows.bench.row import MethodRow
from operators.languages import language

#: The paper's pairs of languages, in its order.
PAIRS = {"en→de": "German", "en→zh": "Chinese", "en→ja": "Japanese"}

_SOURCE = (
    "The paper's figures: Zeng et al., arXiv 2509.21740v2, tables 2, 3, 4 and 6; Apple M2 Pro, llama.cpp, "
    "Q4_K_M, means of three runs, COMET wmt22-comet-da, NE in tokens of flores101."
)


class PaperRun(NamedTuple):
    """The facts about a run: what was measured, and how."""

    rows: Sequence[MethodRow]
    #: The model's file and the corpus, as in the signature.
    model: str
    corpus: str
    source: str
    target: str
    #: The tokenizer for NE.
    tokenizer: str
    #: The files, and the other given options.
    text: str
    reference: str | None = None
    options: tuple[str, ...] = ()

    @property
    def is_recorded(self) -> bool:
        """Whether the corpus comes from a recogniser, and not from a growing text."""
        return "|updates:recorded" in self.corpus

    @property
    def pair(self) -> str:
        """The languages' codes."""
        return f"{language(self.source).code}→{language(self.target).code}"

    def missing(self, *, recorded: bool) -> list[str]:
        """A line for each dash that another run can fill.

        Args:
            recorded: For the table of recognised speech instead of that of a text.
        """
        if self.is_recorded != recorded:
            kind = "PARTIALS.jsonl" if recorded else "TEXT"
            return [f"Not measured in this run: {self._command(kind, self.target, None)}"]
        if language(self.source).code != "en":
            return [f"{', '.join(PAIRS)}: surtitle bench ENGLISH --to LANGUAGE --paper"]
        others = [(pair, name) for pair, name in PAIRS.items() if pair != self.pair]
        reference = self.reference and "TRANSLATION"
        return [f"{pair}: {self._command(self.text, name, reference)}" for pair, name in others]

    def closing(self) -> list[str]:
        """Notes about all tables, one sentence per line."""
        lines = [f"here: {self.model}, {self.corpus}, {self.pair}. A dash was not measured."]
        if self.rows[0].comet is None:
            reference = self.reference or "TRANSLATION"
            lines.append(
                f"COMET: {self._command(self.text, self.target, reference, '--comet', 'MODEL.ckpt')}"
            )
        if self.tokenizer != "flores101":
            lines.append(
                f"NE here counts tokens of {self.tokenizer}: docs/measuring.md says how to have flores101."
            )
        return [
            *lines,
            "A/D and A/O in %; ×: tokens per second against RT's, the paper's speedup; wall: by wall time.",
            _SOURCE,
        ]

    def _command(self, text: str, target: str, reference: str | None, *more: str) -> str:
        references = () if reference is None else ("--reference", reference)
        command = ("surtitle", "bench", text, *references, "--to", target, *self.options, *more, "--paper")
        return shlex.join(command)
