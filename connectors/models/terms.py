"""Tells the user once what a model is not licensed for; a note in the cache folder remembers it."""

import hashlib
import logging
from pathlib import Path

from platformdirs import user_cache_path

from connectors.messages import NOTICE, tell
from operators.models.terms import Limit
from operators.text import cleaned

_log = logging.getLogger(__name__)

# Names and licences come from the file.
_MAX_CHARACTERS = 100


def tell_limit(model: str, limit: Limit) -> None:
    """Tell what a model, called ``model``, is not licensed for, unless an earlier run told it."""
    model, licence = cleaned(model)[:_MAX_CHARACTERS], cleaned(limit.licence)[:_MAX_CHARACTERS]
    # A program that shows no messages has told nobody.
    if _log.isEnabledFor(NOTICE) and _is_news(f"{model}\n{licence}"):
        tell(
            "model_terms",
            f"{model} {limit.what} ({licence}); read its terms before any other use, or choose "
            "another model (this is said only once)",
            model=model, licence=licence,
        )  # fmt: skip


def _is_news(what: str) -> bool:
    note = _notes() / hashlib.sha256(what.encode()).hexdigest()[:24]
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch(exist_ok=False)
    except OSError:
        # Without a cache it is said at each start.
        return not note.is_file()
    return True


def _notes() -> Path:
    return user_cache_path("surtitle") / "terms"
