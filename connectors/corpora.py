"""Texts for training and for counting words, plain or compressed with gzip.

The columns of a file of pairs, separated by tabs, are a source and its translation. The third, written by
`surtitle model align`, contains for each number of source words from 1 on the number of pieces of the
translation that they support. Further columns are ignored.
"""

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from connectors.files.atomic import atomic_file
from operators.errors import InputError, unreadable
from operators.training.pairs import Pair

#: Maximum characters of a line; a longer one is read in parts.
_MAX_LINE_CHARACTERS = 16 * 1024
_GZIP = b"\x1f\x8b"


def each_text(path: Path, progress: Callable[[float], None] | None = None) -> Iterator[str]:
    """The texts of a file; ``progress`` gets the fraction of the file that has been read, from 0 to 1.

    Raises `InputError` if the file cannot be read or is not UTF-8 text.
    """
    number = 0
    try:
        size = path.stat().st_size
        with path.open("rb") as raw:
            is_packed = raw.read(2) == _GZIP
            raw.seek(0)
            data = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if is_packed else raw
            file = io.TextIOWrapper(data, "utf-8-sig", newline="\n")
            while line := file.readline(_MAX_LINE_CHARACTERS):
                number += 1
                yield from filter(None, (text.strip() for text in line.split("\t")))
                if progress is not None and number % 1000 == 0:
                    progress(min(raw.tell() / size, 1.0))
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 after line {number}; give texts in UTF-8, plain or compressed with gzip"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged after line {number} ({error}): fetch it again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    if not number:
        raise InputError(f"{path} is empty: give texts, one per line")


#: No line with two sentences is longer.
_MAX_LINE_BYTES = 64 * 1024


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
    for number, line in enumerate(_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < least:
            wanted = "a source and its translation" if least == 2 else "those and the table of their prefixes"
            raise InputError(
                f"{path}, line {number}: it has {len(columns)} columns; give {wanted}, separated by tabs"
            )
        if columns[0].strip() and columns[1].strip():
            yield number, columns


def _lines(path: Path) -> Iterator[str]:
    number = 0
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(2) == _GZIP
            raw.seek(0)
            data = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_packed else raw
            while line := data.readline(_MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > _MAX_LINE_BYTES:
                    raise InputError(
                        f"{path}, line {number}: more than {_MAX_LINE_BYTES:,} bytes; give one pair per line"
                    )
                yield line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 in line {number}; save it as UTF-8") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged after line {number} ({error}): fetch it again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    if not number:
        raise InputError(f"{path} is empty: give pairs, one per line, separated by a tab")
