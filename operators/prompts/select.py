"""Chooses the prompt for a model: by name, by a user's own template, or by what its GGUF file says."""

import re
from pathlib import Path
from typing import Protocol

from operators.errors import UsageError
from operators.languages import language
from operators.prompts.chat import ChatVocabulary, chat_prompt, missing_controls, turn_prompt
from operators.prompts.prompt import Prompt
from operators.prompts.template import (
    ChatTemplate,
    FewShotTemplate,
    Template,
    TurnTemplate,
    few_shot_prompt,
    find_examples,
    named_templates,
    trained_prompts,
)


class Model(ChatVocabulary, Protocol):
    """What choosing needs from a model."""

    def metadata(self, key: str) -> str | None:
        """A value of the GGUF's header."""
        ...

    @property
    def path(self) -> Path:
        """The file."""
        ...


def select_prompt(model: Model, chosen: str | Template, source: str, target: str) -> Prompt:
    """The prompt for translating from ``source`` to ``target``.

    Raises:
        UsageError: the template or a language is not for this model.
        InputError: the model's own chat template cannot be used.
    """
    name = chosen if isinstance(chosen, str) else "of your own"
    if name != "auto" and trained_prompts(model):
        raise UsageError(
            f"the template {name} is not for this model, which was trained with prompts of its own: "
            "leave out translate.template, or choose --model base"
        )
    template = _ours(model, chosen, source, target) if isinstance(chosen, str) else chosen
    if isinstance(template, FewShotTemplate):
        _check_direction(template, source, target)
        return few_shot_prompt(model, template)
    if isinstance(template, ChatTemplate):
        if model.chat_template is None:
            raise UsageError("this model file has no chat template: use --set translate.template=few-shot")
        return chat_prompt(model, template, source, target)
    if missing := missing_controls(model, template, source, target):
        raise UsageError(
            f"the template {name} is not for this model, whose vocabulary lacks {' '.join(missing)}: "
            "use --set translate.template=auto"
        )
    return turn_prompt(model, template, source, target)


def _ours(model: Model, name: str, source: str, target: str) -> Template:
    if name == "auto" and (trained := trained_prompts(model)):
        return trained.find(source, target)
    if name == "auto":
        name = fitting_template(model, source, target)
    if name == "few-shot":
        return find_examples(source, target)
    return named_templates()[name]


def _check_direction(template: FewShotTemplate, source: str, target: str) -> None:
    has = language(template.source_language).name, language(template.language).name
    wanted = language(source).name, language(target).name
    if has != wanted:
        raise UsageError(
            f"the examples of the template are {has[0]} to {has[1]}, and not {wanted[0]} to {wanted[1]}: "
            "change --from and --to, or choose another template"
        )


def fitting_template(model: Model, source: str, target: str) -> str:
    """The name of the template that ``auto`` selects for a model without prompts of its own training."""
    names = _names(model)
    own = model.chat_template
    found = {
        (2, len(mark), name)
        for name, one in named_templates().items()
        for mark in one.chat_marks
        if own is not None and mark in own
    } | {
        (1, len(word), name)
        for name, one in named_templates().items()
        for word in one.models
        if word in names and (own is None or all(mark in own for mark in one.marks))
    }
    for _, _, name in sorted(found, reverse=True):
        template = named_templates()[name]
        if isinstance(template, TurnTemplate):
            fits = not missing_controls(model, template, source, target)
        else:
            fits = own is not None
        if fits:
            return name
    return "few-shot" if own is None else "chat"


def _names(model: Model) -> str:
    """What the header and the file's name call the model, in small letters and with hyphens."""
    keys = ("general.architecture", "general.basename", "general.name")
    said = [*(model.metadata(key) or "" for key in keys), model.path.stem]
    return " ".join(re.sub(r"[\s_]+", "-", one.lower()) for one in said)
