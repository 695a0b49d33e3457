"""Chooses the prompt for a model: by name, by a user's own template, or by the metadata of its GGUF file.

Recognised text never goes through a template: it is tokenised separately, as plain text, between a head and a
tail of token ids.
"""

import json
import re
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from operators.errors import InputError, UsageError
from operators.languages import Direction, language
from operators.prompts.prompt import EndOfTurn, Prompt, PromptNotes, Vocabulary
from operators.prompts.template import (
    BY_MODEL,
    NOTES,
    PAPER,
    SOURCE,
    ChatTemplate,
    FewShotTemplate,
    NotesTemplate,
    Template,
    TurnTemplate,
    few_shot_prompt,
    find_examples,
    named_templates,
    trained_prompts,
    with_languages,
)

# Templates that differ for ``paper``: the prompts of the SSBD paper's table 5. Qwen3's is the usual one.
_OF_PAPER = {"tower-plus": "tower"}


class Model(Vocabulary, Protocol):
    """What a prompt needs from a language model."""

    path: Path

    def metadata(self, key: str) -> str | None: ...

    @property
    def chat_template(self) -> str | None: ...

    @property
    def begin_text(self) -> str: ...

    @property
    def end_text(self) -> str: ...


def select_prompt(model: Model, chosen: str | Template, source: str, target: str) -> Prompt:
    """The prompt for translating from ``source`` to ``target``.

    Raises:
        UsageError: the template or a language is not for this model.
        InputError: the model's own chat template cannot be used.
    """
    name, trained = chosen if isinstance(chosen, str) else "of your own", trained_prompts(model.metadata)
    if trained is not None:
        if name not in BY_MODEL:
            raise UsageError(
                f"the template {name} is not for this model, which was trained with its own prompts: "
                "leave out translate.template, or choose --model base"
            )
        return few_shot_prompt(model, trained.find(source, target))
    if isinstance(chosen, str):
        if chosen in BY_MODEL:
            name = fitting_template(model, source, target)
            name = _OF_PAPER.get(name, name) if chosen == PAPER else name
        chosen = find_examples(source, target) if name == "few-shot" else named_templates()[name]
    if isinstance(chosen, FewShotTemplate):
        has, wanted = Direction.of(chosen.source_language, chosen.language), Direction.of(source, target)
        if has not in (wanted, wanted.general):
            raise UsageError(
                f"the examples of the template are {has}, and not {wanted}: change --from and --to, or "
                "choose another template"
            )
        return few_shot_prompt(model, chosen)
    if isinstance(chosen, ChatTemplate):
        return chat_prompt(model, chosen, source, target)
    if missing := _missing_controls(model, chosen, source, target):
        raise UsageError(
            f"the template {name} is not for this model, whose vocabulary lacks {' '.join(missing)}: "
            "use --set translate.template=auto"
        )
    return turn_prompt(model, chosen, source, target)


def fitting_template(model: Model, source: str, target: str) -> str:
    """The name of the template that ``auto`` selects for a model without prompts of its own training."""
    own = model.chat_template
    said = [*(model.metadata(f"general.{key}") or "" for key in ("architecture", "basename", "name"))]
    names = " ".join(re.sub(r"[\s_]+", "-", one.lower()) for one in (*said, model.path.stem))
    found = set()
    for name, one in named_templates().items():
        found |= {(2, len(mark), name) for mark in one.chat_marks if own is not None and mark in own}
        if own is None or all(mark in own for mark in one.marks):
            found |= {(1, len(word), name) for word in one.models if word in names}
    for _, _, name in sorted(found, reverse=True):
        template = named_templates()[name]
        if isinstance(template, TurnTemplate):
            fits = not _missing_controls(model, template, source, target)
        else:
            fits = own is not None
        if fits:
            return name
    return "few-shot" if own is None else "chat"


def _missing_controls(model: Model, template: TurnTemplate, source: str, target: str) -> tuple[str, ...]:
    """The control tokens of the template that are not single tokens of the vocabulary."""
    controls = (with_languages(one, template, source, target) for one in template.controls)
    return tuple(one for one in controls if len(model.tokenize(one, special=True)) != 1)


def turn_prompt(vocabulary: Vocabulary, template: TurnTemplate, source: str, target: str) -> Prompt:
    """The prompt of a template that spells its control tokens itself.

    Raises `UsageError` for an unknown language.
    """
    head, _, tail = with_languages(template.prompt, template, source, target).partition(SOURCE)
    ends = [token for one in template.ends for token in vocabulary.tokenize(one, special=True)]
    return _split_prompt(vocabulary, head, tail, target, begins=template.begins, ends=ends)


def _split_prompt(
    vocabulary: Vocabulary, head: str, tail: str, target: str, *, begins: bool = True, ends: list[int]
) -> Prompt:
    # A space before the source belongs to its first word, as in a prompt that is tokenised as a whole.
    before = head.rstrip(" ")
    return Prompt(
        vocabulary=vocabulary,
        head=(_begun if begins else _spelled)(vocabulary, before),
        lead=head[len(before) :],
        tail=_spelled(vocabulary, tail),
        stop=EndOfTurn(vocabulary, ends),
        joint=language(target).script.joint,
    )


def _spelled(vocabulary: Vocabulary, text: str) -> tuple[int, ...]:
    return tuple(vocabulary.tokenize(text, special=True))


def _begun(vocabulary: Vocabulary, text: str) -> tuple[int, ...]:
    """The tokens of a text that begins a prompt. Many templates spell the begin-of-text token themselves."""
    tokens, begin = _spelled(vocabulary, text), tuple(vocabulary.begin)
    return tokens if tokens[: len(begin)] == begin else (*begin, *tokens)


#: Words that no template contains, and that trimming, escaping and folding do not change.
_MARK, _NOTES_MARK = "surtitle0source0goes0here", "surtitle0notes0go0here"


def chat_prompt(model: Model, template: ChatTemplate, source: str, target: str) -> Prompt:
    """A request for a translation in the turns of the model's own template.

    Raises `InputError` for a template that cannot be used. Raises `UsageError` for a model without one, and
    for languages that are unknown or that this template does not support.
    """
    if template.corrects and language(source) != language(target):
        spoken = language(source).name
        raise UsageError(f"this template corrects speech and does not translate it: choose --to {spoken}")
    if model.chat_template is None:
        other = "another --model" if template.corrects else "--set translate.template=few-shot"
        raise UsageError(f"this model file has no chat template: use {other}")
    filled = partial(with_languages, template=template, source=source, target=target)

    def rendered(message: str, *marks: str) -> list[str]:
        """The parts of the request between ``marks``."""
        message = filled(message).replace(SOURCE, _MARK).replace(NOTES, _NOTES_MARK)
        text = _render(model, filled(template.system), message)
        parts = []
        for mark in marks:
            if (count := text.count(mark)) != 1:
                raise _unusable(f"it {'repeats' if count else 'leaves out'} the user's message")
            part, _, text = text.partition(mark)
            parts.append(part)
        # A thinking block that the template opens is closed, because captions cannot wait for it.
        if text.rfind("<think>") > text.rfind("</think>"):
            text = f"{text.rstrip()}\n\n</think>\n\n"
        return [*parts, text + filled(template.answer)]

    def noted(notes: NotesTemplate | None) -> PromptNotes | None:
        if notes is None:
            return None
        before, between, tail = rendered(notes.message, _NOTES_MARK, _MARK)
        return PromptNotes(_begun(model, before), _spelled(model, between), _spelled(model, tail), notes.each)

    is_chinese = any(language(one).code.startswith("zh") for one in (source, target))
    message = template.chinese if is_chinese and template.chinese else template.message
    head, tail = rendered(message, _MARK)
    prompt = _split_prompt(model, head, tail, target, ends=[])
    return prompt._replace(
        terms=noted(template.terms), context=noted(template.context), corrects=template.corrects
    )


class _GenerationBlock(Extension):
    """Parses ``{% generation %}``, which marks the text that a model is trained on, as its content."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(why: str) -> NoReturn:
    raise jinja2.TemplateError(why)


def _render(model: Model, system: str, message: str) -> str:
    """Render the model's template, which is code from its file, with the variables that transformers has."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationBlock, loopcontrols]
    )
    environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
    turns = [{"role": "system", "content": system}] if system else []
    try:
        return environment.from_string(model.chat_template or "").render(
            messages=[*turns, {"role": "user", "content": message}],
            add_generation_prompt=True,
            enable_thinking=False,
            tools=None,
            documents=None,
            bos_token=model.begin_text,
            eos_token=model.end_text,
        )
    except Exception as error:  # noqa: BLE001 - a template can raise anything
        raise _unusable(" ".join(str(error)[:1000].split())[:200] or type(error).__name__) from None


def _unusable(why: str) -> InputError:
    return InputError(
        f"the chat template in the model file cannot be used, {why}: "
        "choose another prompt with translate.template, or another model"
    )
