"""Templates: prompts of models, as data.

Ours are small files in ``templates/``; a user's file has the same format. There are three kinds,
distinguished by their required key: ``pairs``, ``message`` or ``prompt``.

The prompts that a model was trained on are stored in its own file: two labels for each direction. A model
trained to translate is prompted exactly as in training: a single example pair, which training does not have,
ruins its answers (docs/training.md).
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from operators.errors import InputError, UsageError
from operators.languages import Direction, language
from operators.prompts.prompt import EndOfLine, Prompt, Vocabulary

#: The marks for the recognised text, and for notes before it.
SOURCE, NOTES = "{source}", "{notes}"


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    target: str


class FewShotTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Example pairs for one direction, for pretrained models; no pairs for one trained on the labels."""

    language: str
    source_language: str
    source_label: str
    target_label: str
    pairs: tuple[Pair, ...] = ()
    #: Text before the first pair.
    head: str = ""
    #: The target's label after unfinished text, for a model trained with one; empty for the final's label.
    unfinished_label: str = ""


class _InstructionTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    #: A model whose name contains one of these (in lower case, with hyphens) uses the template automatically,
    #: unless another template has a longer match.
    models: tuple[str, ...] = ()
    #: Texts that its own chat template, if any, must contain.
    marks: tuple[str, ...] = ()
    #: A model whose chat template contains one of these uses the template, whatever its name.
    chat_marks: tuple[str, ...] = ()
    #: Codes of the only languages that the model translates; empty for no such limit.
    languages: tuple[str, ...] = ()
    #: Names of languages in the model's prompts, by code, if they differ from the usual English names.
    names: Mapping[str, str] = {}
    #: Chinese names that differ, by code.
    chinese_names: Mapping[str, str] = {}


class NotesTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message with notes before the source: terms and their translations, or preceding sentences."""

    #: The user's message, with the mark for the notes.
    message: str
    #: One note, on a line of its own, with ``{term}`` and ``{translation}``.
    each: str = ""


class ChatTemplate(_InstructionTemplate, frozen=True, kw_only=True):
    """A request in the turns of the template inside the model's own file, for any languages."""

    #: The user's message.
    message: str
    #: The message from or into Chinese, if it differs.
    chinese: str = ""
    #: The system's message.
    system: str = ""
    #: The start of the answer.
    answer: str = ""
    #: Whether the answer is the text itself, corrected: both languages are the same.
    corrects: bool = False
    #: The messages with terms of a glossary and with preceding sentences.
    terms: NotesTemplate | None = None
    context: NotesTemplate | None = None


class TurnTemplate(_InstructionTemplate, frozen=True, kw_only=True):
    """A whole prompt that spells the model's control tokens itself, for any languages."""

    prompt: str
    #: Control tokens that the prompt spells.
    controls: tuple[str, ...] = ()
    #: Tokens that end the model's answer, besides those of its vocabulary.
    ends: tuple[str, ...] = ()
    #: Whether the prompt starts with the vocabulary's begin-of-text token.
    begins: bool = True


Template = FewShotTemplate | ChatTemplate | TurnTemplate

_KINDS: dict[str, type[Template]] = {
    "pairs": FewShotTemplate,
    "message": ChatTemplate,
    "prompt": TurnTemplate,
}


def template_of(content: Mapping[str, object]) -> Template:
    """The template in the content of a file.

    Raises `ValueError` with a phrase that describes the defect.
    """
    kinds = [key for key in _KINDS if key in content]
    if len(kinds) != 1:
        raise ValueError(f"it needs one key of {', '.join(_KINDS)}, and has {' and '.join(kinds) or 'none'}")
    try:
        template = msgspec.convert(content, _KINDS[kinds[0]])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    texts: dict[str, str] = {}
    if isinstance(template, TurnTemplate):
        texts = {"prompt": template.prompt}
    elif isinstance(template, ChatTemplate):
        texts = {"message": template.message} | ({"chinese": template.chinese} if template.chinese else {})
        notes = {"terms": template.terms, "context": template.context}
        texts |= {f"{name}.message": one.message for name, one in notes.items() if one is not None}
    for place, text in texts.items():
        if text.count(SOURCE) != 1:
            raise ValueError(f"{place}: it needs the mark {SOURCE} once, where the speech goes")
        if "." in place and (text.partition(SOURCE)[0].count(NOTES) != 1 or text.count(NOTES) != 1):
            raise ValueError(f"{place}: it needs the mark {NOTES} once, before {SOURCE}")
    if len(texts) > 1 and any(f" {SOURCE}" in text for text in texts.values()):
        raise ValueError(
            f"there is a space before {SOURCE}; with several messages, put it at the beginning of a line"
        )
    return template


def with_languages(text: str, template: ChatTemplate | TurnTemplate, source: str, target: str) -> str:
    """Put names and codes of the languages into ``text``, as the template spells them.

    Raises `UsageError` for an unknown language, or one that the template's model does not translate.
    """
    for side, spoken in (("source", language(source)), ("target", language(target))):
        if template.languages and spoken.general.code not in template.languages:
            known = " and ".join(language(code).name for code in template.languages)
            raise UsageError(
                f"this model translates between {known} only, and not {spoken.name}; choose another "
                "with --model"
            )
        marks = {
            f"{{{side}_language}}": template.names.get(spoken.code, spoken.name),
            f"{{{side}_name_zh}}": template.chinese_names.get(spoken.code, spoken.chinese),
            f"{{{side}_code}}": spoken.general.code,
        }
        for mark, name in marks.items():
            text = text.replace(mark, name)
    return text


@cache
def _ours() -> Mapping[str, Template]:
    entries = sorted((files("operators.prompts") / "templates").iterdir(), key=lambda entry: entry.name)
    return {
        entry.name.removesuffix(".toml"): template_of(tomllib.loads(entry.read_text("utf-8")))
        for entry in entries
    }


def named_templates() -> Mapping[str, ChatTemplate | TurnTemplate]:
    return {name: one for name, one in _ours().items() if not isinstance(one, FewShotTemplate)}


def few_shot_templates() -> tuple[FewShotTemplate, ...]:
    return tuple(one for one in _ours().values() if isinstance(one, FewShotTemplate))


#: Names that choose a template by the model; ``paper`` prefers the prompts of the SSBD paper's table 5.
BY_MODEL = AUTO, PAPER = "auto", "paper"
#: The template for captions that are the corrected transcript.
CORRECT = "correct"
#: Values of ``translate.template`` besides a file.
NAMES = (*BY_MODEL, "few-shot", *named_templates())


def few_shot_prompt(vocabulary: Vocabulary, template: FewShotTemplate) -> Prompt:
    """A prompt of example pairs with an empty line between them; without pairs, only the labels."""
    shots = "".join(
        f"{template.source_label} {pair.source}\n{template.target_label} {pair.target}\n\n"
        for pair in template.pairs
    )
    head = vocabulary.tokenize(template.head + shots + template.source_label)
    return Prompt(
        vocabulary=vocabulary,
        head=(*vocabulary.begin, *head),
        lead=" ",
        tail=tuple(vocabulary.tokenize("\n" + template.target_label)),
        unfinished_tail=tuple(vocabulary.tokenize("\n" + template.unfinished_label))
        if template.unfinished_label
        else None,
        stop=EndOfLine(vocabulary),
        joint=language(template.language).script.joint,
        # A template without examples belongs to a model that was trained to translate speech.
        knows_unfinished=not template.pairs,
    )


def find_examples(source: str, target: str) -> FewShotTemplate:
    """Our examples for one direction. Raises `UsageError` for a direction without examples."""
    if found := _of_direction(few_shot_templates(), source, target):
        return found
    spoken, written = language(source).name, language(target).name
    if spoken == written:
        raise UsageError(
            f"speech and captions would both be {spoken}; choose another language with --to or --from"
        )
    raise UsageError(
        f"there are no examples for {spoken} to {written}, and this pretrained model needs them; "
        f"choose one of {_directions(few_shot_templates())}, another model (`surtitle models --from "
        f"{spoken} --to {written}` lists them), or give examples of your own with translate.template"
    )


def _of_direction(templates: Iterable[FewShotTemplate], source: str, target: str) -> FewShotTemplate | None:
    wanted = Direction.of(source, target).general
    found = (one for one in templates if (language(one.source_language), language(one.language)) == wanted)
    return next(found, None)


def _directions(templates: Iterable[FewShotTemplate]) -> str:
    return ", ".join(f"{one.source_language} to {one.language}" for one in templates)


#: The header's entry: a JSON list.
TEMPLATES_KEY = "surtitle.templates"


class TrainedPrompts(NamedTuple):
    """All directions that a model was trained on, as templates that have labels and no examples.

    A prompt is ``SOURCE_LABEL text``, and on the next line ``TARGET_LABEL``. After unfinished text the label
    is ``UNFINISHED_LABEL``, if the model was trained with it.
    """

    prompts: tuple[FewShotTemplate, ...]

    def find(self, source: str, target: str) -> FewShotTemplate:
        """The prompt for one direction. Raises `UsageError` for one that the model was not trained on."""
        if found := _of_direction(self.prompts, source, target):
            return found
        raise UsageError(
            f"this model was not trained for {language(source).name} to {language(target).name}, but for "
            f"{_directions(self.prompts)}; choose another model with --model, such as base"
        )


def trained_prompts(metadata: Callable[[str], str | None]) -> TrainedPrompts | None:
    """The training prompts in the header of a model's file, or None. Raises `InputError` if invalid."""
    said = metadata(TEMPLATES_KEY)
    if said is None:
        return None
    try:
        prompts = msgspec.json.decode(said, type=Annotated[tuple[FewShotTemplate, ...], Meta(min_length=1)])
        for one in prompts:
            language(one.source_language), language(one.language)
    except (msgspec.DecodeError, UsageError) as error:
        raise InputError(
            f"the model's header has no valid prompt in {TEMPLATES_KEY}: {error}; assemble it again"
        ) from None
    return TrainedPrompts(prompts)


def spell_prompts(prompts: TrainedPrompts) -> str:
    return msgspec.json.encode(prompts.prompts).decode()


def labels_of(source: str, target: str) -> FewShotTemplate:
    """The labels of our own examples for a direction, which training uses too.

    Raises `UsageError` for a direction without examples.
    """
    return msgspec.structs.replace(find_examples(source, target), pairs=(), head="")


def telling_unfinished(labels: FewShotTemplate) -> FewShotTemplate:
    """The same labels, and one for unfinished text.

    Without it a model takes a final that does not look finished for a prefix, and withholds its end. The
    label is one token, because it is evaluated at each update.
    """
    return msgspec.structs.replace(labels, unfinished_label="…")
