"""What says where sentences end when the rules do not know (`operators.sentences.seam`): a language model."""

from connectors.models.resolve import resolve_model
from flows.engine.translation import Engine
from operators.errors import OutputError
from operators.languages import Direction
from operators.models.continuations import Continuations, open_continuations
from operators.models.llama_model import LlamaModel
from operators.notifications import Progress, silent

# Names of the base model, but for the directions where "default" is one for captions.
_OWN = ("default", "base")


def open_judge(
    engine: Engine, name: str, direction: Direction, progress: Progress = silent
) -> Continuations | None:
    """What judges sentences in the direction's spoken language, in a cache of its own.

    It is the model that translates, if that is one for captions or the base model: they are small and know
    whole sentences. Otherwise surtitle's own model is loaded as well, because a large one might take seconds,
    one with an encoder knows only translations, and one with recurrent memory holds no tree.

    Args:
        engine: What translates.
        name: The model as the settings name it.

    Returns:
        None if there is none: rules alone then say where sentences end.

    Raises:
        InputError: there is no memory for the cache.
    """
    model = engine.model if engine.prompt.knows_unfinished or name in _OWN else None
    if not isinstance(model, LlamaModel) or model.is_recurrent:
        try:
            path = resolve_model("default", direction, progress=progress)
        except OutputError:
            # The cache folder is full or cannot be written. Captions do not depend on it.
            return None
        model = LlamaModel(path, lambda fraction: progress("loading the judge of sentences", fraction))
    return open_continuations(model, engine.context.threads)
