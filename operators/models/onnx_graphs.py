"""Models in ONNX Runtime: their graphs, including merged decoders, and their descriptions in JSON."""

import ctypes
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError, unreadable
from operators.model_errors import ErrorKind, ModelError

T = TypeVar("T")
#: Keys and values by the names of a decoder's inputs; each has shape (1, heads, tokens, head width).
KeyValues = Mapping[str, NDArray[Any]]
_PAST, _PRESENT = "past_key_values.", "present."


def read_json(path: Path, kind: type[T], what: str) -> T:
    """The content of a JSON file. Raises `InputError` if it cannot be read, or is not valid as ``what``."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: this is not {what}: {error}; fetch it again") from error


class Built(NamedTuple):
    """A graph and its weights, separate to save copying them into the file format and back."""

    model: bytes
    #: By the names of the graph's tensors.
    weights: Mapping[str, NDArray[Any]]


def own_thread() -> Executor:
    """A thread for graphs that take turns, because concurrent graphs would compete for the cores.

    No graph computes in the caller's thread: a llama.cpp that was compiled for AMX returns nonsense there
    after ONNX Runtime multiplied in 8 bits on AMX.
    """
    return ThreadPoolExecutor(1, "onnx")


class OnnxGraph:
    """A graph in ONNX Runtime whose threads do not spin while they wait."""

    def __init__(
        self,
        source: Path,
        threads: int,
        executor: Executor,
        graph: Built | None = None,
        *,
        keeps_memory: bool = True,
    ) -> None:
        """Open ``source``, or ``graph`` that was made of it; raises `InputError` if that fails.

        ``executor`` is its `own_thread`, from which it computes on ``threads`` threads. Without
        ``keeps_memory`` a pass frees its memory; if the sizes of tensors change with each pass, kept memory
        only grows.
        """
        import onnxruntime  # takes a moment, and most models need none

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = options.enable_mem_pattern = keeps_memory
        # Threads that spin while they wait take cores from other models.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4
        model: bytes | str = str(source)
        if graph is not None:
            model = graph.model
            wrap = onnxruntime.OrtValue.ortvalue_from_numpy
            options.add_external_initializers(
                list(graph.weights), [wrap(one) for one in graph.weights.values()]
            )
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library's classes share no other base
            raise InputError(
                f"{source}: the model cannot be loaded: {error}; fetch it again, or choose another"
            ) from error
        _return_memory()
        self._executor = executor
        #: The shapes of its inputs and outputs, by name.
        self.inputs = {one.name: one.shape for one in self._session.get_inputs()}
        self.outputs = {one.name: one.shape for one in self._session.get_outputs()}

    def run(self, fed: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, Any]:
        """The outputs ``names``, or all, for the inputs among ``fed``. Raises `ModelError` on failure.

        Inputs are all arrays, or all ONNX Runtime's own tensors; outputs are of the same kind.
        """
        given, made = {name: fed[name] for name in self.inputs}, list(names) or list(self.outputs)
        is_array = all(isinstance(one, np.ndarray) for one in given.values())
        run = self._session.run if is_array else self._session.run_with_ort_values
        try:
            return dict(zip(made, self._executor.submit(run, made, given).result(), strict=True))
        except Exception as error:  # the library's classes share no other base
            raise ModelError(ErrorKind.FAILED_PASS, f"ONNX Runtime failed: {error}") from error


def _return_memory() -> None:
    """Return the memory that loading a graph took to the system; glibc would keep it."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


class MergedDecoder(OnnxGraph):
    """A decoder with two branches, as Optimum exports it.

    One takes the encoder's states and any number of tokens, and also computes the keys and values of
    cross-attention. The other takes these, and tokens after the held ones.
    """

    def __init__(self, source: Path, threads: int, executor: Executor, *, keeps_memory: bool = True) -> None:
        """Open ``source``; raises `InputError` if it is not a merged decoder."""
        super().__init__(source, threads, executor, keeps_memory=keeps_memory)
        past = [name for name in self.inputs if name.startswith(_PAST)]
        if not past or "use_cache_branch" not in self.inputs:
            raise InputError(
                f"{source}: this is not a merged decoder; fetch the merged export of a non-streaming model"
            )
        shape = self.inputs[past[0]]
        #: Keys or values of no tokens.
        self.empty = np.zeros((1, int(shape[1]), 0, int(shape[3])), np.float32)
        #: The inputs for keys and values of its own tokens, and for those of the encoder's states.
        self.own = [name for name in past if ".encoder." not in name]
        self.cross = [name for name in past if ".encoder." in name]

    def step(self, fed: KeyValues, wanted: Iterable[str], *, is_first: bool) -> tuple[Logits, dict[str, Any]]:
        """A pass: logits (tokens, vocabulary) and the ``wanted`` keys and values. Raises `ModelError`."""
        names = {name: _PRESENT + name.removeprefix(_PAST) for name in wanted}
        made = self.run({**fed, "use_cache_branch": np.array([not is_first])}, ("logits", *names.values()))
        return made["logits"][0], {name: made[present] for name, present in names.items()}
