"""Pairs of texts for training: a source, a tab and its translation in each line, plain or gzipped."""

import io
from pathlib import Path

from connectors.files.contents import PACKED_BADLY, unpacked
from operators.errors import InputError, unreadable


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Sources and translations; lines without both and further columns are left out. Raises `InputError`."""
    pairs = []
    number = 0
    try:
        with path.open("rb") as raw:
            text = io.TextIOWrapper(unpacked(raw), "utf-8-sig", newline="\n")
            for number, line in enumerate(text, start=1):
                source, tab, rest = line.partition("\t")
                target = rest.partition("\t")[0]
                if not tab:
                    raise InputError(
                        f"{path}, line {number}: there is no tab; give a source, a tab and its translation"
                    )
                if source.strip() and target.strip():
                    pairs.append((source.strip(), target.strip()))
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 after line {number}; give texts in UTF-8, plain or compressed with gzip"
        ) from None
    except PACKED_BADLY as error:
        raise InputError(f"{path} is damaged after line {number} ({error}): fetch it again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    if not pairs:
        raise InputError(f"{path} is empty: give a pair on each line")
    return pairs
