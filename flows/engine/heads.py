"""Reads the proposal heads of the settings, and checks that they were trained for the model."""

from pathlib import Path

from connectors.models.heads import read_heads
from flows.settings.schema import TranslateSettings
from operators.errors import UsageError
from operators.research.heads import Heads

METHOD = "heads"


def check_heads(settings: TranslateSettings) -> None:
    """Raise `UsageError` if the method needs heads and has none, or if another method is given heads."""
    if settings.method == METHOD and settings.heads is None:
        raise UsageError(
            "the method heads needs the proposal heads of the model; name their file with --heads, "
            "or make one with 'surtitle model heads'"
        )
    if settings.method != METHOD and settings.heads is not None:
        raise UsageError(
            f"proposal heads are for the method heads alone; leave them out, or choose --method heads "
            f"instead of {settings.method}"
        )


def open_heads(settings: TranslateSettings, model: Path) -> Heads | None:
    """Open the settings' heads for the model in that file; None if there are none. Raises `InputError`."""
    return None if settings.heads is None else read_heads(Path(settings.heads).expanduser(), model)
