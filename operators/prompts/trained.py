"""The prompts that a model was trained on, stored in its own file: two labels for each direction.

A model trained to translate is prompted exactly as in training: a single example pair, of which training had
none, ruins its answers (docs/training.md).
"""

from typing import NamedTuple, Protocol

import msgspec

from operators.errors import InputError, UsageError
from operators.languages import language
from operators.prompts.template import FewShotTemplate

#: The header's entry: a JSON list.
TEMPLATES_KEY = "surtitle.templates"


class TrainedPrompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The prompt for one direction: ``SOURCE_LABEL text``, on the next line ``TARGET_LABEL``.

    Behind unfinished text it is ``UNFINISHED_LABEL``, if the model was trained to be told.
    """

    source_language: str
    language: str
    source_label: str
    target_label: str
    unfinished_label: str = ""


class TrainedPrompts(NamedTuple):
    """All directions that a model was trained on."""

    prompts: tuple[TrainedPrompt, ...]

    def find(self, source: str, target: str) -> FewShotTemplate:
        """The prompt for one direction. Raises `UsageError` for one that the model was not trained on."""
        wanted = language(source).name, language(target).name
        for one in self.prompts:
            if (language(one.source_language).name, language(one.language).name) == wanted:
                return FewShotTemplate(**msgspec.structs.asdict(one), pairs=())
        known = ", ".join(f"{one.source_language} to {one.language}" for one in self.prompts)
        raise UsageError(
            f"this model was not trained for {wanted[0]} to {wanted[1]}, but for {known}; "
            "choose another model with --model, such as base"
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
        prompts = msgspec.json.decode(said, type=tuple[TrainedPrompt, ...])
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


def labels_of(source: str, target: str) -> TrainedPrompt:
    """The labels of our own examples for a direction, which training uses too.

    Raises `UsageError` for a direction without examples.
    """
    from operators.prompts.template import find_examples

    examples = find_examples(source, target)
    return TrainedPrompt(
        examples.source_language, examples.language, examples.source_label, examples.target_label
    )


def telling_unfinished(labels: TrainedPrompt) -> TrainedPrompt:
    """The same labels, and one for unfinished text.

    Without it a model takes a final that does not look finished for a prefix, and withholds its end. One
    token, as it is evaluated at each update.
    """
    return msgspec.structs.replace(labels, unfinished_label="…")
