"""Texts for training and for counting words, plain or compressed with gzip.

The columns of a file of pairs, separated by tabs, are a source and its translation. The third, written by
`surtitle model align`, contains for each number of source words from 1 on the number of pieces of the
translation that they support. Further columns are ignored.
"""

import codecs
import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from connectors.files.atomic import atomic_file
from connectors.files.contents import PACKED_BADLY, unpacked
from operators.errors import InputError, unreadable
from operators.training.pairs import Pair

#: A longer line of text is read in parts.
_PART_BYTES = 16 * 1024
#: No line with two sentences is longer.
_MAX_LINE_BYTES = 64 * 1024


def each_text(path: Path, progress: Callable[[float], None] | None = None) -> Iterator[str]:
    """The texts of a file; ``progress`` gets the fraction of the file that has been read, from 0 to 1.

    Raises `InputError` if the file cannot be read or is not UTF-8 text.
    """
    for number, line, fraction in _lines(path, _PART_BYTES, in_parts=True):
        yield from filter(None, (text.strip() for text in line.split("\t")))
        if progress is not None and number % 1000 == 0:
            progress(fraction)


def read_texts(path: Path) -> list[tuple[str, str]]:
    """Sources and translations; lines without both are skipped. Raises `InputError`."""
    return [(columns[0], columns[1]) for _, columns in _columns(path, 2)]


def read_aligned(path: Path, language: str) -> list[Pair]:
    """Pairs with tables of their prefixes; ``language`` is the code of the targets. Raises `InputError`."""
    pairs = []
    for number, (source, target, table, *_) in _columns(path, 3):
        try:
            pairs.append(Pair.of(source, target, [int(length) for length in table.split()], language))
        except ValueError:
            raise InputError(
                f"{path}, line {number}: the third column is not a table of this pair's prefixes; "
                "create the file again with 'surtitle model align'"
            ) from None
    return pairs


def write_texts(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Write a file for `read_texts`; texts must be single lines without tabs. Raises `OutputError`."""
    _write_lines(path, (f"{source}\t{target}\n" for source, target in pairs))


def write_aligned(path: Path, pairs: Iterable[Pair]) -> None:
    """Write a file for `read_aligned`. Raises `OutputError`."""
    tables = ((pair, " ".join(map(str, pair.supports))) for pair in pairs)
    _write_lines(
        path, (f"{' '.join(pair.source)}\t{''.join(pair.target)}\t{table}\n" for pair, table in tables)
    )


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file completely or not at all, compressed if its name ends in .gz."""
    with atomic_file(path) as file:
        if path.suffix == ".gz":
            # Without name and time, so that the same pairs give the same file.
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(line.encode() for line in lines)
        else:
            file.writelines(line.encode() for line in lines)


def _columns(path: Path, least: int) -> Iterator[tuple[int, list[str]]]:
    for number, line, _ in _lines(path, _MAX_LINE_BYTES, in_parts=False):
        columns = line.rstrip("\r\n").split("\t")
        if len(columns) < least:
            wanted = "a source and its translation" if least == 2 else "those and the table of their prefixes"
            raise InputError(
                f"{path}, line {number}: it has {len(columns)} columns; give {wanted}, separated by tabs"
            )
        if columns[0].strip() and columns[1].strip():
            yield number, columns


def _lines(path: Path, max_bytes: int, *, in_parts: bool) -> Iterator[tuple[int, str, float]]:
    """Lines, or parts of longer ones, with their numbers and the fraction of the file that has been read."""
    number = 0
    try:
        size = path.stat().st_size
        with path.open("rb") as raw:
            file, text = unpacked(raw), codecs.getincrementaldecoder("utf-8-sig")()
            while line := file.readline(max_bytes + 1):
                number += 1
                if len(line) > max_bytes and not in_parts:
                    raise InputError(
                        f"{path}, line {number}: more than {max_bytes:,} bytes; give one pair per line"
                    )
                yield number, text.decode(line), min(raw.tell() / size, 1.0)
            text.decode(b"", final=True)
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 in line {number}; give texts in UTF-8, plain or compressed with gzip"
        ) from None
    except PACKED_BADLY as error:
        raise InputError(f"{path} is damaged after line {number} ({error}): fetch it again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    if not number:
        raise InputError(f"{path} is empty: give one text, or one pair, on each line")
