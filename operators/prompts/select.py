"""Chooses the prompt for a model: by name, by a user's own template, or by what its GGUF file says."""

from typing import Literal, Protocol

from operators.errors import UsageError
from operators.languages import language
from operators.prompts.chat import ChatVocabulary, chat_prompt, knows_controls, turn_prompt
from operators.prompts.few_shot import few_shot_prompt, find_examples
from operators.prompts.prompt import Prompt
from operators.prompts.template import ChatTemplate, FewShotTemplate, Template, chat_template, turn_template
from operators.prompts.trained import trained_prompts

TemplateName = Literal["auto", "few-shot", "chat", "tower", "qwen3"]

#: Templates that spell their control tokens themselves, in the order of trying.
_SPELLED: tuple[TemplateName, ...] = ("tower", "qwen3")


class Model(ChatVocabulary, Protocol):
    """What choosing needs from a model."""

    def metadata(self, key: str) -> str | None:
        """A value of the GGUF's header."""
        ...


def select_prompt(model: Model, chosen: TemplateName | Template, source: str, target: str) -> Prompt:
    """The prompt for translating from ``source`` to ``target``.

    Raises:
        UsageError: the template or a language is not for this model.
        InputError: the model's own chat template cannot be used.
    """
    name = chosen if isinstance(chosen, str) else "of your own"
    if name != "auto" and trained_prompts(model):
        raise UsageError(
            f"the template {name} is not for this model, which was trained with prompts of its own: "
            "leave out --template, or choose --model base"
        )
    template = _ours(model, chosen, source, target) if isinstance(chosen, str) else chosen
    if isinstance(template, FewShotTemplate):
        _check_direction(template, source, target)
        return few_shot_prompt(model, template)
    if isinstance(template, ChatTemplate):
        if model.chat_template is None:
            raise UsageError("this model file has no chat template: use --template few-shot")
        return chat_prompt(model, template, source, target)
    if not knows_controls(model, template):
        raise UsageError(
            f"the template {name} is not for this model, whose vocabulary lacks one of "
            f"{' '.join(template.controls)}: use --template auto"
        )
    return turn_prompt(model, template, source, target)


def _ours(model: Model, name: TemplateName, source: str, target: str) -> Template:
    if name == "auto" and (trained := trained_prompts(model)):
        return trained.find(source, target)
    if name == "auto":
        name = fitting_template(model)
    if name == "few-shot":
        return find_examples(source, target)
    return chat_template() if name == "chat" else turn_template(name)


def _check_direction(template: FewShotTemplate, source: str, target: str) -> None:
    has = language(template.source_language).name, language(template.language).name
    wanted = language(source).name, language(target).name
    if has != wanted:
        raise UsageError(
            f"the examples of the template are {has[0]} to {has[1]}, and not {wanted[0]} to {wanted[1]}: "
            "change --from and --to, or choose another template"
        )


def fitting_template(model: Model) -> TemplateName:
    """The template that ``auto`` selects for a model that does not contain its prompts of training."""
    keys = ("general.architecture", "general.basename", "general.name")
    names = " ".join(model.metadata(key) or "" for key in keys).lower()
    for name in _SPELLED:
        turns = turn_template(name)
        thinks = model.chat_template is None or "enable_thinking" in model.chat_template
        if (
            any(word in names for word in turns.models)
            and (thinks or not turns.hybrid)
            and knows_controls(model, turns)
        ):
            return name
    return "few-shot" if model.chat_template is None else "chat"
