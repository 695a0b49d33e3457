"""The terms of models that are not for every use, told when such a model is first opened."""

from collections.abc import Callable
from pathlib import Path

from connectors.models.terms import tell_non_commercial
from operators.languages import Language
from operators.models.terms import non_commercial_licence

# The languages of Moonshine's models under the Moonshine Community License. The English ones are MIT, and so
# are those that stream, which surtitle refuses.
_COMMUNITY = ("ar", "zh", "ja", "ko", "es", "uk", "vi")


def tell_terms(metadata: Callable[[str], str | None], path: Path) -> None:
    """Tell the user the terms of a language model: the values of its header, and its file."""
    licence = non_commercial_licence(metadata, path.name)
    if licence is not None:
        tell_non_commercial(metadata("general.name") or path.stem, licence)


def tell_moonshine_terms(spoken: Language) -> None:
    """Tell the user the terms of a Moonshine model for a language."""
    if spoken.code in _COMMUNITY:
        model, licence = f"Moonshine's model for {spoken.name}", "Moonshine Community License"
        tell_non_commercial(model, f"{licence}, www.moonshine.ai/license")
