"""Discovery of parts: in modules of surtitle, and in other packages by entry points."""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from typing_extensions import override

from operators.errors import UsageError

# Reading the entry points of all packages takes some milliseconds.
_installed = cache(entry_points)


class Part(Protocol):
    """Anything that settings and options select by name."""

    @property
    def name(self) -> str: ...


P = TypeVar("P", bound=Part)


class Parts(Mapping[str, P], Generic[P]):
    """All parts of a kind by name: the usual one first, then surtitle's own by module, then others.

    A part is a value in a module of ``package``, or the object of an entry point of ``group``. These modules
    are imported with the settings, so they import the dependencies of a part only when it runs.
    """

    def __init__(self, kind: type[P], *, what: str, package: str, group: str, usual: str = "") -> None:
        self._kind, self._what, self._package, self._group = kind, what, package, group
        self._usual = usual

    @override
    def __getitem__(self, name: str) -> P:
        """A part by its name, or by ``MODULE:NAME`` if it is not registered; raises `UsageError`."""
        return self._loaded(EntryPoint(name, name, self._group)) if ":" in name else self._known[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    @override
    def __len__(self) -> int:
        return len(self._known)

    @cached_property
    def _known(self) -> dict[str, P]:
        found: dict[str, P] = {}
        for part in (*self._own(), *map(self._loaded, _installed().select(group=self._group))):
            if found.setdefault(part.name, part) is not part:
                raise UsageError(f"two packages provide {self._what} {part.name}; remove one of them")
        return dict(sorted(found.items(), key=lambda one: one[0] != self._usual))

    def _own(self) -> Iterator[P]:
        folders = import_module(self._package).__path__
        for module in pkgutil.iter_modules(folders, f"{self._package}."):
            found = vars(import_module(module.name)).values()
            yield from (one for one in found if isinstance(one, self._kind))

    def _loaded(self, where: EntryPoint) -> P:
        try:
            part = where.load()
        except Exception as error:
            raise UsageError(
                f"{self._what}, {where.value}, cannot be loaded: {error}; correct or remove it"
            ) from error
        if not isinstance(part, self._kind):
            raise UsageError(f"{where.value} is not {self._what}; see docs/architecture.md")
        return part
