"""Which model a run takes for a direction, where its settings leave that open."""

from collections.abc import Sequence

from connectors.models.firefox import FIREFOX
from connectors.models.resolve import default_model, fetch_default, firefox_model, language_model
from flows.settings.translate import TranslateSettings
from operators.languages import Direction
from operators.notifications import Progress


def fetch_chosen(settings: TranslateSettings, directions: Sequence[Direction], progress: Progress) -> None:
    """Download what ``default`` should be for these directions; if that fails, say what it is instead."""
    if settings.model == "default" and not settings.needs_language_model:
        for one in filter(lambda one: one.translates, directions):
            fetch_default(one, progress, registry=settings.registry, offline=settings.offline)


def chosen_model(settings: TranslateSettings, direction: Direction) -> str:
    """The name of the model; never ``default``."""
    if settings.model == FIREFOX:
        return firefox_model(direction)
    if settings.model != "default" or settings.needs_language_model:
        return language_model(settings.model, direction)
    return default_model(direction)
