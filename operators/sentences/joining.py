"""Joins the segments of a recogniser into sentences.

A recogniser ends a segment at a pause, and most pauses are within sentences. So the unit of translation is
not a segment but a sentence, which may consist of several segments. Whether a sentence continues is decided
when text of the next segment arrives. Until then, and while that is uncertain, it is shown as unfinished. A
sentence also ends where the voice changes. A final is never retracted.
"""

from collections.abc import Callable
from functools import cache
from math import inf
from typing import NamedTuple

import msgspec
import regex

from operators.events import Partial
from operators.languages import ENGLISH, Language
from operators.languages import language as language_of
from operators.sentences.seam import Boundary, BoundaryScorer, Verdict, by_rules, decide, has_own_capitals
from operators.sentences.words import COMMAS, Spellings, parted, small_words, without_inner_stops

# Words that speakers repeat: "what it is made of, of course", "die Leute, die die Arbeit machen".
_TWICE = frozenset({"of", "from", "that", "der", "die", "das", "den", "dem"})
_FIRST = regex.compile(r"\A([\"'“‘«(\[¿¡]*)(\S+)(.*)\Z", regex.DOTALL)


def mend(before: str, after: str, language: Language, *, mark: str = "", keeps_capital: bool = False) -> str:
    """Both texts joined to a sentence, with ``mark`` (a comma or nothing) between them.

    A word recognised on both sides (``which | Which were``) is written once if no sentence ends with it.
    """
    stem, marks, closing = parted(before)
    if not stem or not after.strip():
        return before.rstrip() + after.strip()
    rest = None if marks else _without_double(stem, after.strip(), language)
    if rest is not None:
        return f"{stem}{closing}{language.script.joint}{rest}" if rest else f"{stem}{closing}"
    if not language.script.is_spaced:
        kept = marks if marks and all(one in COMMAS for one in marks) else ""
        return stem + kept + closing + after.strip()
    following = after.strip() if keeps_capital else _small(after.strip())
    return f"{stem}{mark}{closing}{language.script.joint}{following}"


def ended(sentence: str) -> str:
    """The text of an ended sentence: a comma of the recogniser at its end becomes a full stop."""
    stem, marks, closing = parted(sentence)
    if not stem or not marks or any(mark not in COMMAS for mark in marks):
        return sentence
    return f"{stem}{'。' if marks[-1] in '，、；：' else '.'}{closing}"


def _without_double(stem: str, after: str, language: Language) -> str | None:
    """The text after the boundary without a word that was spoken once and recognised twice, or None."""
    last, (first, _, rest) = stem.split()[-1], after.partition(" ")
    word, mark, _ = parted(first)
    word = word.casefold()
    is_heard_twice = last.casefold() == word and word in small_words(language.base).open - _TWICE
    return rest if is_heard_twice and not (mark and rest) else None


def _small(text: str) -> str:
    match = _FIRST.match(text)
    if match is None or has_own_capitals(match[2]):
        return text
    first = match[2][:1].lower()
    return text if len(first) != 1 else f"{match[1]}{first}{match[2][1:]}{match[3]}"


#: Maximum number of open sentences; beyond that, the oldest is dropped.
MAX_OPEN = 1024

# As a multiple of the allowed length: longer sentences end at any pause.
_TOO_LONG = 1.5
#: Full stops that a recogniser may write at the end of unfinished text.
_STOPS = ".。．"


class Bounds(NamedTuple):
    #: Seconds of silence after which a sentence has ended.
    pause_s: float = 1.5
    #: With this many words, or seconds of speech, a sentence ends at the next pause where a clause may end;
    #: with half as many more, at any pause.
    words: int = 40
    speech_s: float = 30.0


#: The default bounds.
USUAL = Bounds()


class SpokenRules(NamedTuple):
    """The rules for joining sentences of one language."""

    language: Language
    #: Used if the rules are unsure; None to use the rules alone.
    scorer: BoundaryScorer | None = None
    #: Rewrites the text of a sentence, for instance with its numbers as digits.
    spell: Callable[[str], str] = str


def usual_rules(code: str) -> SpokenRules:
    """The rules of a language without a scorer; without a code, those of English."""
    return SpokenRules(language_of(code) if code else ENGLISH)


class Piece(msgspec.Struct, array_like=True):
    segment: int
    text: str
    start_s: float
    end_s: float
    is_final: bool
    #: The mark between it and the piece before it: none or a comma.
    mark: str = ""
    #: Whether its first word has a capital within a sentence.
    keeps_capital: bool = False
    #: Whether it certainly belongs to the sentence of the piece before it.
    is_joined: bool = False
    #: Who speaks, as in `SegmentEvent`; empty if unknown.
    speaker: str = ""


class OpenSentence(msgspec.Struct, array_like=True):
    #: Its parts in the order of speech, at least one.
    pieces: list[Piece]
    #: Number of its next update.
    revision: int = 0
    #: The text of its last update.
    text: str = ""
    #: Code of its language, if a stream has several spoken languages.
    spoken: str = ""
    #: Who speaks in its last update.
    speaker: str = ""

    @property
    def waits(self) -> bool:
        """Whether all its segments have ended: the next segment decides whether it continues."""
        return all(piece.is_final for piece in self.pieces)

    @property
    def is_doubtful(self) -> bool:
        """Whether it is uncertain that all its segments belong to it."""
        return not all(piece.is_joined for piece in self.pieces[1:])

    @property
    def end_s(self) -> float:
        return max(piece.end_s for piece in self.pieces)


class SentencesState(msgspec.Struct, array_like=True):
    stream: str
    #: The sentences without a final, in the order of speech; more than one only while a recogniser has
    #: several open segments.
    open: list[OpenSentence] = []
    #: When the last update left, on the stream's clock.
    arrival_s: float = 0.0
    #: Number of sentences that have ended.
    ended: int = 0
    #: The words that have a capital within sentences.
    spellings: Spellings = msgspec.field(default_factory=Spellings)


class Sentences:
    """Joins the segments of one stream.

    A sentence has the number of its first segment, so numbers rise but have gaps.

    Args:
        state: The state of a new stream or of an earlier run.
        rules: Returns the rules of a language, by its code; without a code, those of the usual one.
        bounds: When sentences end in any case.
    """

    def __init__(
        self,
        state: SentencesState,
        rules: Callable[[str], SpokenRules] = usual_rules,
        *,
        bounds: Bounds = USUAL,
    ) -> None:
        self.state = state
        self._rules = cache(rules)
        self._bounds = bounds
        # End of the speech that has no text yet.
        self._speech_s = 0.0

    @property
    def due_s(self) -> float | None:
        """When the last sentence ends without further speech, in stream seconds; None if it does not wait."""
        last = self.state.open[-1] if self.state.open else None
        return self._due_s(last) if last is not None and last.waits else None

    def _due_s(self, sentence: OpenSentence) -> float:
        return max(sentence.end_s, self._speech_s) + self._bounds.pause_s

    def speech(self, end_s: float) -> None:
        """Record speech up to ``end_s`` that has no text yet: the last sentence may continue."""
        self._speech_s = end_s

    def rename(self, label: str, name: str) -> None:
        """Rename a voice from now on; this does not count as a change of voice."""
        for piece in (piece for sentence in self.state.open for piece in sentence.pieces):
            if piece.speaker == label:
                piece.speaker = name

    def hear(self, partial: Partial) -> list[Partial]:
        """Process a partial of a segment; return those of the sentences that it changes, the oldest first."""
        state = self.state
        done, sentence = self._take(partial)
        last = sentence.pieces[-1]
        if len(sentence.pieces) > 1 and last.is_final and not last.text.strip():
            # An empty final was not speech. Its boundary could never be scored, because no word follows.
            del sentence.pieces[-1]
        state.arrival_s = max(state.arrival_s, partial.arrival_s)
        if partial.is_final:
            state.spellings.learn(partial.text)
        while sentence.pieces and (count := self._settled(sentence)) is not None:
            done.append(self._final(sentence, count))
        # The first words after a pause wait until it is certain to which sentence they belong. If they were
        # shown too early, they might have to be erased.
        return done if not sentence.pieces or sentence.is_doubtful else done + self._update(sentence)

    def end(self, known_s: float = inf) -> list[Partial]:
        """End the waiting sentences, because speech has paused; segments without a final stay open.

        Args:
            known_s: When the pause was known, on the stream's clock; the end of its maximum length counts if
                that is earlier.
        """
        state, done = self.state, list[Partial]()
        for sentence in [one for one in state.open if one.waits]:
            state.arrival_s = max(state.arrival_s, min(known_s, self._due_s(sentence)))
            done.append(self._final(sentence, len(sentence.pieces)))
        return done

    def _take(self, partial: Partial) -> tuple[list[Partial], OpenSentence]:
        """The finals of sentences that a partial ends, and the sentence to which it belongs."""
        state, done = self.state, list[Partial]()
        text, speaker = without_inner_stops(partial.text), partial.speaker or ""
        for sentence in state.open:
            for known in sentence.pieces:
                if known.segment == partial.segment:
                    known.text, known.is_final = text, partial.is_final
                    known.start_s, known.end_s, known.speaker = partial.start_s, partial.end_s, speaker
                    return done, sentence
        piece = Piece(
            partial.segment, text, partial.start_s, partial.end_s, partial.is_final, speaker=speaker
        )
        spoken = partial.spoken or ""
        last = state.open[-1] if state.open else None
        if last is not None and last.waits:
            # A lower number than before means another recording or recogniser.
            is_other = piece.segment < last.pieces[-1].segment or spoken != last.spoken
            is_long = self._length(last.pieces, last.text) >= _TOO_LONG
            if not (is_other or is_long or piece.start_s - last.end_s >= self._bounds.pause_s):
                last.pieces.append(piece)
                return done, last
            done += self.end(partial.arrival_s)
        del state.open[: -MAX_OPEN + 1]
        state.open.append(OpenSentence([piece], spoken=spoken))
        return done, state.open[-1]

    def _length(self, pieces: list[Piece], text: str) -> float:
        """The length of a sentence as a multiple of the allowed one."""
        spoken_s = pieces[-1].end_s - pieces[0].start_s
        return max(len(text.split()) / self._bounds.words, spoken_s / self._bounds.speech_s)

    def _settled(self, sentence: OpenSentence) -> int | None:
        """The number of pieces at the start that form an ended sentence; None if no end is certain."""
        pieces, rules = sentence.pieces, self._rules(sentence.spoken)
        for at in range(1, len(pieces) + 1):
            if not pieces[at - 1].is_final:
                return None
            if len({piece.speaker for piece in pieces[: at + 1] if piece.speaker}) > 1:
                return at
            if at < len(pieces) and pieces[at].is_joined:
                continue
            text = _joined(pieces[:at], rules.language)
            if at == len(pieces):
                # Without a next segment, the rules decide.
                is_over = not text or by_rules(Boundary(text, "", 0.0, rules.language)) is Verdict.ENDS
                return at if is_over else None
            if self._ends(text, pieces[:at], pieces[at], rules):
                return at
        return None

    def _ends(self, text: str, before: list[Piece], after: Piece, rules: SpokenRules) -> bool:
        """Whether a sentence ends after some pieces; if not, set in ``after`` how to join it."""
        pause_s = max(0.0, after.start_s - before[-1].end_s)
        is_long = self._length(before, text) >= 1.0
        boundary = Boundary(text, after.text, pause_s, rules.language, after.is_final, is_long)
        decision = decide(boundary, rules.scorer, self.state.spellings)
        after.mark, after.keeps_capital = decision.mark, decision.keeps_capital
        after.is_joined = decision.verdict is Verdict.GOES_ON
        return decision.verdict is Verdict.ENDS

    def _final(self, sentence: OpenSentence, count: int) -> Partial:
        """The final of the first pieces of a sentence; the others become the next sentence."""
        state, pieces = self.state, sentence.pieces
        rules = self._rules(sentence.spoken)
        text = rules.spell(ended(_joined(pieces[:count], rules.language)))
        final = self._partial(sentence, pieces[:count], text, is_final=True)
        sentence.pieces, sentence.revision, sentence.text = pieces[count:], 0, ""
        if not sentence.pieces:
            state.open.remove(sentence)
        state.ended += 1
        return final

    def _update(self, sentence: OpenSentence) -> list[Partial]:
        """The update of an open sentence, if its words or its speaker changed or it is stable now.

        A full stop alone is no change: the final decides whether it stays.
        """
        rules = self._rules(sentence.spoken)
        text = _joined(sentence.pieces, rules.language)
        text = rules.spell(text.rstrip(_STOPS) if sentence.waits else text)
        speaker = _speaker(sentence.pieces)
        if text.rstrip(_STOPS) == sentence.text.rstrip(_STOPS) and sentence.revision > 0:
            if not sentence.waits and speaker == sentence.speaker:
                return []
            # The model need not translate the same text again.
            text = sentence.text
        update = self._partial(sentence, sentence.pieces, text)
        sentence.text, sentence.speaker = text, speaker
        sentence.revision += 1
        return [update]

    def _partial(
        self, sentence: OpenSentence, pieces: list[Piece], text: str, *, is_final: bool = False
    ) -> Partial:
        return Partial(
            stream=self.state.stream,
            segment=pieces[0].segment,
            revision=sentence.revision,
            is_final=is_final,
            text=text,
            start_s=pieces[0].start_s,
            end_s=max(piece.end_s for piece in pieces),
            arrival_s=self.state.arrival_s,
            is_sentence=True,
            is_stable=sentence.waits and not is_final,
            spoken=sentence.spoken or msgspec.UNSET,
            speaker=_speaker(pieces) or msgspec.UNSET,
        )


def _joined(pieces: list[Piece], language: Language) -> str:
    text = ""
    for piece in pieces:
        if piece.text:
            text = mend(text, piece.text, language, mark=piece.mark, keeps_capital=piece.keeps_capital)
    return text


def _speaker(pieces: list[Piece]) -> str:
    """The speaker, who is the same in all pieces with a known speaker; empty if there are none."""
    return next((piece.speaker for piece in pieces if piece.speaker), "")
