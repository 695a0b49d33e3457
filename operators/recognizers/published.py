"""Models that the settings name: the language of one whose files do not tell it, by its published name."""

import re
from pathlib import Path

from operators.errors import UsageError
from operators.languages import Language, is_language, language
from operators.recognizers.part import RecognizerSettings

# Moonshine's are called ``tiny-ko`` or ``moonshine-tiny-ko``, Vosk's ``vosk-model-small-de-0.15``.
_NAME = re.compile(r"(?:^|[-_])(?:tiny|base|vosk-model(?:-small|-big)?)-([a-z]{2})(?:[-_]|$)", re.IGNORECASE)
# Vosk names these by their countries.
_COUNTRIES = {"cn": "zh", "vn": "vi"}


def published_language(folder: Path) -> Language | None:
    """The language that the name of a model's folder tells; None if it tells none that surtitle knows."""
    name = _NAME.search(folder.name)
    if name is None:
        return None
    code = _COUNTRIES.get(name[1].lower(), name[1].lower())
    return language(code) if is_language(code) else None


def named_model(settings: RecognizerSettings) -> Path:
    """The folder of the model. Raises `UsageError` if the settings name none."""
    if settings.model is None:
        raise UsageError(
            f"{settings.engine} comes without a model: name the folder of one with --speech-model"
        )
    return Path(settings.model)


def check_published(settings: RecognizerSettings, spoken: Language, _is_live: bool) -> None:
    """Raise `UsageError` if no model is named, or one of another language by its name."""
    folder = named_model(settings)
    named = published_language(folder)
    if named is not None and named != spoken:
        raise UsageError(
            f"{folder}: by its name, this model recognises {named.name}, and {spoken.name} is to be spoken; "
            "name another one with --speech-model, or the language with --from"
        )
