"""Decides at which pauses a sentence ends, from the text before and after the pause.

A recogniser ends a segment at each short pause and writes a full stop there; in read speech, three of four
are within a sentence. Clear cases are decided by rules; the others by a logistic score of the marks, the
pause, the words at the boundary and the boundary scorer's output (`operators.sentences.probe`).
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from operators.languages import Language
from operators.model_errors import ModelError
from operators.sentences.words import COMMAS, STRONG_STOPS, Spellings, parted, small_words, words_of

#: A decision is final once this many words follow, because the recogniser may revise the last one.
ENOUGH = 3


class BoundaryScores(NamedTuple):
    """A boundary scorer's output, in log odds, from the words alone."""

    #: That the sentence ends there.
    ends: float
    #: That a comma belongs there, if the sentence continues.
    comma: float
    #: That the first word after it has a capital, if the sentence continues.
    capital: float


#: Scores a boundary from the text before it, without its mark, and the text after it as far as it is known.
#: Raises `ModelError` if it fails.
BoundaryScorer = Callable[[str, str], BoundaryScores]


def has_own_capitals(word: str) -> bool:
    """Whether a word is spelled with capitals everywhere: "I", "I'm", "NASA", "McDonald"."""
    letters = parted(word)[0]
    return letters == "I" or letters[:2] in ("I'", "I’") or any(letter.isupper() for letter in letters[1:])


# Log odds that a decision needs for each word that is missing after the boundary.
_SURE = 2.0
# Log odds that are added for a long sentence, which should end at the next likely end of a clause.
_LONG = 3.0
# Windowed recognisers count 0.6 s of a pause as speech; the rest is longer after a sentence than a clause.
_PAUSE_S = 0.1
# Log odds that the recogniser's comma adds to the scorer's.
_HEARD_COMMA = 1.0


class Verdict(Enum):
    ENDS = "ends"
    GOES_ON = "goes on"
    #: More text is needed; the captions show the text as one sentence until then.
    UNSURE = "unsure"


class Boundary(NamedTuple):
    """The place between two segments of a recogniser."""

    #: The joined text of the sentence so far.
    before: str
    #: The known text of the next segment; it grows and may be revised.
    after: str
    #: Seconds of silence between the two segments by the recogniser's times; 0 without a next segment.
    pause_s: float
    language: Language
    #: Whether ``after`` is final.
    is_whole: bool = False
    #: Whether the sentence is so long that it should end at the end of a clause.
    is_long: bool = False


class Decision(NamedTuple):
    """The decision about a boundary; it is final unless it is `Verdict.UNSURE`."""

    verdict: Verdict
    #: A comma or nothing, between the two parts of a sentence that continues.
    mark: str = ""
    #: Whether the first word after the boundary is written with a capital within a sentence.
    keeps_capital: bool = True


class _Weights(NamedTuple):
    """The weights of the features in the log odds that a sentence ends."""

    constant: float
    #: The mark before the boundary is a comma; it is a question or exclamation mark.
    comma: float
    strong: float
    #: The pause, up to `_PAUSE_S`.
    pause: float
    #: The sentence so far has one or two words.
    short: float
    #: Small words at the boundary.
    rarely_last: float
    rarely_first: float
    #: A fifth of the scorer's log odds, from -1.5 to 1.5.
    scores: float


_WITH_SCORER = _Weights(-0.4, -2.4, 2.0, 3.0, -0.6, 0.0, 0.0, 4.8)
_RULES_ALONE = _Weights(0.4, -2.1, 0.9, 2.8, -0.5, -0.7, -2.1, 0.0)


def decide(boundary: Boundary, scorer: BoundaryScorer | None, spellings: Spellings | None = None) -> Decision:
    """Decide about a boundary; the scorer runs only if the rules are unsure."""
    clear = by_rules(boundary)
    if clear is Verdict.ENDS:
        return Decision(clear)
    if not boundary.after.strip():
        return Decision(Verdict.UNSURE)
    is_large = _is_large(boundary, spellings)
    is_doubtful = boundary.language.script.is_spaced and (clear is None or is_large is None)
    scores = _scores_of(scorer, boundary) if is_doubtful else None
    if is_large is None:
        # Without scores a capital stays, because a wrong capital is better than a name without one.
        is_large = scores is None or scores.capital > 0
    return Decision(clear or _scored(boundary, scores), _mark(boundary, scores), is_large)


def by_rules(boundary: Boundary) -> Verdict | None:
    """The verdict if it is clear without any score; None otherwise."""
    stem, mark, _ = parted(boundary.before)
    if not stem:
        return Verdict.GOES_ON
    if not boundary.language.script.is_spaced:
        return Verdict.GOES_ON if mark and mark[-1] in COMMAS else Verdict.ENDS
    words = words_of(stem)
    if words and words[-1].casefold() in small_words(boundary.language.base).open:
        return Verdict.GOES_ON
    first = boundary.after.lstrip()[:1]
    # Some recognisers write capitals and marks only in finals.
    if boundary.is_whole and first.islower() and stem[:1].isupper() and mark[:1] not in STRONG_STOPS:
        return Verdict.GOES_ON
    return None


def _scored(boundary: Boundary, scores: BoundaryScores | None) -> Verdict:
    """The verdict of the logistic score; with fewer words after the boundary it needs higher odds."""
    stem, mark, _ = parted(boundary.before)
    before, after = words_of(stem), words_of(boundary.after)
    small = small_words(boundary.language.base)
    last, first = (words[at].casefold() if words else "" for words, at in ((before, -1), (after, 0)))
    weights = _RULES_ALONE if scores is None else _WITH_SCORER
    log_odds = (
        weights.constant
        + weights.comma * mark.startswith(tuple(COMMAS))
        + weights.strong * mark.startswith(tuple(STRONG_STOPS))
        + weights.pause * min(boundary.pause_s, _PAUSE_S) / _PAUSE_S
        + weights.short * (len(before) < 3)
        + weights.rarely_last * (last in small.rarely_last)
        + weights.rarely_first * (first in small.rarely_first)
        + weights.scores * (0.0 if scores is None else max(-1.5, min(1.5, scores.ends / 5)))
        + _LONG * boundary.is_long
    )
    missing = 0 if boundary.is_whole else max(0, ENOUGH - len(after))
    if abs(log_odds) < _SURE * missing:
        return Verdict.UNSURE
    return Verdict.ENDS if log_odds >= 0 else Verdict.GOES_ON


def _scores_of(scorer: BoundaryScorer | None, boundary: Boundary) -> BoundaryScores | None:
    stem = parted(boundary.before)[0]
    try:
        return None if scorer is None or not stem else scorer(stem, boundary.after)
    except ModelError:
        return None


def _mark(boundary: Boundary, scores: BoundaryScores | None) -> str:
    has_comma = parted(boundary.before)[1][:1] == ","
    wants_one = has_comma if scores is None else scores.comma + _HEARD_COMMA * has_comma > 0
    return "," if wants_one else ""


def _is_large(boundary: Boundary, spellings: Spellings | None) -> bool | None:
    """Whether the first word after the boundary keeps its capital within a sentence; None if unknown."""
    first = parted(boundary.after.split()[0])[0]
    if has_own_capitals(first):
        return True
    # In partials a small letter is no evidence, because some recognisers write capitals only in finals.
    if first[:1].upper() == first[:1].lower() or (first[:1].islower() and boundary.is_whole):
        return False
    known = None if spellings is None else spellings.is_large(first)
    return False if known is None and small_words(boundary.language.base).is_small(first) else known
