"""Stores measurements of a model on this machine in the user's cache folder.

Best effort: measurements that cannot be read or written are repeated.
"""

import hashlib
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace
from platformdirs import user_cache_path

from connectors.files.atomic import write_note
from connectors.files.contents import DAMAGED
from connectors.machine.resources import cpu_name, others_s, usable_cores
from operators.decoding.pass_cost import PassCosts
from operators.models.pass_times import KeepCosts, RowStep
from operators.models.tuning import MAX_OTHERS, Tuning

Measured = TypeVar("Measured", Tuning, RowStep, KeepCosts, PassCosts)

#: Seconds after which a measurement is retried that failed because the machine was too busy.
_RETRY_AFTER_S = 3600.0
_HEADER_BYTES = 2**20


def tuning_key(model: Path) -> str:
    """A key for this model, on this processor, with this version of llama.cpp.

    A model is identified by its size and its first megabyte, which contains its header: hashing the whole
    file would take longer than measuring.
    """
    with model.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    parts = [str(model.stat().st_size), cpu_name(), version("llama-cpp-python")]
    return hashlib.sha256("\0".join(parts).encode() + header).hexdigest()[:24]


def recalled(key: str, kind: type[Measured], measure: Callable[[], Measured]) -> Measured:
    """The measurement stored under ``key``; if there is none, measure now and store it for the next start.

    What was measured while other programs had the cores holds for now and is measured again later, however
    evenly they slowed it down.
    """
    measured = remembered(key, kind)
    if measured is None:
        began, others_began = time.monotonic(), others_s()
        measured = measure()
        available_s = (time.monotonic() - began) * usable_cores()
        if others_s() - others_began > MAX_OTHERS * available_s:
            measured = replace(measured, is_steady=False)
        remember(key, measured)
    return measured


def remembered(key: str, kind: type[Measured]) -> Measured | None:
    """The measurement stored under ``key``; None if there is none or it is outdated."""
    path = _path(key)
    try:
        measured = msgspec.json.decode(path.read_bytes(), type=kind)
        age_s = time.time() - path.stat().st_mtime
    except (OSError, *DAMAGED):
        return None
    return measured if measured.is_steady or age_s < _RETRY_AFTER_S else None


def remember(key: str, measured: Tuning | RowStep | KeepCosts | PassCosts) -> None:
    """Store ``measured`` for the next start."""
    write_note(_path(key), msgspec.json.encode(measured))


def _path(key: str) -> Path:
    return user_cache_path("surtitle") / "tuning" / f"{key}.json"
