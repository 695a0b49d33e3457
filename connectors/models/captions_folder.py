"""The files of ours that make a model for captions of the base model: a folder for each direction."""

from importlib.resources import files
from importlib.resources.abc import Traversable

from operators.errors import InputError, UsageError
from operators.languages import Direction

#: What makes a folder one of a direction; a list of tokens lies beside it.
ADAPTER, VOCABULARY = "adapter.gguf", "vocabulary.gguf"


def captions_folder() -> Traversable:
    """Where the folders are; each has the name of its direction, such as ``en-de``."""
    return files("operators.models") / "captions"


def is_made_for(direction: Direction, folder: Traversable) -> bool:
    """Whether a model for captions was made for this direction."""
    return (folder / direction.code / ADAPTER).is_file()


def folder_for(direction: Direction, folder: Traversable) -> Traversable:
    """The files of the model for captions of this direction.

    Raises:
        UsageError: none was made for it.
        InputError: none came along at all.
    """
    if is_made_for(direction, folder):
        return folder / direction.code
    known = ", ".join(map(str, directions(folder)))
    if not known:
        raise InputError(
            "the models for captions do not come along with this installation; choose --model base"
        )
    raise UsageError(f"no model for captions was made for {direction}, only for {known}; choose --model base")


def directions(folder: Traversable) -> list[Direction]:
    """What models for captions were made for."""
    found = []
    for one in sorted(folder.iterdir(), key=lambda one: one.name) if folder.is_dir() else ():
        try:
            direction = Direction.of(*one.name.split("-", 1))
        except (TypeError, UsageError):
            continue  # it is something else
        if one.name == direction.code and is_made_for(direction, folder):
            found.append(direction)
    return found
