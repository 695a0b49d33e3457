"""The terms of models that are not for every use, told when such a model is first opened."""

from collections.abc import Callable
from pathlib import Path

from connectors.models.terms import tell_non_commercial
from operators.models.terms import non_commercial_licence


def tell_terms(metadata: Callable[[str], str | None], path: Path) -> None:
    """Tell the user the terms of a language model: the values of its header, and its file."""
    licence = non_commercial_licence(metadata, path.name)
    if licence is not None:
        tell_non_commercial(metadata("general.name") or path.stem, licence)
