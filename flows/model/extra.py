"""The packages of ``surtitle[train]``, which are not there unless somebody asked for them."""

from collections.abc import Iterator
from contextlib import contextmanager

from operators.errors import UsageError


@contextmanager
def extra_packages() -> Iterator[None]:
    """Say which package is missing, and how to install it, where an import within fails for that."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("peft", "torch", "transformers"):
            raise
        raise UsageError(
            f"training needs the package {error.name}; install it with: pip install 'surtitle[train]'"
        ) from None
