"""Lazy exports: a package's names are imported from their modules at first use."""

from collections.abc import Callable, Mapping
from importlib import import_module


def exports(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """A ``__getattr__`` for a package (PEP 562) that imports a name from its module on first access."""

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
