"""What a check finds: a sentence, whether captions will work, and what to do."""

from typing import Any, Literal, Self

import msgspec

#: All is well; captions work, but not as well as they could; captions will not work.
Verdict = Literal["ok", "warning", "problem"]
_WORST: tuple[Verdict, ...] = ("ok", "warning", "problem")


class Finding(msgspec.Struct, frozen=True):
    """One thing that was found."""

    verdict: Verdict
    #: What was found, as a sentence without a full stop.
    sentence: str
    #: What to do; empty if there is nothing to do.
    remedy: str = ""

    @classmethod
    def ok(cls, sentence: str) -> Self:
        """Nothing has to be done."""
        return cls("ok", sentence)

    @classmethod
    def warning(cls, sentence: str, remedy: str) -> Self:
        """Captions work, but something should be done."""
        return cls("warning", sentence, remedy)

    @classmethod
    def problem(cls, sentence: str, remedy: str) -> Self:
        """Captions will not work before something is done."""
        return cls("problem", sentence, remedy)


class Checked(msgspec.Struct, frozen=True):
    """The result of one check."""

    subject: str
    findings: tuple[Finding, ...]
    #: What the findings are based on; None if it could not be found out.
    facts: Any = None
    took_s: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the findings."""
        return max((one.verdict for one in self.findings), key=_WORST.index, default="ok")


def from_error(sentence: str, *, is_problem: bool) -> Finding:
    """A finding from one of our errors, which says what to do after its last semicolon, or else colon."""
    if sentence[:1].islower() and sentence.partition(" ")[0].isalpha():
        sentence = sentence[0].upper() + sentence[1:]
    found, _, remedy = sentence.rpartition("; " if "; " in sentence else ": ")
    return Finding("problem" if is_problem else "warning", found or remedy, remedy if found else "")
