"""Word alignment of translated sentences, and the lexicon of what words were translated as.

The model is eflomal's (Östling and Tiedemann 2016: a Bayesian HMM with fertilities, estimated by Gibbs
sampling) in the implementation of the Thot toolkit, run in both directions; the two results are combined by
grow-diag-final-and (Koehn et al. 2003). Thot is an extra (``surtitle[train]``), imported at the first
alignment.

More pairs give better alignments of recurring words: align small corpora together with large ones.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import ModuleType
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from operators.errors import UsageError
from operators.extras import installing
from operators.glossary import MAX_TRANSLATIONS, MAX_WORDS, Translation, words_of

# Scripts without spaces between words; other text stays together up to the next space.
_PIECE = regex.compile(
    r" ?(?:[\p{Katakana}ー]+|[\p{Han}\p{Hiragana}]|\p{P}|[^\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}ー]+)"
)
_WITHOUT_SPACES = frozenset({"ja", "zh"})


def pieces(text: str, language: str) -> list[str]:
    """The pieces of a text; joined, they are the text without white space at its ends.

    Pieces are words with the space before them; for "ja" and "zh" single characters, runs of katakana and
    Latin words.
    """
    text = " ".join(text.split())
    if language in _WITHOUT_SPACES:
        return _PIECE.findall(text)
    return regex.findall(r" ?[^ ]+", text)


#: The links of one pair: int32 of shape (links, 2); each row is the index of a source word and of a target
#: word, sorted.
Alignment = NDArray[np.int32]

# A word for alignment. Punctuation carries no meaning and attracts links; "that's" and "T-Shirt" are more
# frequent in parts.
_TOKEN = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# Thot skips longer sentences in training.
_MAX_WORDS = 1000


def align(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> list[Alignment]:
    """Links between the words of each pair.

    Args:
        pairs: Source and target, each as words or, where a script has no spaces, as pieces
            (`operators.training.alignment`). Case and punctuation are ignored; a word without a letter or a
            digit gets no link. Nor do the words of a pair of which one side is empty or longer than a
            thousand words.
        seed: The sampler is deterministic for a seed.
        progress: Called with the finished share of the work, 0 to 1, some forty times.

    Raises:
        UsageError: Thot is not installed.
    """
    thot = _thot()
    tokens = [(_tokens(source), _tokens(target)) for source, target in pairs]
    usable = [
        number
        for number, (source, target) in enumerate(tokens)
        if 0 < len(source) <= _MAX_WORDS and 0 < len(target) <= _MAX_WORDS
    ]
    nothing = np.empty((0, 2), np.int32)
    if not usable:
        return [nothing] * len(pairs)

    models = [thot.EflomalAlignmentModel() for _ in range(2)]
    for direction, model in enumerate(models):
        model.seed = seed
        model.deterministic = True
        model.emit_training_alignments = True
        for number in usable:
            sides = [[token for _, token in side] for side in tokens[number]]
            model.add_sentence_pair(sides[direction], sides[1 - direction], 1)
        model.start_training()
        rounds = model.scheduled_iterations
        for done in range(rounds):
            model.train()
            if progress is not None:
                progress((direction + (done + 1) / rounds) / 2)
        model.end_training()

    both = thot.SymmetrizedAlignmentModel(*models)
    both.heuristic = thot.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
    alignments = [nothing] * len(pairs)
    for position, number in enumerate(usable):
        links = np.argwhere(both.get_training_alignment(position)[1].to_numpy())
        alignments[number] = _of_words(links, *tokens[number])
    return alignments


def _tokens(words: Sequence[str]) -> list[tuple[int, str]]:
    """The tokens of these words to align, each with the index of its word."""
    return [(index, token) for index, word in enumerate(words) for token in _TOKEN.findall(word.lower())]


def _of_words(
    links: NDArray[np.int64], source: Sequence[tuple[int, str]], target: Sequence[tuple[int, str]]
) -> Alignment:
    """Links of words from the links of their tokens."""
    if not len(links):
        return np.empty((0, 2), np.int32)
    return np.array(sorted({(source[i][0], target[j][0]) for i, j in links}), np.int32)


def _thot() -> ModuleType:
    try:
        import thot.alignment
    except ImportError as error:
        raise UsageError(
            f"word alignment needs the package sil-thot; install it with: {installing('train')}"
        ) from error
    return thot.alignment


class LinkedPair(NamedTuple):
    """A source in words, its translation in pieces (`operators.training.alignment`), and their links."""

    source: Sequence[str]
    target: Sequence[str]
    links: Alignment


#: Words that occur more often, in a million, need no dictionary: a Zipf frequency of 5.2.
COMMON_PER_MILLION = 158
#: What is translated so less often is chance, or a matter of grammar.
_MIN_PROBABILITY = 0.06
#: The share of their occurrences that two words must have in common (Dice), also if they met only once.
_MIN_DICE = 0.03
_MIN_DICE_ONCE = 0.5
#: A word in a script without spaces has up to so many pieces.
_MAX_PIECES = 6
# A run of marks is tried from its first one only: from each of them, twenty thousand would take minutes.
_EDGES = regex.compile(
    r"^[^\p{L}\p{N}]++|['’]s[^\p{L}\p{N}]*+$|(?<![^\p{L}\p{N}])[^\p{L}\p{N}]++$",
)
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:[-'’ ][\p{L}\p{M}]+)*")


def lexicon_entries(pairs: Iterable[LinkedPair]) -> Mapping[str, Sequence[Translation]]:
    """The translations of each word, the likeliest first; none for common words."""
    counts = _Counts()
    for pair in pairs:
        counts.add(pair)
    return dict(counts.entries())


class _Counts:
    """How often words occur, alone and as translations of each other; case-folded."""

    def __init__(self) -> None:
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        self._translations: dict[str, Counter[str]] = {}
        self._spellings: dict[str, Counter[str]] = {}

    def add(self, pair: LinkedPair) -> None:
        for place, piece in enumerate(pair.target):
            word = _EDGES.sub("", piece.strip())
            self._targets[word.casefold()] += 1
            # The first word of a sentence has a capital whatever it is.
            self._spellings.setdefault(word.casefold(), Counter())[word] += 1000 if place else 1
        words = [_EDGES.sub("", word).casefold() for word in pair.source]
        self._sources.update(words)
        for source, target in _translated(pair):
            self._translations.setdefault(words[source], Counter())[target] += 1

    def entries(self) -> Iterator[tuple[str, Sequence[Translation]]]:
        """Phrases with their translations; none for common words."""
        least = COMMON_PER_MILLION * self._sources.total() / 1_000_000
        for word, times in self._sources.items():
            phrase = words_of(word)
            if not _WORD.fullmatch(word) or len(phrase) > MAX_WORDS:
                continue
            if times > least:
                yield " ".join(phrase), []
            elif len(phrase) > 1 and any(self._sources[part] > least for part in phrase):
                continue  # "A-list" would be found in "a list"
            elif kept := list(self._kept(word, times)):
                yield " ".join(phrase), kept[:MAX_TRANSLATIONS]

    def _kept(self, word: str, times: int) -> Iterator[Translation]:
        """The translations that are more than chance."""
        found = self._translations.get(word, Counter())
        for target, together in sorted(found.items(), key=lambda one: (-one[1], one[0])):
            # How often a phrase occurs is not counted: its rarest word bounds it.
            occurs = min(self._targets.get(part, together) for part in target.split(" "))
            dice = 2 * together / (times + max(together, occurs))
            share = together / found.total()
            if share >= _MIN_PROBABILITY and dice >= (_MIN_DICE if together > 1 else _MIN_DICE_ONCE):
                yield Translation(self._spelt(target), share)

    def _spelt(self, target: str) -> str:
        """A translation as it is written inside a sentence."""
        known = ((word, self._spellings.get(word)) for word in target.split(" "))
        return " ".join(word if forms is None else forms.most_common(1)[0][0] for word, forms in known)


def _translated(pair: LinkedPair) -> Iterator[tuple[int, str]]:
    """Each source word that alone was translated by adjacent pieces, and what these are."""
    of_source: dict[int, list[int]] = {}
    for source, target in pair.links.tolist():
        of_source.setdefault(source, []).append(target)
    linked = Counter(chain.from_iterable(of_source.values()))
    for source, targets in of_source.items():
        first, last = targets[0], targets[-1]
        is_adjacent = last - first + 1 == len(targets) <= _MAX_PIECES
        if is_adjacent and all(linked[target] == 1 for target in targets):
            text = _EDGES.sub("", "".join(pair.target[first : last + 1]).strip())
            if _WORD.fullmatch(text) and text.count(" ") < MAX_WORDS:
                yield source, text.casefold()
