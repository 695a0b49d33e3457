"""The shipped files that turn the base model into captions models: one folder per direction."""

from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from mmap import ACCESS_READ, mmap

from operators.errors import InputError, UsageError
from operators.glossary import Lexicon
from operators.languages import Direction

#: The file that marks a folder as one of a direction, and the list of tokens next to it.
ADAPTER, VOCABULARY = "adapter.gguf", "vocabulary.gguf"
#: The translations of words that captions lean towards; not every direction has it.
LEXICON = "lexicon.tsv"


def captions_folder() -> Traversable:
    """The parent of these folders, which are named by direction, such as ``en-de``."""
    return files("operators.models") / "captions"


def is_made_for(direction: Direction, folder: Traversable) -> bool:
    """Whether there is a captions model for this direction."""
    return (folder / direction.code / ADAPTER).is_file()


def folder_for(direction: Direction, folder: Traversable) -> Traversable:
    """The files of the captions model of this direction.

    Raises:
        UsageError: there is no model for this direction.
        InputError: the models are not installed at all.
    """
    if is_made_for(direction, folder):
        return folder / direction.code
    known = ", ".join(map(str, directions(folder)))
    if not known:
        raise InputError("the captions models are not part of this installation; choose --model base")
    raise UsageError(f"there is no captions model for {direction}, only for {known}; choose --model base")


def captions_lexicon(direction: Direction) -> Lexicon | None:
    """The lexicon of a direction, memory-mapped; None if there is none."""
    file = captions_folder() / direction.code / LEXICON
    if not file.is_file():
        return None
    with as_file(file) as path, path.open("rb") as opened:
        return Lexicon(mmap(opened.fileno(), 0, access=ACCESS_READ))


def directions(folder: Traversable) -> list[Direction]:
    """The directions that have a captions model."""
    found = []
    for one in sorted(folder.iterdir(), key=lambda one: one.name) if folder.is_dir() else ():
        try:
            direction = Direction.of(*one.name.split("-", 1))
        except (TypeError, UsageError):
            continue  # it is not the folder of a direction
        if one.name == direction.code and is_made_for(direction, folder):
            found.append(direction)
    return found
