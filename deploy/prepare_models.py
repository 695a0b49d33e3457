"""Puts the models of the given directions into the cache: ``python deploy/prepare_models.py en-de en-es``."""

import sys

from connectors.models.resolve import resolve_model
from operators.languages import Direction


def main(directions: list[str]) -> None:
    """Prepare the base model and the model for captions of each direction. Raises `SurtitleError`."""
    resolve_model("base")
    for code in directions:
        source, _, target = code.partition("-")
        resolve_model("default", Direction.of(source, target))


if __name__ == "__main__":
    main(sys.argv[1:])
