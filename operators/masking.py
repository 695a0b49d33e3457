"""Mask-k (Arivazhagan et al. 2020; Zeng et al., section 3.3): which part of an unfinished text is visible."""

from typing import Literal

from operators.text import settled, word_end

#: Maximum number of withheld tokens while nothing of a segment is shown.
_FIRST_K = 1
#: What is withheld. "tokens": exactly k tokens (the paper). "words": k or more, to a whole word.
#: "steady": like "words", but unchanged text that was shown stays; at most one token while nothing is shown.
MaskRule = Literal["tokens", "words", "steady"]


def visible_length(pieces: tuple[str, ...], mask_k: int, before: str, rule: MaskRule) -> int:
    """Number of characters of an unfinished text that stay visible under a mask."""
    if rule == "tokens":
        return len("".join(pieces[: max(0, len(pieces) - mask_k)]))
    masked = mask_tail(pieces, mask_k)
    if rule == "words":
        return masked
    if not before and not masked:
        # Viewers wait for the first words.
        return mask_tail(pieces, min(mask_k, _FIRST_K))
    return max(masked, still_shown(before, "".join(pieces)))


def mask_tail(pieces: tuple[str, ...], mask_k: int) -> int:
    """Number of characters that stay visible when at least the last ``mask_k`` tokens are withheld.

    Half a word means little and is likely to be rewritten. So the visible part ends with a whole word, and
    never inside a grapheme cluster or with white space.
    """
    text = "".join(pieces)
    if mask_k <= 0:
        return len(text)
    return len(text[: word_end(text, len("".join(pieces[:-mask_k])))].rstrip())


def still_shown(before: str, text: str) -> int:
    """Number of characters of ``text`` that stay visible: the words it shares with ``before``, shown last."""
    return len(text[: settled(before, text)].rstrip())
