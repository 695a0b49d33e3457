"""Finds the file of a language model by name.

``base`` and ``captions`` are assembled in the user's cache (`connectors.models.assembly`). ``default`` is
Firefox's model for the direction if it is here (`fetch_default`). If it is not, or if a language model is
needed, ``default`` is ``captions`` if there is one for the direction, otherwise ``base``.
The names in the catalogue and ``hub:…`` are files on the Hugging Face Hub, except ``firefox`` and
``opus-mt``, which are not GGUF files (`connectors.models.firefox`, `connectors.models.opus`). Everything else
is the path of a GGUF file.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from os.path import expanduser
from pathlib import Path

from connectors.messages import log_event
from connectors.models.catalog import captions_files, catalog, has_captions, hub_name
from connectors.models.firefox import FIREFOX, REGISTRY, firefox_folder, has_firefox, is_firefox_here
from connectors.models.hub import HUB_PREFIX, fetch_model
from connectors.models.opus import OPUS_MT, opus_repository
from operators.errors import InputError, OutputError, UsageError, is_visible, nearest
from operators.extras import EXTRAS, missing, require_extra
from operators.languages import ENGLISH, Direction
from operators.notifications import Progress, silent

#: The names that are not files.
NAMES = ("default", *catalog())
_MAX_NAME = 255
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


def resolve_model(name: str, direction: Direction | None = None, *, progress: Progress = silent) -> Path:
    """Return the path of a complete GGUF file.

    Args:
        name: ``default`` (a language model), a name of the catalogue, ``hub:OWNER/REPO:FILE.gguf``, or the
            path of a ``.gguf`` file (``~`` is the home folder).
        direction: the direction to translate; without one, ``default`` is ``base``.

    Raises:
        InputError: there is no such model, or its file is damaged.
        OutputError: the cache folder cannot store the model.
        UsageError: a name that begins with ``hub:`` has another form, or there is no captions model for
            the direction, or it is ``firefox`` or ``opus-mt``; or the extra ``llm`` is not installed.
    """
    meant = language_model(name, direction)
    if meant in (FIREFOX, OPUS_MT):
        raise UsageError(
            f"{meant} is an encoder-decoder model, and this needs a language model; give a GGUF file"
        )
    if meant in ("base", "captions"):
        require_extra(EXTRAS["llm"], f"the language model {meant}")
        from connectors.models import assembly  # it takes a moment to import

        files = captions_files(direction) if meant == "captions" else None
        path = assembly.base_model_path(progress)
        return path if files is None else assembly.captions_model(path, files, progress)
    named = catalog().get(name)
    if named is not None or name.startswith(HUB_PREFIX):
        require_extra(EXTRAS["llm"], f"the language model {name}")
        return _whole(fetch_model(hub_name(name), progress, named.sha256 if named else None))
    # No file system allows longer names: the system's own sentence about one is clearer.
    if not name.endswith(".gguf") and not is_visible(Path(name)) and len(name) <= _MAX_NAME:
        _refuse_misspelt(name)
    path = Path(name)
    with suppress(RuntimeError):  # "~nobody": treat it as the name of a file that does not exist
        path = path.expanduser()
    require_extra(EXTRAS["llm"], f"the language model {name}")
    return _whole(path)


def _whole(path: Path) -> Path:
    """Return ``path``; raises `InputError` if it is not a complete GGUF file."""
    from connectors.models.gguf import read_gguf  # which loads llama.cpp

    read_gguf(path)
    return path


def models_for(named: Iterable[tuple[str, Direction]]) -> list[tuple[str, list[Direction]]]:
    """The models that are ``named`` for directions, each with the directions that it translates.

    A captions model, a model of Firefox's and a pair of models over English each translate one direction. A
    model of OPUS-MT translates those of its repository. Any other model translates all that it is named for.
    """
    models: dict[tuple[str, Direction | str | None], list[Direction]] = {}
    for name, one in named:
        is_alone = name in ("captions", FIREFOX) or _over_english(name) is not None
        own = one if is_alone else opus_repository(one) if name == OPUS_MT else None
        models.setdefault((name, own), []).append(one)
    return [(name, own) for (name, _), own in models.items()]


def steps(name: str, directions: list[Direction]) -> list[tuple[str, list[Direction]]]:
    """The models that translate one after the other for a ``name`` of `models_for`.

    ``A+B`` means two: A translates to English, and B from there.
    """
    if (pair := _over_english(name)) is None:
        return [(name, directions)]
    source, target = directions[0]
    halves = Direction(source, ENGLISH), Direction(ENGLISH, target)
    return [(one, [half]) for one, half in zip(pair, halves, strict=True)]


def _over_english(name: str) -> tuple[str, str] | None:
    """The names of both models that ``name`` means; None if it means one."""
    first, _, second = name.partition("+")
    # A path may have the sign in it. (`Path.expanduser` raises for "~nobody".)
    is_one = name.startswith(HUB_PREFIX) or is_visible(Path(expanduser(name)))  # noqa: PTH111
    return None if is_one or not (first and second) else (first, second)


def firefox_model(direction: Direction) -> str:
    return FIREFOX if ENGLISH in direction else f"{FIREFOX}+{FIREFOX}"


def halves(direction: Direction) -> list[Direction]:
    """The directions of the models of Firefox that translate a direction: one, or two over English."""
    return [half for _, (half,) in steps(firefox_model(direction), [direction])]


#: Failed downloads that this process has logged.
_failed = set[tuple[Direction, str]]()


def default_model(direction: Direction) -> str:
    """The model ``default`` for a direction: Firefox's models if they are here, else a language model."""
    are_here = all(is_firefox_here(half) for half in halves(direction))
    return firefox_model(direction) if are_here else language_model("default", direction)


def fetch_default(direction: Direction, progress: Progress = silent, *, registry: str = REGISTRY) -> None:
    """Download Firefox's models for a direction; if that fails, log once which model is used instead.

    Raises the errors of `fetch_firefox` if no language model translates the direction either.
    """
    if (direction, registry) in _failed:
        return
    try:
        # A direction without a model comes first: the other would be downloaded for nothing.
        for half in sorted(halves(direction), key=has_firefox):
            firefox_folder(half, progress, registry=registry)
    except (InputError, OutputError, UsageError) as error:
        meant = language_model("default", direction)
        if not catalog()[meant].translates(direction) or missing(EXTRAS["llm"]):
            raise
        _failed.add((direction, registry))
        log_event("model_fallback", f"{error}; this run uses the model {meant}", model=meant)


def _refuse_misspelt(name: str) -> None:
    if _REPOSITORY.fullmatch(name):
        raise UsageError(f"there is no model file {name}: for one of the hub, write hub:{name}:FILE.gguf")
    if (meant := nearest(name, NAMES)) is not None:
        raise UsageError(f"there is no model {name}; did you mean {meant}?")
    if "/" not in name and not Path(name).suffix:
        raise UsageError(f"there is no model {name}; `surtitle models` lists those that have a name")


def language_model(name: str, direction: Direction | None) -> str:
    """The name itself; for ``default``, ``captions`` if the direction has such a model, else ``base``."""
    if name != "default":
        return name
    return "captions" if direction is not None and has_captions(direction) else "base"
