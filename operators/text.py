"""Text: removal of unsafe characters, width, line breaks, columns and bytes, and common prefixes.

Broadcast practice: at most 42 columns per line, 30 for Chinese and Japanese, whose characters take two
columns each; `operators.languages` has the number for each language.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import regex
import wcwidth

# CSI sequences; strings such as a window's title up to their end; all other escapes (ECMA-48). The start of a
# string ends the one before it: otherwise a thousand unterminated ones would be scanned a thousand times.
_ESCAPE = regex.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]"
)
# Bidi embeddings, overrides and isolates, and other invisible control characters.
_INSTRUCTION = regex.compile(
    r"[\u00ad\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
# Marks that pile up on one character until they cover the lines around it; no language needs that many.
_PILE = regex.compile(r"([\p{M}\u200c\u200d]{10})[\p{M}\u200c\u200d]++")
# The letters of flags, two to a flag. How they pair depends on the start of their row, and finding all
# characters of a row takes quadratic time.
_FLAGS = regex.compile(r"([\U0001f1e6-\U0001f1ff]{32})[\U0001f1e6-\U0001f1ff]++")
# All white space except no-break spaces, and everything that controls a terminal.
_SPACE = regex.compile(r"(?:[^\S\u00a0\u2007\u202f]|\p{Cc}|\p{Zl}|\p{Zp})+")

_OPENING = r"[「『（【〈《〔［｛“‘]"
_CLOSING = r"[、。，．！？；：・」』）】〉》〕］｝”’…ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ]"
_IDEOGRAPH = r"(?!\p{M})[\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f\uff01-\uff60]"
# Text that stays on one line: an ideograph with its attached punctuation, or a word of other letters.
_PIECE = regex.compile(
    rf"{_OPENING}{{0,3}}{_IDEOGRAPH}[\p{{M}}\u200d]*+{_CLOSING}{{0,3}}+|(?:(?!{_IDEOGRAPH}).)++|.",
    regex.DOTALL,
)
#: A character as a reader sees it (a grapheme cluster). Flags come first: to find the end of one among many
#: in a row, \X looks back over all of them.
CLUSTER = regex.compile(r"\p{RI}{2}[\p{M}\p{Grapheme_Extend}\p{Emoji_Modifier}\u200d]*+|\X")
# Where a word may end (Unicode word boundaries, UAX 29); in scripts without spaces, after each ideograph.
_BOUNDARY = regex.compile(r"(?w)\b")
# Half a flag. To find a boundary next to one, the regex scans the whole row of them. So each is replaced by
# an ideograph, which is a word of its own; `word_end` makes sure that flags are not cut in two.
_FLAG_LETTER = regex.compile(r"\p{RI}")
# The end of a word is searched within this many characters before and after a position.
_MAX_DISTANCE = 200
# Some characters can be joined endlessly: the widths of longer clusters are not cached.
_MAX_CACHED_CLUSTER = 32


class Piece(NamedTuple):
    text: str
    columns: int
    #: Whether a space precedes it, unless it begins a line.
    is_spaced: bool


def cleaned(text: str) -> str:
    """The text on one line, without anything that a terminal would execute instead of showing.

    Escape sequences, control characters, bidi overrides, lone surrogates and piles of combining marks are
    removed; white space becomes one space. The rest can be laid out in linear time.
    """
    text = _INSTRUCTION.sub("", _ESCAPE.sub("", text))
    # After the others: the remains of a sequence that was cut in two must not become one.
    text = _FLAGS.sub(r"\1", _PILE.sub(r"\1", _SPACE.sub(" ", text))).strip(" ")
    return "".join("\ufffd" if unicodedata.category(char) == "Cs" else char for char in text)


def clusters(text: str) -> list[str]:
    """The characters of a cleaned text as a reader sees them (grapheme clusters)."""
    return CLUSTER.findall(text)


def width(text: str) -> int:
    """The width of a cleaned text in columns."""
    return len(text) if text.isascii() else sum(map(cluster_width, clusters(text)))


def cluster_width(cluster: str) -> int:
    return _known_width(cluster) if len(cluster) <= _MAX_CACHED_CLUSTER else _width(cluster)


def _width(cluster: str) -> int:
    return max(0, wcwidth.wcswidth(cluster))


_known_width = lru_cache(4096)(_width)


def pieces(text: str, columns: int) -> Iterator[Piece]:
    """The parts of a cleaned text between which lines of ``columns`` columns (2 or more) may break.

    Lines break at spaces and next to any Chinese or Japanese character. Only a word that is longer than a
    line is broken elsewhere, between two characters as a reader sees them.
    """
    for word in text.split(" "):
        is_spaced = True
        for piece in _PIECE.findall(word):
            taken = width(piece)
            for part in [piece] if taken <= columns else _split(piece, columns):
                yield Piece(part, taken if taken <= columns else width(part), is_spaced)
                is_spaced = False


def wrap(text: str, columns: int) -> list[str]:
    """Break a cleaned text into the fullest possible lines of at most ``columns`` columns (2 or more)."""
    lines: list[str] = []
    line, used = "", 0
    for piece in pieces(text, columns):
        gap = " " if piece.is_spaced and line else ""
        if line and used + len(gap) + piece.columns > columns:
            lines.append(line)
            line, used, gap = "", 0, ""
        line += gap + piece.text
        used += len(gap) + piece.columns
    return [*lines, line] if line else lines


def _split(piece: str, columns: int) -> list[str]:
    parts, used = [""], 0
    for cluster in clusters(piece):
        # Conjoining letters can pile up into a cluster that is wider than any line.
        for part in (cluster,) if cluster_width(cluster) <= columns else cluster:
            if used + cluster_width(part) > columns:
                parts.append("")
                used = 0
            parts[-1] += part
            used += cluster_width(part)
    return parts


def common_prefix(left: Sequence[object], right: Sequence[object]) -> int:
    """Length of the longest common prefix, |LCP(left, right)|."""
    length = min(len(left), len(right))
    # Slices compare in C; most texts are equal, or equal except for a few tokens.
    if left[:length] == right[:length]:
        return length
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def word_end(text: str, last: int) -> int:
    """The last position up to ``last`` where a word ends or begins; never inside a grapheme cluster."""
    # Search only nearby, because the text may be long.
    begin = max(0, last - _MAX_DISTANCE)
    near = text[begin : last + _MAX_DISTANCE]
    words = {begin + boundary.start() for boundary in _BOUNDARY.finditer(_FLAG_LETTER.sub("字", near))}
    end = begin
    for cluster in CLUSTER.finditer(near):
        if begin + cluster.end() > last:
            break
        if begin + cluster.end() in words:
            end = begin + cluster.end()
    return end


def settled(before: str, after: str) -> int:
    """Number of characters of ``after`` already in ``before``: the whole words with which both begin."""
    end = common_prefix(before, after)
    while (least := min(word_end(before, end), word_end(after, end))) < end:
        end = least
    return end


def _bytes_of_letters() -> dict[str, int]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(one): one for one in printable} | {chr(256 + at): one for at, one in enumerate(others)}


#: The byte for each letter of GPT-2's alphabet, in which byte-level BPE is written (Radford et al. 2019).
BYTE_OF_LETTER = _bytes_of_letters()
