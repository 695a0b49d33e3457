"""Where a sentence ends: at a pause, between what was heard before it and what is heard behind it.

A recogniser ends a segment at each short pause and writes a full stop there, in read speech three times in
four within a sentence. Clear cases are decided by rules; the others by a logistic score of the marks, the
pause, the words at the seam and the opinion of a judge (`operators.sentences.probe`).
"""

from collections.abc import Callable
from enum import Enum
from math import inf
from typing import NamedTuple

from operators.languages import Language
from operators.sentences.words import COMMAS, STRONG_STOPS, Spellings, parted, small_words, words_of
from operators.trouble import ModelTrouble

#: Words behind the seam after which a decision is final: until then the recogniser may revise the last one.
ENOUGH = 3


class Opinion(NamedTuple):
    """A judge's opinion about a seam, in log odds, by the words alone."""

    #: That the sentence ends there.
    ends: float
    #: That a comma stands there, if it goes on.
    comma: float
    #: That the first word behind it has a capital, if it goes on.
    capital: float


#: Gives an opinion about the text before a seam, without its mark, and what is known of that behind it.
#: Raises `ModelTrouble` if it fails.
Judge = Callable[[str, str], Opinion]


def has_own_capitals(word: str) -> bool:
    """Whether a word is spelled with capitals everywhere: "I", "I'm", "NASA", "McDonald"."""
    letters = parted(word)[0]
    return letters == "I" or letters[:2] in ("I'", "I’") or any(letter.isupper() for letter in letters[1:])


# Log odds that a decision needs for each word that is missing behind the seam.
_SURE = 2.0
# Log odds that are added where a sentence should end soon: clauses end where they are above this.
_LONG = 3.0
# Windowed recognisers count 0.6 s of a pause as speech; of what is left, sentences have more than clauses.
_PAUSE_S = 0.1
# Log odds that the recogniser's comma adds to the judge's opinion of one.
_HEARD_COMMA = 1.0


class Verdict(Enum):
    """Whether a sentence is over at a seam."""

    ENDS = "ends"
    GOES_ON = "goes on"
    #: More has to be heard; the captions show the text as one sentence until then.
    UNSURE = "unsure"


class Seam(NamedTuple):
    """The place between two segments of a recogniser."""

    #: The sentence so far, mended.
    before: str
    #: What is known of the next segment; it grows and may be revised.
    after: str
    #: Seconds of silence between the two as far as the recogniser says, or since then if nothing followed.
    pause_s: float
    language: Language
    #: Whether ``after`` is final.
    is_whole: bool = False
    #: Whether the sentence is so long that it should end where a clause may.
    is_long: bool = False


class Decision(NamedTuple):
    """What is known about a seam. One that is not `Verdict.UNSURE` is final."""

    verdict: Verdict
    #: Log odds that the sentence ends here; infinite where a rule decides.
    log_odds: float
    #: A comma or nothing, between the two parts of a sentence that goes on.
    mark: str = ""
    #: Whether the first word after the seam is written with a capital within a sentence.
    keeps_capital: bool = True


class Features(NamedTuple):
    """What the score is computed from."""

    #: The mark before the seam is a comma; it is a question or exclamation mark.
    comma: float
    strong: float
    #: Silence, up to a tenth of a second beyond what a recogniser counts as speech, from 0 to 1.
    pause: float
    #: The sentence so far has one or two words.
    short: float
    #: Small words at the seam.
    rarely_last: float
    rarely_first: float
    #: The judge's opinion, a fifth of its log odds, from -1.5 to 1.5; 0 without a judge.
    opinion: float
    constant: float = 1.0


#: The weight of each feature with a judge and without one.
WITH_JUDGE = Features(-2.4, 2.0, 3.0, -0.6, 0.0, 0.0, 4.8, -0.4)
RULES_ALONE = Features(-2.1, 0.9, 2.8, -0.5, -0.7, -2.1, 0.0, 0.4)


def decide(seam: Seam, judge: Judge | None, spellings: Spellings | None = None) -> Decision:
    """Decide about a seam; the judge is asked only where the rules leave a doubt."""
    clear = by_rules(seam)
    if clear is Verdict.ENDS:
        return Decision(clear, inf)
    if not seam.after.strip():
        return Decision(Verdict.UNSURE, 0.0)
    is_large = _is_large(seam, spellings)
    is_doubtful = seam.language.is_spaced and (clear is None or is_large is None)
    opinion = _opinion(judge, seam) if is_doubtful else None
    log_odds = -inf
    if clear is None:
        log_odds = score(features(seam, opinion), is_told=opinion is not None) + _LONG * seam.is_long
    if is_large is None:
        # Without anybody's opinion a capital stays: a false one harms less than a name without its own.
        is_large = opinion is None or opinion.capital > 0
    return Decision(clear or _verdict(log_odds, seam), log_odds, _mark(seam, opinion), is_large)


def by_rules(seam: Seam) -> Verdict | None:
    """What is clear without any score; None where it is not."""
    stem, mark, _ = parted(seam.before)
    if not stem:
        return Verdict.GOES_ON
    if not seam.language.is_spaced:
        return Verdict.GOES_ON if mark and mark[-1] in COMMAS else Verdict.ENDS
    words = words_of(stem)
    is_open = bool(words) and words[-1].casefold() in small_words(seam.language.code).open
    if is_open:
        return Verdict.GOES_ON
    first = seam.after.lstrip()[:1]
    # Some recognisers put capitals and marks only into finals.
    if seam.is_whole and first.islower() and stem[:1].isupper() and mark[:1] not in STRONG_STOPS:
        return Verdict.GOES_ON
    return None


def features(seam: Seam, opinion: Opinion | None) -> Features:
    """What the score is computed from."""
    stem, mark, _ = parted(seam.before)
    before, after = words_of(stem), words_of(seam.after)
    small = small_words(seam.language.code)
    last, first = (words[at].casefold() if words else "" for words, at in ((before, -1), (after, 0)))
    return Features(
        comma=float(mark[:1] in COMMAS and mark != ""),
        strong=float(mark[:1] in STRONG_STOPS and mark != ""),
        pause=min(seam.pause_s, _PAUSE_S) / _PAUSE_S,
        short=float(len(before) < 3),
        rarely_last=float(last in small.rarely_last),
        rarely_first=float(first in small.rarely_first),
        opinion=0.0 if opinion is None else max(-1.5, min(1.5, opinion.ends / 5)),
    )


def _opinion(judge: Judge | None, seam: Seam) -> Opinion | None:
    """What the judge says; None without one, without words before the seam, or if it fails."""
    stem = parted(seam.before)[0]
    try:
        return None if judge is None or not stem else judge(stem, seam.after)
    except ModelTrouble:
        return None


def score(seen: Features, *, is_told: bool) -> float:
    """Log odds that a sentence ends; ``is_told`` says whether a judge gave its opinion."""
    weights = WITH_JUDGE if is_told else RULES_ALONE
    return sum(weight * feature for weight, feature in zip(weights, seen, strict=True))


def _verdict(log_odds: float, seam: Seam) -> Verdict:
    missing = 0 if seam.is_whole else max(0, ENOUGH - len(words_of(seam.after)))
    if abs(log_odds) < _SURE * missing:
        return Verdict.UNSURE
    return Verdict.ENDS if log_odds >= 0 else Verdict.GOES_ON


def _mark(seam: Seam, opinion: Opinion | None) -> str:
    """A comma where the recogniser or the judge wants one."""
    has_comma = parted(seam.before)[1][:1] == ","
    if opinion is None:
        return "," if has_comma else ""
    return "," if opinion.comma + _HEARD_COMMA * has_comma > 0 else ""


def _is_large(seam: Seam, spellings: Spellings | None) -> bool | None:
    """Whether the first word behind the seam has a capital within a sentence; None where a judge must say."""
    first = parted(seam.after.split()[0])[0]
    if has_own_capitals(first):
        return True
    # A small letter says nothing where only finals get capitals.
    if first[:1].upper() == first[:1].lower() or (first[:1].islower() and seam.is_whole):
        return False
    known = None if spellings is None else spellings.is_large(first)
    return False if known is None and small_words(seam.language.code).is_small(first) else known
