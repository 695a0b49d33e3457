"""Puts the base model and all models for captions into the cache: ``python deploy/prepare_models.py``."""

from connectors.models.catalog import captions_directions
from connectors.models.resolve import resolve_model


def main() -> None:
    """Prepare the models. Raises `SurtitleError`."""
    resolve_model("base")
    for direction in captions_directions():
        resolve_model("captions", direction)


if __name__ == "__main__":
    main()
