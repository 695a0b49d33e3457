"""Opens the dictionaries that settings name."""

from collections.abc import Callable
from pathlib import Path

from connectors.models.captions_folder import captions_lexicon
from connectors.terminology import read_dictionary
from flows.engine.choice import chosen_model
from flows.settings.translate import TranslateSettings
from operators.glossary import Dictionary, Lexicon
from operators.languages import Direction, language
from operators.notifications import Progress, silent

#: Opens the lexicon in a file, for a direction; None for the one that comes with the captions model.
OpenLexicon = Callable[[Path | None, Direction], Lexicon | None]


def open_lexicon(path: Path | None, direction: Direction, progress: Progress = silent) -> Lexicon | None:
    """The lexicon in a file; without one, that which comes with the captions model, None if there is none.

    Raises:
        InputError: for a file that is no dictionary.
    """
    if path is None:
        return captions_lexicon(direction)
    progress("reading the dictionary", None)
    return read_dictionary(path)


def open_dictionary(settings: TranslateSettings, opened: OpenLexicon) -> Dictionary | None:
    """The dictionary that ``settings`` name; None if there is none for them."""
    direction = settings.direction
    words = settings.words
    is_file = words not in ("auto", "none")
    if words == "none" or not (is_file or chosen_model(settings, direction) == "captions"):
        return None
    own = opened(Path(words).expanduser(), direction) if is_file else None
    shipped = opened(None, direction)
    # What is known with its probability is better (docs/tried.md).
    lexicons = [one for one in (shipped, own) if one is not None]
    if not lexicons:
        return None
    # Without a lexicon of common words each first word of a title would be a name.
    copies = shipped is not None and {*language(settings.source).scripts} <= {
        *language(settings.target).scripts
    }
    return Dictionary(lexicons, copies_names=copies)
