"""Templates: how a model is prompted, as data.

Ours are in ``templates/``, a small file each; a user's file has the same format. There are three kinds,
distinguished by the key that each must have: ``pairs``, ``message`` or ``prompt``.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec

from operators.languages import language

#: The place of the recognised text.
SOURCE = "{source}"

_FOLDER = files("operators.prompts") / "templates"

_Asking = Annotated[str, msgspec.Meta(pattern=r"\{source\}")]


class _Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of all templates."""


class Pair(_Template, frozen=True):
    """One example: a source and its translation."""

    source: str
    target: str


class FewShotTemplate(_Template, frozen=True):
    """Example pairs for one direction, for pretrained models; none for one trained on the labels."""

    language: str
    source_language: str
    source_label: str
    target_label: str
    pairs: tuple[Pair, ...]
    #: Text before the first pair.
    head: str = ""
    #: The target's label behind unfinished text, for a model trained with one; empty: the same as a final's.
    unfinished_label: str = ""


class ChatTemplate(_Template, frozen=True):
    """A request in the turns of the template inside the model's own file, for any languages."""

    #: The user's message.
    message: _Asking
    #: The start of the answer.
    answer: str = ""


class TurnTemplate(_Template, frozen=True):
    """A whole prompt that spells the model's control tokens itself, for any languages."""

    prompt: _Asking
    #: Control tokens that the prompt spells.
    controls: tuple[str, ...] = ()
    #: A model whose name contains one of these uses this template automatically.
    models: tuple[str, ...] = ()
    #: Only for models with optional thinking: their own template asks for ``enable_thinking``.
    hybrid: bool = False


Template = FewShotTemplate | ChatTemplate | TurnTemplate

_KINDS: dict[str, type[Template]] = {
    "pairs": FewShotTemplate,
    "message": ChatTemplate,
    "prompt": TurnTemplate,
}


def template_of(content: Mapping[str, object]) -> Template:
    """The template in the content of a file.

    Raises:
        ValueError: with a phrase that says what is wrong with it.
    """
    kinds = [key for key in _KINDS if key in content]
    if len(kinds) != 1:
        raise ValueError(f"it needs one key of {', '.join(_KINDS)}, and has {' and '.join(kinds) or 'none'}")
    try:
        template = msgspec.convert(content, _KINDS[kinds[0]])
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        if "matching regex" in what:
            what = f"it needs the mark {SOURCE} where the speech goes"
        raise ValueError(f"{place.rstrip('`')}: {what}" if place else what) from None
    asking = getattr(template, kinds[0])
    if isinstance(asking, str) and asking.count(SOURCE) > 1:
        raise ValueError(f"{kinds[0]}: the mark {SOURCE} appears more than once")
    return template


def with_languages(text: str, source: str, target: str) -> str:
    """Put the names of the languages into ``text``. Raises `UsageError` for an unknown one."""
    names = {"{source_language}": language(source).name, "{target_language}": language(target).name}
    for mark, name in names.items():
        text = text.replace(mark, name)
    return text


@cache
def chat_template() -> ChatTemplate:
    """The request for any chat model."""
    return msgspec.toml.decode((_FOLDER / "chat.toml").read_bytes(), type=ChatTemplate)


@cache
def turn_template(name: str) -> TurnTemplate:
    """The whole prompt of ``templates/NAME.toml``."""
    return msgspec.toml.decode((_FOLDER / f"{name}.toml").read_bytes(), type=TurnTemplate)


@cache
def few_shot_templates() -> tuple[FewShotTemplate, ...]:
    """All directions for which there are examples."""
    return tuple(
        msgspec.toml.decode(entry.read_bytes(), type=FewShotTemplate)
        for entry in sorted(_FOLDER.iterdir(), key=lambda entry: entry.name)
        if entry.name.startswith("few-shot-")
    )
