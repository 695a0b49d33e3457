"""A Marian model of a few kilobytes with random weights, as the Hub's exports are laid out."""

from pathlib import Path
from typing import Any

from tests.marian_export import Size, random_weights, train_pieces, write_export

TEXTS = {
    "source": ["the weather in the hills is fine today", "we met on Monday at noon", "good day to you all"],
    "target": ["das Wetter in den Bergen ist heute schön", "wir trafen uns am Montag", "„guten Tag (Berge)“"],
}
# Without rules of normalisation a SentencePiece model takes a hundredth of the space.
_SMALL = {"model_type": "char", "normalization_rule_name": "identity", "hard_vocab_limit": False}


def write_tiny(folder: Path, *, is_causal: bool = True, added: tuple[str, ...] = (), **config: Any) -> Path:
    """Write one whose tokens are letters; ``added`` are further control tokens."""
    pieces = train_pieces(folder, TEXTS, 64, **_SMALL)
    for name in added:
        pieces = {**pieces, name: pieces["<pad>"], "<pad>": pieces["<pad>"] + 1}
    size = Size(len(pieces))
    return write_export(folder, random_weights(size), size, pieces, is_causal=is_causal, **config)
