"""What a benchmark translates: texts that grow by a few words at a time, or a recorded stream of partials."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from connectors.jsonl import event_type_of, validate
from operators.errors import InputError, UsageError
from operators.events import Partial


class BenchSegment(NamedTuple):
    """One segment: what the recogniser would say, update by update, the last one being final."""

    key: str
    updates: tuple[str, ...]
    reference: str | None = None
    #: When each update left the recogniser, in seconds; None for a text, which has no time.
    arrivals_s: tuple[float, ...] | None = None


class Corpus(NamedTuple):
    """All segments of a benchmark, and how they came about."""

    #: The file, how its updates came about, and which of its segments these are.
    name: str
    segments: tuple[BenchSegment, ...]

    @property
    def sha256(self) -> str:
        """Hash of all updates and references."""
        return hashlib.sha256(msgspec.json.encode(self.segments)).hexdigest()

    @property
    def updates(self) -> int:
        """Updates of all segments."""
        return sum(len(segment.updates) for segment in self.segments)

    @property
    def references(self) -> list[str] | None:
        """The references in the order of the segments; None without."""
        references = [segment.reference for segment in self.segments if segment.reference is not None]
        return references or None


def load_corpus(source: Path, reference: Path | None, *, lag: int, skip: int, limit: int | None) -> Corpus:
    """Read a text file (a sentence a line, ``lag`` words more at each update) or a partials log.

    Raises `InputError` for a file that cannot be used, `UsageError` where references and segments differ.
    """
    lines = slice(skip, None if limit is None else skip + limit)
    if _is_partials(source):
        segments, name = list(_from_partials(source))[lines], f"{source.name}|updates:recorded"
    else:
        segments = [BenchSegment(f"line/{n:06d}", _grow(text, lag)) for n, text in enumerate(_lines(source))]
        segments, name = segments[lines], f"{source.name}|updates:{lag}-words"
    if not any(update.strip() for segment in segments for update in segment.updates):
        raise InputError(f"{source}: there is nothing to translate; check the file, --limit and --skip")
    if reference is not None:
        references = _lines(reference)[lines]
        if len(references) != len(segments):
            raise UsageError(
                f"{reference}: {len(references)} references for {len(segments)} segments of {source}; "
                "give one line for each segment"
            )
        segments = [
            segment._replace(reference=text) for segment, text in zip(segments, references, strict=True)
        ]
    return Corpus(f"{name}|segments:{skip + 1}-{skip + len(segments)}", tuple(segments))


def _is_partials(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            first = file.read(64).lstrip()
    except OSError as error:
        raise InputError(f"{source}: the benchmark's source cannot be read ({error.strerror})") from None
    if not first.startswith(b"{"):
        return False
    event_type = event_type_of(source)
    if event_type is not Partial:
        raise InputError(
            f"{source}: {event_type.__name__.lower()} events are no source of a benchmark; "
            "give a text file or partials"
        )
    return True


def _from_partials(source: Path) -> Iterable[BenchSegment]:
    validate(source, Partial)
    said: dict[str, list[Partial]] = {}
    decoder = msgspec.json.Decoder(Partial)
    with source.open("rb") as file:
        for line in file:
            if line.strip():
                partial = decoder.decode(line)
                said.setdefault(partial.key, []).append(partial)
    for key, updates in said.items():
        texts, arrivals_s = zip(*((update.text, update.arrival_s) for update in updates), strict=True)
        yield BenchSegment(key, texts, arrivals_s=arrivals_s)


def _lines(path: Path) -> list[str]:
    try:
        # Not splitlines, which also splits where a text has U+2028 or a form feed: the lines of two
        # parallel files would no longer go together.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{path}: this text cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this text is not UTF-8 ({error.reason} at byte {error.start})") from None
    return lines if lines[-1] else lines[:-1]


def _grow(text: str, lag: int) -> tuple[str, ...]:
    words = text.split()
    ends = [*range(lag, len(words), lag), len(words)]
    return tuple(" ".join(words[:end]) for end in ends)
