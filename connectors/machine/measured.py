"""Stores the measured cost of model passes on this machine in the user's cache folder.

Best effort: measurements that cannot be read or written are repeated.
"""

import hashlib
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec.structs import replace
from platformdirs import user_cache_path

from connectors.files.atomic import write_note
from connectors.files.contents import DAMAGED
from connectors.machine.resources import cpu_name, others_s, usable_cores
from operators.decoding.pass_cost import PassCosts

#: Seconds after which a measurement is retried that failed because the machine was too busy.
_RETRY_AFTER_S = 3600.0
#: The machine is too busy if other programs take more than this share of the cores.
_MAX_OTHERS = 0.1
_HEADER_BYTES = 2**20


def measured_costs(model: Path, threads: int) -> PassCosts | None:
    """The costs measured at an earlier start; None if there are none or they are outdated."""
    path = _path(model, threads)
    try:
        measured = msgspec.json.decode(path.read_bytes(), type=PassCosts)
        age_s = time.time() - path.stat().st_mtime
    except (OSError, *DAMAGED):
        return None
    return measured if measured.is_steady or age_s < _RETRY_AFTER_S else None


def recalled_costs(model: Path, threads: int, measure: Callable[[], PassCosts]) -> PassCosts:
    """The costs measured at an earlier start; if there are none, measure and store them now.

    Costs that were measured while other programs used the cores are used now and measured again later.
    """
    measured = measured_costs(model, threads)
    if measured is None:
        began, others_began = time.monotonic(), others_s()
        measured = measure()
        available_s = (time.monotonic() - began) * usable_cores()
        if others_s() - others_began > _MAX_OTHERS * available_s:
            measured = replace(measured, is_steady=False)
        write_note(_path(model, threads), msgspec.json.encode(measured))
    return measured


def _path(model: Path, threads: int) -> Path:
    """The file for this model, on this processor, with this version of llama.cpp.

    A model is identified by its size and its first megabyte, which contains its header: hashing the whole
    file would take longer than measuring.
    """
    with model.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    computes = "llama-cpp-python" if model.suffix == ".gguf" else "onnxruntime"
    parts = [str(model.stat().st_size), cpu_name(), version(computes), str(threads)]
    key = hashlib.sha256("\0".join(parts).encode() + header).hexdigest()[:24]
    return user_cache_path("surtitle") / "costs" / f"{key}.json"
