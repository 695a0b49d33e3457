"""Jacobi decoding and its two variants with blocks (Santilli et al. 2023)."""

from flows.settings.methods import Proposing, method
from operators.decoding.drafts import Drafter

#: Number of tokens of a Gauss-Seidel block.
BLOCK = 8


@method("jacobi")
def jacobi(asked: Proposing) -> list[Drafter]:
    """All of the output at once."""
    return _jacobi(asked, None)


@method("gs-jacobi")
def gauss_seidel(asked: Proposing) -> list[Drafter]:
    """One block after the other."""
    return _jacobi(asked, asked.settings.block or BLOCK)


@method("hybrid-jacobi")
def hybrid(asked: Proposing) -> list[Drafter]:
    """Blocks while there is a last output to start from."""
    return _jacobi(asked, asked.settings.block or BLOCK, hybrid=True)


def _jacobi(asked: Proposing, block: int | None, *, hybrid: bool = False) -> list[Drafter]:
    from operators.research.jacobi import Jacobi

    return [Jacobi(asked.task, block, asked.acceptance, hybrid=hybrid)]
