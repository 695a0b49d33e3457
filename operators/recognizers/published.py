"""The language of a speech model whose files do not tell it, by the name under which it is published."""

import re
from pathlib import Path

from operators.languages import Language, is_language, language

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
