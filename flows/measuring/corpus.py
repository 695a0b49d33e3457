"""The corpora of benchmarks: texts that grow by a few words at a time, recorded partials, or recordings."""

import codecs
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from connectors.audio.decoder import open_audio
from connectors.corpora import DATA_VARIABLE, Utterance, read_corpus
from connectors.files.contents import DAMAGED, open_regular, read_lines
from connectors.jsonl.files import event_type_of, read_events
from operators.errors import InputError, UsageError
from operators.events import Partial
from operators.languages import Direction
from operators.recognizers.segmenter import Samples

# Maximum characters of all updates together: they are kept in memory.
_MAX_CHARACTERS = 300_000_000


class BenchSegment(NamedTuple):
    """One segment: the recogniser's hypotheses, update by update; the last one is final."""

    key: str
    updates: tuple[str, ...]
    reference: str | None = None


class Corpus(NamedTuple):
    #: The file, how its updates were made, and which of its segments these are.
    name: str
    segments: tuple[BenchSegment, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self.segments)).hexdigest()

    @property
    def references(self) -> list[str] | None:
        """In the order of the segments."""
        references = [segment.reference for segment in self.segments if segment.reference is not None]
        return references or None


def load_corpus(source: Path, reference: Path | None = None, *, lag: int | None, chosen: slice) -> Corpus:
    """Read a text file with one sentence per line, or a partials log.

    Args:
        lag: Words by which a sentence of a text grows at each update; None for whole sentences.

    Raises:
        InputError: for an unusable file.
        UsageError: if the references do not match the segments.
    """
    if is_partials(source):
        segments, name = _from_partials(source)[chosen], f"{source.name}|updates:recorded"
    else:
        segments = _from_text(source, chosen, lag)
        name = f"{source.name}|{_grown(lag)}"
    if not any(update.strip() for segment in segments for update in segment.updates):
        raise InputError(f"{source}: there is nothing to translate; check the file, --limit and --skip")
    if reference is not None:
        references = read_lines(reference)[chosen]
        if len(references) != len(segments):
            raise UsageError(
                f"{reference}: {len(references)} references for {len(segments)} segments of {source}; "
                "give one line for each segment"
            )
        segments = [
            segment._replace(reference=text) for segment, text in zip(segments, references, strict=True)
        ]
    first = chosen.start
    return Corpus(f"{name}|segments:{first + 1}-{first + len(segments)}", tuple(segments))


def load_named(
    name: str, direction: Direction, source: Path | None, *, lag: int | None, chosen: slice
) -> Corpus:
    """Read a corpus by name (`connectors.corpora`): its texts, which grow, or partials of its talks.

    Args:
        name: One of `CORPORA`.
        source: A recogniser's partials, in streams named after the talks; None for the texts.

    Raises:
        UsageError: it lacks a language or the times, or a stream is named after none of its talks.
        InputError: it cannot be read, or no segment is left.
    """
    utterances = read_corpus(name, direction)
    if source is None:
        segments = [
            BenchSegment(f"line/{number:06d}", _grow(one.source, lag), one.reference)
            for number, one in list(enumerate(utterances))[chosen]
        ]
        made = f"{name}|{_grown(lag)}"
    else:
        paired, heard = _paired(list(read_events(source, Partial)), utterances, name)
        segments = paired[chosen]
        made = f"{name}|{source.name}|updates:recorded|fit:{len(paired)}-of-{heard}"
    if not segments:
        raise InputError(f"{made}: no segment is left; check --limit, --skip and the file's times")
    return Corpus(f"{made}|segments:{chosen.start + 1}-{chosen.start + len(segments)}", tuple(segments))


#: Seconds by which separate segments may overlap: recognisers cut in the middle of a pause.
_TOUCH_S = 0.3


def _paired(
    partials: Sequence[Partial], utterances: Sequence[Utterance], name: str
) -> tuple[list[BenchSegment], int]:
    """Segments that match exactly one utterance, with its reference; and the number of all segments.

    An utterance that a long pause splits is left out, as in the SSBD paper, and so is a segment with several
    utterances.
    """
    updates: dict[str, list[Partial]] = {}
    for one in partials:
        updates.setdefault(one.key, []).append(one)
    finals = [made[-1] for made in updates.values()]
    talks = sorted({one.talk for one in utterances})
    if talks == [""]:
        raise UsageError(f"{name} has no times here, which recordings need; put them into {DATA_VARIABLE}")
    for stream in sorted({one.stream for one in finals}):
        if not any(talk in stream for talk in talks):
            raise UsageError(f"no talk is called {stream}; name the stream after one of {', '.join(talks)}")
    pairs = [
        (heard, said)
        for heard in range(len(finals))
        for said, one in enumerate(utterances)
        if one.talk in finals[heard].stream
        and min(one.end_s, finals[heard].end_s) - max(one.start_s, finals[heard].start_s) > _TOUCH_S
    ]
    once = [Counter(side) for side in zip(*pairs, strict=True)] if pairs else []
    fit = [(heard, said) for heard, said in pairs if once[0][heard] == once[1][said] == 1]
    segments = [
        BenchSegment(
            finals[heard].key,
            tuple(one.text for one in updates[finals[heard].key]),
            utterances[said].reference,
        )
        for heard, said in fit
    ]
    return segments, len(finals)


def as_partials(corpus: Corpus, word_s: float = 0.4) -> Iterator[Partial]:
    """A text that grows as a recogniser's stream, which takes ``word_s`` seconds for each word."""
    before = 0.0
    for number, segment in enumerate(corpus.segments):
        for revision, text in enumerate(segment.updates):
            end = before + word_s * len(text.split())
            yield Partial(
                stream="text", segment=number, revision=revision, text=text, start_s=before, end_s=end,
                arrival_s=end, is_final=revision == len(segment.updates) - 1,
            )  # fmt: skip
        before = end


def is_partials(source: Path) -> bool:
    """Whether a file has partials, and not text. Raises `InputError` for events of another type."""
    with open_regular(source, "the text") as file:
        first = file.read(2**16).removeprefix(codecs.BOM_UTF8).lstrip()
    if not first.startswith(b"{"):
        return False
    event_type = event_type_of(source)
    if event_type is not Partial:
        raise InputError(
            f"{source}: {event_type.__name__.lower()} events cannot be benchmarked; "
            "give a text file or partials"
        )
    return True


def _from_partials(source: Path) -> list[BenchSegment]:
    texts: dict[str, list[str]] = {}
    for partial in read_events(source, Partial):
        texts.setdefault(partial.key, []).append(partial.text)
    return [BenchSegment(key, tuple(updates)) for key, updates in texts.items()]


def _from_text(source: Path, chosen: slice, lag: int | None) -> list[BenchSegment]:
    texts = list(enumerate(read_lines(source)))[chosen]
    # Each update repeats the whole text so far.
    if lag and sum(len(text) * (1 + len(text.split()) // lag) for _, text in texts) > _MAX_CHARACTERS:
        raise InputError(
            f"{source}: its lines are too long to grow by {lag} words at a time; put one sentence on "
            "each, or take fewer with --limit"
        )
    return [BenchSegment(f"line/{number:06d}", _grow(text, lag)) for number, text in texts]


def _grown(lag: int | None) -> str:
    return "finals" if lag is None else f"updates:{lag}-words"


def _grow(text: str, lag: int | None) -> tuple[str, ...]:
    words = text.split()
    ends = [*(range(lag, len(words), lag) if lag else ()), len(words)]
    return tuple(" ".join(words[:end]) for end in ends)


class Clip(NamedTuple):
    path: Path
    #: The reference transcript; None if there is none.
    text: str | None


class _Entry(msgspec.Struct):
    file: str
    text: str


def read_clips(audio: Sequence[Path], manifest: Path | None = None) -> list[Clip]:
    """The recordings, with transcripts from a manifest: a JSON object per line with ``file`` and ``text``.

    Raises `InputError` if the manifest cannot be read or lacks all of them.
    """
    texts = _read_manifest(manifest) if manifest else {}
    clips = [Clip(path, texts.get(path.name)) for path in audio]
    if manifest and all(clip.text is None for clip in clips):
        raise InputError(f"{manifest}: it names none of the recordings; give their own list")
    return clips


def samples(clip: Clip) -> Samples:
    """At 16 kHz. Raises `InputError` if the recording cannot be read."""
    pcm = b"".join(open_audio(clip.path).blocks())
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768.0


def _read_manifest(path: Path) -> dict[str, str]:
    texts = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            entry = msgspec.json.decode(line, type=_Entry)
        except DAMAGED as error:
            raise InputError(
                f"{path}, line {number}: {error}; write each line as an object with 'file' and 'text'"
            ) from error
        texts[entry.file] = entry.text
    return texts
