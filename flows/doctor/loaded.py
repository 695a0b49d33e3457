"""Loads a language model to see what it is."""

from contextlib import closing

from connectors.models.captions_folder import captions_folder, directions
from connectors.models.hub import HUB_PREFIX, is_fetched
from connectors.models.resolve import resolve_model
from flows.doctor.model import ModelFacts
from flows.settings.schema import TranslateSettings
from operators.errors import SurtitleError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.prompts.select import select_prompt


def load(settings: TranslateSettings) -> ModelFacts:
    """Load the model that the settings name, and choose its prompt."""
    try:
        if settings.model.startswith(HUB_PREFIX) and not is_fetched(settings.model):
            return ModelFacts(name=settings.model, is_absent=True)
        direction = settings.direction
        path = resolve_model(settings.model, direction)
        model = LlamaModel(path, lambda _fraction: None)
        prompt = select_prompt(model, "auto", settings.source, settings.target)
        with closing(LlamaContext(model, ContextSettings(cells=256, sequences=1, threads=1))) as context:
            can_keep = not model.is_recurrent and context.can_shift
    except SurtitleError as error:
        return ModelFacts(error=str(error))
    return ModelFacts(
        path=str(path),
        name=model.metadata("general.name") or path.stem,
        architecture=model.metadata("general.architecture") or "",
        mb=path.stat().st_size / 1e6,
        is_for_captions=prompt.knows_unfinished,
        can_keep=can_keep,
        direction=str(direction),
        captioned=tuple(map(str, directions(captions_folder()))),
    )
