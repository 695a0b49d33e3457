"""Word alignment of translated sentences: which target words translate which source words.

The model is eflomal's (Östling and Tiedemann 2016: a Bayesian HMM with fertilities, estimated by Gibbs
sampling) in the implementation of the Thot toolkit, run in both directions; the two results are combined by
grow-diag-final-and (Koehn et al. 2003). Thot is an extra (``surtitle[train]``), imported at the first
alignment.

More pairs give better alignments of recurring words: align small corpora together with large ones.
"""

from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import regex
from numpy.typing import NDArray

from operators.errors import UsageError
from operators.extras import installing

# Scripts without spaces between words; other text stays together up to the next space.
_PIECE = regex.compile(
    r"\s*(?:[\p{Katakana}ー]+|[\p{Han}\p{Hiragana}]|\p{P}|[^\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}ー]+)"
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
