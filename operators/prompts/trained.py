"""The prompts that a model was trained on, stored in its own file: two labels for each direction.

A model trained to translate is prompted exactly as in training: a single example pair, of which training had
none, ruins its answers (docs/training.md).
"""

from typing import NamedTuple, Protocol

import msgspec

from operators.errors import InputError, UsageError
from operators.languages import language
from operators.prompts.template import FewShotTemplate, directions, find_examples, of_direction

#: The header's entry: a JSON list.
TEMPLATES_KEY = "surtitle.templates"


class TrainedPrompts(NamedTuple):
    """All directions that a model was trained on, as templates that have labels and no examples.

    A prompt is ``SOURCE_LABEL text``, on the next line ``TARGET_LABEL``. Behind unfinished text it is
    ``UNFINISHED_LABEL``, if the model was trained to be told.
    """

    prompts: tuple[FewShotTemplate, ...]

    def find(self, source: str, target: str) -> FewShotTemplate:
        """The prompt for one direction. Raises `UsageError` for one that the model was not trained on."""
        found = of_direction(self.prompts, source, target)
        if found is not None:
            return found
        raise UsageError(
            f"this model was not trained for {language(source).name} to {language(target).name}, but for "
            f"{directions(self.prompts)}; choose another model with --model, such as base"
        )


class Header(Protocol):
    """A model file's header."""

    def metadata(self, key: str) -> str | None:
        """A value of it."""
        ...


def trained_prompts(model: Header) -> TrainedPrompts | None:
    """What the model's file says about its training; None if it says nothing. Raises `InputError`."""
    said = model.metadata(TEMPLATES_KEY)
    return None if said is None else parse_prompts(said)


def parse_prompts(said: str) -> TrainedPrompts:
    """The prompts in the JSON list ``said``. Raises `InputError` if it is something else."""
    try:
        prompts = msgspec.json.decode(said, type=tuple[FewShotTemplate, ...])
        for one in prompts:
            language(one.source_language), language(one.language)
    except (msgspec.DecodeError, UsageError) as error:
        raise InputError(
            f"the model's header has no valid prompt in {TEMPLATES_KEY}: {error}; assemble it again"
        ) from None
    if not prompts:
        raise InputError(f"the model's header names no direction in {TEMPLATES_KEY}; assemble it again")
    return TrainedPrompts(prompts)


def spell_prompts(prompts: TrainedPrompts) -> str:
    """The JSON list for the header."""
    return msgspec.json.encode(prompts.prompts).decode()


def labels_of(source: str, target: str) -> FewShotTemplate:
    """The labels of our own examples for a direction, which training uses too.

    Raises `UsageError` for a direction without examples.
    """
    return msgspec.structs.replace(find_examples(source, target), pairs=(), head="")


def telling_unfinished(labels: FewShotTemplate) -> FewShotTemplate:
    """The same labels, and one for unfinished text.

    Without it a model takes a final that does not look finished for a prefix, and withholds its end. One
    token, as it is evaluated at each update.
    """
    return msgspec.structs.replace(labels, unfinished_label="…")
