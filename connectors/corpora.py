"""The corpora of the SSBD paper by name: FLORES-101, and the talks of ACL 60/60.

The environment variable `DATA_VARIABLE` names their folder; the default is in the user's cache. A missing
corpus is downloaded into it. Simpler layouts than the original ones are also read: one text per language for
FLORES (``flores101.devtest.LINES.CODE``), and for ACL 60/60 lines of JSON with the talk, the times of a
segment and its text in each language (``acl6060.dev.jsonl``). The archive of ACL 60/60 has no times; they are
read from the file of IWSLT (``…gold_segments.yaml``) if that is in the folder.
"""

import os
import re
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from platformdirs import user_cache_path

from connectors.files.contents import DAMAGED, read_lines
from connectors.http.download import download, host, is_offline
from connectors.messages import log_event
from operators.errors import InputError, OutputError, UsageError
from operators.languages import Direction, Language
from operators.notifications import silent

#: The folder of corpora.
DATA_VARIABLE = "SURTITLE_DATA"


class Utterance(NamedTuple):
    """A segment of a corpus; segments of a talk have times if these are known."""

    source: str
    reference: str
    talk: str = ""
    start_s: float = 0.0
    end_s: float = 0.0


class _Archive(NamedTuple):
    url: str
    #: Taken from a program that pins this file; None if unknown.
    sha256: str | None
    max_bytes: int
    #: The members to extract.
    kept: re.Pattern[str]


_FLORES = _Archive(
    "https://dl.fbaipublicfiles.com/flores101/dataset/flores101_dataset.tar.gz",
    "49fa80207b09fcc0eca8253ed13303b3a0ae0f16081af862601c73ac76f2cba6",
    200_000_000,
    re.compile(r"(?:\./)?flores101_dataset/devtest/\w+\.devtest"),
)
_ACL = _Archive(
    "https://aclanthology.org/attachments/2023.iwslt-1.2.dataset.zip",
    None,
    4_000_000_000,
    # Recordings too: a recogniser makes the partials from them.
    re.compile(r"(?:\w+/)*acl_6060/(?:dev|eval)/(?:text/txt/[\w.-]+\.txt|full_wavs/[\w.-]+\.wav)"),
)
#: FLORES-101's codes where they differ from ISO 639-2.
_CODES = {"zh": "zho_simpl", "zh-Hant": "zho_trad", "az": "azj", "no": "nob", "sw": "swh", "or": "ory"}
#: The names, and the part of the corpus that each means.
CORPORA = {"flores101": "devtest", "acl6060": "dev", "acl6060-eval": "eval"}


def read_corpus(name: str, direction: Direction) -> list[Utterance]:
    """The segments of one of `CORPORA`, with references in the target language; downloaded if need be.

    Raises:
        UsageError: there is no such corpus, or it lacks one of the languages.
        InputError: it cannot be downloaded, or a file of it is damaged.
        OutputError: the folder cannot be written.
    """
    if name not in CORPORA:
        raise UsageError(f"--data: there is no corpus {name}; choose one of {', '.join(CORPORA)}")
    given = os.environ.get(DATA_VARIABLE)
    folder = Path(given).expanduser() if given else user_cache_path("surtitle") / "data"
    if name == "flores101":
        return _flores(folder, direction)
    return _acl(folder, CORPORA[name], direction)


def _flores(folder: Path, direction: Direction) -> list[Utterance]:
    def find(language: Language) -> Path | None:
        text = f"devtest/{_CODES.get(language.code, language.three)}.devtest"
        found = folder.glob(f"flores101.devtest.*.{language.general.code}")
        return _first([*sorted(found), folder / "flores101_dataset" / text, folder / text])

    official = folder / "flores101_dataset", folder / "devtest"
    if not any(folder.glob("flores101.devtest.*")) and not any(one.is_dir() for one in official):
        _fetch(_FLORES, folder)
    source, target = (_both("flores101", folder, language, find(language)) for language in direction)
    return [Utterance(*pair) for pair in _aligned(source, target)]


def _acl(folder: Path, part: str, direction: Direction) -> list[Utterance]:
    if (plain := folder / f"acl6060.{part}.jsonl").is_file():
        return _from_json(plain, direction)
    texts = f"acl_6060/{part}/text/txt"
    places = [folder / "2" / texts, folder / texts]
    if not any(one.is_dir() for one in places):
        _fetch(_ACL, folder)

    def find(language: Language) -> Path | None:
        return _first([one / f"ACL.6060.{part}.en-xx.{language.general.code}.txt" for one in places])

    source, target = (_both(f"acl6060 ({part})", folder, language, find(language)) for language in direction)
    found = [Utterance(*pair) for pair in _aligned(source, target)]
    times = _first([*folder.rglob(f"ACL.ACL{part}*.gold_segments.yaml")])
    return found if times is None else _timed(found, times)


_TIMES = re.compile(r"(duration|offset|wav): *([\w.-]+)")


def _timed(utterances: Sequence[Utterance], path: Path) -> list[Utterance]:
    """The utterances with talk and times from IWSLT's file, which has a line for each segment."""
    rows = [dict(_TIMES.findall(line)) for line in read_lines(path) if line.strip()]
    made = []
    try:
        for one, row in zip(utterances, rows, strict=True):
            start = float(row["offset"])
            talk = row["wav"].removesuffix(".wav")
            made.append(one._replace(talk=talk, start_s=start, end_s=start + float(row["duration"])))
    except (KeyError, ValueError):
        raise InputError(
            f"{path}: give a line with duration, offset and wav for each of {len(utterances)} segments"
        ) from None
    return made


class _Segment(msgspec.Struct):
    talk: str
    offset_s: float
    duration_s: float


def _from_json(path: Path, direction: Direction) -> list[Utterance]:
    source, target = (language.general.code for language in direction)
    made = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            texts = msgspec.json.decode(line, type=dict[str, Any])
            one = msgspec.convert(texts, _Segment)
        except DAMAGED as error:
            raise InputError(f"{path}, line {number}: {error}; fetch the file again") from error
        if missing := {source, target} - texts.keys():
            raise UsageError(f"{path}, line {number}: it has no text in {', '.join(missing)}; choose another")
        end = one.offset_s + one.duration_s
        made.append(Utterance(str(texts[source]), str(texts[target]), one.talk, one.offset_s, end))
    return made


def _first(paths: Sequence[Path]) -> Path | None:
    return next((one for one in paths if one.is_file()), None)


def _both(name: str, folder: Path, language: Language, path: Path | None) -> Path:
    if path is None:
        raise UsageError(f"{name} in {folder} has no text in {language.name}; choose another language")
    return path


def _aligned(source: Path, target: Path) -> list[tuple[str, str]]:
    texts = [read_lines(one) for one in (source, target)]
    if len(texts[0]) != len(texts[1]):
        raise InputError(f"{source} has {len(texts[0])} lines and {target} {len(texts[1])}; fetch them again")
    return list(zip(*texts, strict=True))


def _fetch(archive: _Archive, folder: Path) -> None:
    """Download an archive, and extract the members that are needed."""
    path = folder / archive.url.rpartition("/")[2]
    if not path.is_file():
        if not is_offline():
            log_event(
                "data_download", f"downloading {path.name} from {host(archive.url)} into {folder}, once"
            )
        download(archive.url, path, silent, sha256=archive.sha256, max_bytes=archive.max_bytes)
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as packed:
                packed.extractall(folder, [one for one in packed.namelist() if archive.kept.fullmatch(one)])
        else:
            with tarfile.open(path) as tar:
                members = [one for one in tar if archive.kept.fullmatch(one.name)]
                tar.extractall(folder, members, filter="data")
        path.unlink()
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        path.unlink()
        raise InputError(f"{path} was damaged ({error}) and was removed: fetch it again") from error
    except OSError as error:
        raise OutputError(f"{folder} cannot be written ({error.strerror}): free space there") from error
