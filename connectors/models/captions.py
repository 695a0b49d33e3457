"""Models for captions: assembled in the user's cache from the base model and files shipped with surtitle."""

from contextlib import ExitStack
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path

from platformdirs import user_cache_path

from connectors.gguf.header import check_gguf
from connectors.models.adapter import types_for
from connectors.models.assembly import Parts, assemble, fingerprint
from connectors.models.captions_folder import ADAPTER, VOCABULARY
from connectors.models.writer import remove_abandoned, write_model
from operators.errors import InputError, OutputError
from operators.observed import Progress


def captions_model(base: Path, folder: Traversable, progress: Progress) -> Path:
    """The path of a captions model, which is assembled if it is not in the cache.

    Args:
        base: the file of the base model.
        folder: the folder of the adapter and the list of tokens; its name is that of the direction.
        progress: gets each step and its progress.

    Raises:
        InputError: a part is missing or damaged.
        OutputError: the cache cannot store the model.
    """
    with ExitStack() as stack:
        adapter, vocabulary = (stack.enter_context(as_file(folder / name)) for name in (ADAPTER, VOCABULARY))
        parts = Parts(base, adapter, vocabulary, types_for(adapter))
        target = cached_path(parts, f"captions-{folder.name}")
        if not _is_complete(target):
            remove_abandoned(target)
            model = assemble(parts, progress)
            write_model(target, model, lambda part: progress("writing the captions model", part))
    return target


def _is_complete(path: Path) -> bool:
    """Whether there is a model as long as its header says: something may have cut the cached file since."""
    try:
        check_gguf(path)
    except InputError:
        return False
    return True


def cached_path(parts: Parts, name: str = "captions") -> Path:
    """The path in the user's cache for the model of these parts. Raises `OutputError` without a cache."""
    folder = user_cache_path("surtitle")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"the cache folder {folder} cannot be made, {error.strerror}: set XDG_CACHE_HOME to another one"
        ) from None
    return folder / f"{name}-{fingerprint(parts)}.gguf"
