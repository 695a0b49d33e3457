"""The terms of models that are not for every use, told when such a model is first opened."""

from collections.abc import Callable
from pathlib import Path

from connectors.models.terms import tell_limit
from operators.models.terms import licence_limit


def tell_terms(metadata: Callable[[str], str | None], path: Path) -> None:
    """Tell the user the terms of a language model: the values of its header, and its file."""
    limit = licence_limit(metadata, path.name)
    if limit is not None:
        tell_limit(metadata("general.name") or path.stem, limit)
