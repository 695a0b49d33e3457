"""Every regular expression of the product, on text that somebody wrote to stop it."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from time import thread_time
from types import ModuleType
from typing import Any

import pytest
import regex

import connectors
import flows
import operators

# What is repeated five thousand times. A search that starts again at each place of such a run takes 50 ms and
# more, and minutes for a hundred thousand; one that goes through it once takes less than one.
_TIMES, _MOST_S = 5000, 0.04
_UNITS = (
    *".!?,;:'’\"-–/_([{<>1aAé世ア。 \t\u0301\u200d🇩", "a.", "a-", "a'", "a ", "1.", "1,", "1 ", "A.",
    ". ", ".'", "'s", "'s.", "/a", ">>", "<|", "。」", "twelve ",
)  # fmt: skip
_AROUND = (("", ""), ("", "x"), ("x", "x"), ("1", " x"), ("x", "!"))
# Their callers see to it: they get twelve characters at most, no flag, and a thousand characters at most.
_SAFE = {
    "operators.decoding.adjustment._REPEATED", "operators.text._BOUNDARY", "connectors.scoring._INTERPRETER",
}  # fmt: skip
_PATTERNS = re.Pattern, type(regex.compile(""))


def _modules() -> Iterator[ModuleType]:
    for package in (operators, connectors, flows):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith("__main__"):
                continue
            try:
                # By import_module: a package may give one of its modules' names to a function.
                yield importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                if str(error.name).startswith(("operators", "connectors", "flows")):
                    raise
                # It needs an extra.


def _used() -> Iterator[tuple[str, Any]]:
    """Each compiled pattern of a module with each way in which the module uses it."""
    for module in _modules():
        source = Path(str(module.__file__)).read_text()
        for name, value in vars(module).items():
            if isinstance(value, _PATTERNS):
                for way in sorted(set(re.findall(rf"\b{name}\.(\w+)\(", source))):
                    yield f"{module.__name__}.{name}.{way}", value


_USED = dict(_used())


def _run(pattern: Any, way: str, text: str) -> float:
    given = text.encode() if isinstance(pattern.pattern, bytes) else text
    began = thread_time()
    if way in ("sub", "subn"):
        pattern.sub("", given)
    else:
        found = getattr(pattern, way)(given)
        for _each in found if way == "finditer" else ():
            pass
    return thread_time() - began


@pytest.mark.parametrize("use", [use for use in _USED if use.rpartition(".")[0] not in _SAFE])
def test_a_pattern_takes_time_in_proportion_to_the_text(use: str) -> None:
    pattern, way = _USED[use], use.rpartition(".")[2]
    for unit in _UNITS:
        for before, after in _AROUND:
            # Of three times the best: a collection of garbage is not the pattern's.
            once = min(_run(pattern, way, before + unit * _TIMES + after) for _ in range(3))
            if once > _MOST_S:
                # A slow machine: four times the text may take four times as long, not sixteen times.
                longer = min(_run(pattern, way, before + unit * 4 * _TIMES + after) for _ in range(3))
                assert longer < 8 * once, (unit, before, after)
