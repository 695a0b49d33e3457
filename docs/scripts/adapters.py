"""Mixes adapters, or makes one smaller: how the German adapter was made from two others.

python docs/scripts/adapters.py mean OUTPUT.gguf FIRST.gguf SECOND.gguf --share 0.5
python docs/scripts/adapters.py reduce OUTPUT.gguf ADAPTER.gguf --rank 64 --unrounded

``mean`` adds the changes that two adapters make to the weights, the second by its share: the adapters side by
side, so the rank is the sum of theirs. ``reduce`` keeps the part of each change that is largest, by its
singular values (Eckart and Young 1936), in 8 bits, and says which part of its energy is lost.
``--unrounded`` drops the types of weights that it was trained for, since a mean with an adapter that was not
trained for them loses 3 chrF when it is rounded to 4 bits.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray

from operators.models.tensor_types import TYPES_KEY

Matrix = NDArray[np.float32]
#: The two matrices of a change of weights: rank by input, and output by rank.
Change = tuple[Matrix, Matrix]
_ALPHA = "adapter.lora.alpha"


class Adapter:
    """An adapter read from a file, its scale part of the second matrices."""

    def __init__(self, path: Path) -> None:
        self.header = GGUFReader(path)
        tensors = {one.name: dequantize(one.data, one.tensor_type) for one in self.header.tensors}
        alpha = float(self.header.fields[_ALPHA].contents())
        self.changes: dict[str, Change] = {}
        for name in (one.removesuffix(".lora_a") for one in tensors if one.endswith(".lora_a")):
            first, second = tensors[f"{name}.lora_a"], tensors[f"{name}.lora_b"]
            self.changes[name] = first, second * np.float32(alpha / len(first))


def mean(first: Adapter, second: Adapter, share: float) -> Iterator[tuple[str, Change]]:
    """The changes of both, weighted."""
    for name, (a, b) in first.changes.items():
        other_a, other_b = second.changes[name]
        yield name, (np.concatenate([a, other_a]), np.concatenate([(1 - share) * b, share * other_b], axis=1))


def reduce(adapter: Adapter, rank: int) -> Iterator[tuple[str, Change]]:
    """The changes with a smaller rank."""
    for name, (a, b) in adapter.changes.items():
        # The product itself is never computed: its rank is that of the small matrix in the middle.
        left, r_left = np.linalg.qr(b)
        right, r_right = np.linalg.qr(a.T)
        u, values, v = np.linalg.svd(r_left @ r_right.T)
        lost = 1 - (values[:rank] ** 2).sum() / (values**2).sum()
        print(f"{name}: {100 * lost:.3f} % of the energy is lost")
        root = np.sqrt(values[:rank])
        yield name, (root[:, None] * (v[:rank] @ right.T), (left @ u[:, :rank]) * root)


def write(
    path: Path,
    like: Adapter,
    changes: dict[str, Change],
    without: Sequence[str],
) -> None:
    """Write an adapter with the header of another one, but for some entries; its scale is 1."""
    writer = GGUFWriter(path, like.header.fields["general.architecture"].contents())
    for key, field in like.header.fields.items():
        if key.startswith("GGUF.") or key in ("general.architecture", _ALPHA, *without):
            continue
        kind, value = field.types[0], field.contents()
        if kind == GGUFValueType.ARRAY:
            writer.add_array(key, value)
        else:
            writer.add_key_value(key, value, kind)
    writer.add_float32(_ALPHA, float(len(next(iter(changes.values()))[0])))
    kind = GGMLQuantizationType.Q8_0
    for name, pair in changes.items():
        for part, matrix in zip(("lora_a", "lora_b"), pair, strict=True):
            packed = quantize(np.ascontiguousarray(matrix, np.float32), kind)
            writer.add_tensor(f"{name}.{part}", packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Make what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("mean", "reduce"))
    parser.add_argument("output", type=Path)
    parser.add_argument("adapters", type=Path, nargs="+")
    parser.add_argument("--share", type=float, default=0.5, help="of the second, from 0 to 1")
    parser.add_argument("--rank", type=int, default=64, help="a multiple of 32")
    parser.add_argument("--unrounded", action="store_true", help="it is for weights in 8 bits")
    options = parser.parse_args()
    adapters = [Adapter(path) for path in options.adapters]
    if options.what == "mean":
        first, second = adapters
        changes = dict(mean(first, second, options.share))
    else:
        changes = dict(reduce(adapters[0], options.rank))
    # What an adapter was trained last for stands in the header of the last one.
    write(options.output, adapters[-1], changes, (TYPES_KEY,) * options.unrounded)


if __name__ == "__main__":
    main()
