"""Where a sentence ends: at a pause, between what was heard before it and what is heard behind it.

A recogniser ends a segment at each short pause and writes a full stop there, in read speech three times in
four within a sentence. Clear cases are decided by rules; the others by a logistic score of the marks, the
pause, the words at the seam and a language model's opinion (`operators.sentences.seam`).

Log P(``. Next two words``) is compared with that of the better of `` next two words`` and
``, next two words``, each behind the text before the seam without its mark.
"""

from collections.abc import Sequence
from enum import Enum
from math import inf
from typing import NamedTuple, Protocol

from operators.languages import Language
from operators.sentences.words import COMMAS, STRONG_STOPS, Spellings, parted, small_words, words_of
from operators.trouble import ModelTrouble

#: Words behind the seam that are judged: a third one hardly improves the opinion.
AHEAD = 2
#: Words before the seam that the model is given: at least so many, at most twice as many.
_CONTEXT = 40


class LanguageModel(Protocol):
    """What judging needs from a model."""

    @property
    def calibration(self) -> tuple[float, float]:
        """Factor and nats that make its opinion comparable with other models': factor · opinion + nats.

        A model that also learned unfinished sources expects an end everywhere (Platt 1999).
        """
        ...

    def log_probabilities(self, context: str, continuations: Sequence[str]) -> list[float]:
        """log P of each continuation behind ``context``, in nats. Raises `ModelTrouble` if it fails."""
        ...


class Opinion(NamedTuple):
    """A model's opinion about a seam, in nats."""

    #: How much more probable the next words are as a new sentence than as more of the same one.
    ends: float
    #: How much more probable they are behind a comma than behind none.
    comma: float
    #: How much more probable their capital is than a small letter, within the sentence; 0 if not asked.
    capital: float


def ask(model: LanguageModel, before: str, after: str, is_large: bool | None = None) -> Opinion:
    """The opinion of ``model``.

    Args:
        model: The model to ask.
        before: The text before the seam with its mark, perhaps with earlier sentences, which help the model.
        after: What is known of the text behind it.
        is_large: Whether the first word behind it has a capital within a sentence; None to ask for that, too.

    Raises:
        ModelTrouble: the model failed.
    """
    stem, mark, _ = parted(before)
    words = parted(" ".join(after.split()[:AHEAD]))[0]
    large, small = words[:1].upper() + words[1:], words[:1].lower() + words[1:]
    stop = mark[:1] if mark and mark[0] in STRONG_STOPS else "."
    within = [large if is_large else small] if is_large is not None or small == large else [small, large]
    asked = [f"{stop} {large}", *(f"{seam}{one}" for one in within for seam in (" ", ", "))]
    ends, *goes_on = model.log_probabilities(recent(stem), asked)
    best = max(range(len(within)), key=lambda spelling: max(goes_on[2 * spelling : 2 * spelling + 2]))
    plain, comma = goes_on[2 * best : 2 * best + 2]
    capital = max(goes_on[2:]) - max(goes_on[:2]) if len(within) > 1 else 0.0
    factor, nats = model.calibration
    return Opinion(factor * (ends - max(plain, comma)) + nats, comma - plain, capital)


def recent(text: str) -> str:
    """The last words of a text, cut so that a growing text seldom changes where it begins."""
    words = text.split()
    return " ".join(words[max(0, len(words) // _CONTEXT - 1) * _CONTEXT :])


def has_own_capitals(word: str) -> bool:
    """Whether a word is spelled with capitals everywhere: "I", "I'm", "NASA", "McDonald"."""
    letters = parted(word)[0]
    return letters == "I" or letters[:2] in ("I'", "I’") or any(letter.isupper() for letter in letters[1:])


# Log odds that a decision needs for each word that is missing behind the seam: two are judged, and until a
# third is heard the recogniser may revise the second.
_SURE = 2.0
# Log odds that are added where a sentence should end soon: clauses end where they are above this.
_LONG = 3.0
# Windowed recognisers count 0.6 s of a pause as speech; of what is left, sentences have more than clauses.
_PAUSE_S = 0.1
# Nats that the recogniser's comma adds to the model's opinion of one.
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
    #: The sentence before this one, if it is known: the model judges better with it.
    earlier: str = ""
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
    #: The model's opinion, in tens of nats from -1.5 to 1.5; 0 without a model.
    opinion: float
    constant: float = 1.0


#: The weight of each feature with a model and without one, as fitted by docs/scripts/sentence_weights.py. The
#: constants are shifted by 0.5 and 1.0, so that 5 % of the ends are missed; 13 % of the sentences that go on
#: are cut with the captions model, 40 % without.
WITH_MODEL = Features(-2.3, 0.5, 2.9, -0.6, 0.0, -0.8, 3.8, 1.3)
RULES_ALONE = Features(-2.1, 0.9, 2.8, -0.5, -0.7, -2.1, 0.0, 0.4)


def decide(seam: Seam, model: LanguageModel | None, spellings: Spellings | None = None) -> Decision:
    """Decide about a seam; the model is asked only where the rules leave a doubt."""
    clear = by_rules(seam)
    if clear is Verdict.ENDS:
        return Decision(clear, inf)
    if not seam.after.strip():
        return Decision(Verdict.UNSURE, 0.0)
    is_large = _is_large(seam, spellings)
    is_doubtful = seam.language.is_spaced and (clear is None or is_large is None)
    opinion = opinion_of(model, seam, is_large) if is_doubtful else None
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
        opinion=0.0 if opinion is None else max(-1.5, min(1.5, opinion.ends / 10)),
    )


def opinion_of(model: LanguageModel | None, seam: Seam, is_large: bool | None = None) -> Opinion | None:
    """What the model says; None without one, or if it fails."""
    if model is None:
        return None
    try:
        return ask(model, f"{seam.earlier} {seam.before}", seam.after, is_large)
    except ModelTrouble:
        return None


def score(seen: Features, *, is_told: bool) -> float:
    """Log odds that a sentence ends; ``is_told`` says whether a model gave its opinion."""
    weights = WITH_MODEL if is_told else RULES_ALONE
    return sum(weight * feature for weight, feature in zip(weights, seen, strict=True))


def _verdict(log_odds: float, seam: Seam) -> Verdict:
    missing = 0 if seam.is_whole else max(0, AHEAD + 1 - len(words_of(seam.after)))
    if abs(log_odds) < _SURE * missing:
        return Verdict.UNSURE
    return Verdict.ENDS if log_odds >= 0 else Verdict.GOES_ON


def _mark(seam: Seam, opinion: Opinion | None) -> str:
    """A comma where the recogniser or the model wants one."""
    has_comma = parted(seam.before)[1][:1] == ","
    if opinion is None:
        return "," if has_comma else ""
    return "," if opinion.comma + _HEARD_COMMA * has_comma > 0 else ""


def _is_large(seam: Seam, spellings: Spellings | None) -> bool | None:
    """Whether the first word behind the seam has a capital within a sentence; None where a model must say."""
    first = parted(seam.after.split()[0])[0]
    if has_own_capitals(first):
        return True
    # A small letter says nothing where only finals get capitals.
    if first[:1].upper() == first[:1].lower() or (first[:1].islower() and seam.is_whole):
        return False
    known = None if spellings is None else spellings.is_large(first)
    return False if known is None and small_words(seam.language.code).is_small(first) else known
