"""The options that override settings, in groups; the schema declares each with its setting."""

import inspect
from collections.abc import Callable, Iterator
from functools import cache, wraps
from keyword import iskeyword
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
import typer

from connectors.sinks.part import SINKS, Step
from flows.settings.schema import Settings
from operators.parts import Option

#: The headings of options in the help, in this order, and what is under each: stages, or some of their keys.
_HEADINGS = {
    "Languages and models": {
        "translate": "from to captions_only model template glossary dictionary context keep_up finals_only",
        "recognize": "", "sentences": "", "display": "replace",
    },
    "Input": {"input": ""},
    "Files": {"output": "", "recovery": "", "rooms": ""},
    "Browsers": {"web": ""},
    "Operation": {"metrics": "", "messages": "", "run": "", "translate": "offline threads rooms"},
    "Research": {"translate": "", "display": ""},
}  # fmt: skip


def _heading(stage: str, key: str) -> int:
    """The number of the heading that a setting's option is under."""
    for number, stages in enumerate(_HEADINGS.values()):
        keys = stages.get(stage)
        if keys is not None and (not keys or key in keys.split()):
            return number
    return len(_HEADINGS) - 1


class Override(NamedTuple):
    """An option of a command, and the setting that it overrides."""

    #: Stage and key in the settings file.
    stage: str
    key: str
    #: What typer makes of the typed text.
    kind: Any
    help: str
    flags: tuple[str, ...]
    #: The default as the help shows it; empty to show none.
    default: str
    parse: Callable[[str, Any], Any] | None = None
    #: The values to complete what is typed, if there are only a few.
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the command's parameter."""
        plain = self.flags[0].partition("/")[0].lstrip("-").replace("-", "_")
        return f"{plain}_" if iskeyword(plain) else plain

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter, as typer reads it."""
        values = list(self.choices)
        shown = typer.Option(
            *self.flags, help=self.help, show_default=self.default or False,
            # Without values, the shell offers files.
            autocompletion=(lambda: values) if values else None,
            rich_help_panel=list(_HEADINGS)[_heading(self.stage, self.key)],
        )  # fmt: skip
        kind: Any = self.kind | None
        return inspect.Parameter(
            self.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[kind, shown],
        )


Group = tuple[Override, ...]
Command = Callable[..., None]
#: The argument that a command gets: the given values, by stage and key.
Overrides = dict[str, dict[str, Any]]


def unfolded(kind: Any) -> Iterator[Any]:
    """A setting's type in parts: what it is ``Annotated`` with, the types of a union, of a tuple's items."""
    origin = get_origin(kind)
    if hasattr(kind, "__metadata__"):
        yield from (*kind.__metadata__, *unfolded(kind.__origin__))
    elif origin in (Union, UnionType, tuple):
        if origin is tuple:
            yield tuple
        for inner in get_args(kind):
            yield from unfolded(inner)
    else:
        yield kind


@cache
def _fields(stage: str) -> dict[str, msgspec.structs.FieldInfo]:
    """The fields of a stage by key; none for what is no stage."""
    stages = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    fields = msgspec.structs.fields(stages[stage]) if stage in stages else ()
    return {field.encode_name: field for field in fields}


def flag_of(stage: str, key: str) -> str | None:
    """The flag that overrides a setting; None if there is none."""
    field = _fields(stage).get(key)
    if field is None or not any(isinstance(one, Option) for one in unfolded(field.type)):
        return None
    return override(stage, key).flags[0]


def override(stage: str, key: str, option: Option | None = None) -> Override:
    """The option that overrides a setting: that of the schema, or another one."""
    field = _fields(stage)[key]
    parts = list(unfolded(field.type))
    option = option or next(one for one in parts if isinstance(one, Option))
    types = {one for one in parts if isinstance(one, type)} - {NoneType}
    kind: Any = str
    if types == {bool} or (option.parse is None and types in ({int}, {float})):
        (kind,) = types
    elif option.parse is None and tuple in types:
        kind = list[str]
    flag = f"--{key.replace('_', '-')}"
    flags = option.flags.split() or [f"{flag}/--no-{flag[2:]}" if kind is bool else flag]
    few = [get_args(one) if get_origin(one) is Literal else getattr(one, "examples", None) for one in parts]
    return Override(
        stage, key, kind, option.help, tuple(flags), option.default or _typed(field.default), option.parse,
        tuple(name for names in few for name in names or ()),
    )  # fmt: skip


def _typed(value: object) -> str:
    """A default as one would type it; empty for a switch and for an absent default."""
    if value is None or isinstance(value, bool | tuple):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def declared(stage: str, keys: str) -> Group:
    """The options of some of a stage's settings."""
    return tuple(override(stage, key) for key in keys.split())


def sinks(*steps: Step) -> Group:
    """The options of the sinks of these steps."""
    return declared("output", " ".join(one.name for one in SINKS.values() if one.of in steps))


#: What chooses the model and its prompt, and how it decodes.
MODEL = declared("translate", "to from model offline template threads")
DECODING = declared(
    "translate",
    "to from model offline template glossary context dictionary method bias final_bias accept beam keep "
    "commit hold_back strip_punctuation close_unfinished heads draft_model draft_threshold draft_length "
    "draft_tree threads",
)
CAPTIONS_ONLY = declared("translate", "captions_only")
TRANSLATION = (*DECODING, *CAPTIONS_ONLY, *declared("display", "mask_k"))
REPLACING = declared("display", "replace")
KEEPING_UP = declared("translate", "keep_up finals_only")
PACE = (*KEEPING_UP, *declared("input", "realtime"))
TRACK = declared("input", "track")
EVENTS = declared("input", "skip_bad")
LISTENING = declared("input", "microphone")
REPLAYS = declared("input", "partials translations captions")
RECOGNITION = declared("recognize", "engine model")
SENTENCES = (*declared("sentences", "method"), *sinks("sentences"))
SPEECH_OUTPUT = sinks("partials")
AUDIO_OUTPUT = sinks("audio")
OUTPUT = (
    *sinks("records", "captions", "cues"), *declared("output", "subtitles"), *sinks("translations"),
    *declared("output", "summary sinks"),
)  # fmt: skip
RECOVERY = declared("recovery", "folder")
WORKERS = (*declared("run", "workers"), *declared("translate", "rooms"))
CLUSTER = declared("run", "addresses process")
WEB = declared("web", "enabled host port")
WATCHING = (*declared("metrics", "listen"), *declared("messages", "format"))


def takes(*groups: Group) -> Callable[[Command], Command]:
    """Give a command the options of ``groups``.

    The command receives the given values in its argument ``overrides``, and none as separate arguments.
    """
    given = [option for group in groups for option in group]
    given.sort(key=lambda option: _heading(option.stage, option.key))
    options = {option.name: option for option in given}

    def decorate(command: Command) -> Command:
        def called(values: dict[str, Any]) -> None:
            overrides: Overrides = {}
            for name, option in options.items():
                value = values.pop(name, None)
                if value is not None and value != []:
                    given = value if option.parse is None else option.parse(option.flags[0], value)
                    overrides.setdefault(option.stage, {})[option.key] = given
            command(overrides=overrides, **values)

        own = [one for one in inspect.signature(command).parameters.values() if one.name != "overrides"]
        needed = [one for one in own if one.default is inspect.Parameter.empty]
        shared = [option.parameter for option in options.values()]
        return _asking(command, called, [*needed, *shared, *(one for one in own if one not in needed)])

    return decorate


def asks_for(job: type[msgspec.Struct]) -> Callable[[Command], Command]:
    """Turn the fields of a command's ``job``, its first argument, into arguments and options.

    A field is ``Annotated`` with its typer parameter; a field without a default is required.
    """
    fields = msgspec.structs.fields(job)
    asked = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.required else field.default,
            annotation=field.type,
        )
        for field in fields
    ]

    def decorate(command: Command) -> Command:
        def called(values: dict[str, Any]) -> None:
            made = job(**{field.name: values.pop(field.name) for field in fields})
            command(made, **values)

        _job, *more = inspect.signature(command).parameters.values()
        return _asking(command, called, [*asked, *more])

    return decorate


def _asking(
    command: Command, called: Callable[[dict[str, Any]], None], parameters: list[inspect.Parameter]
) -> Command:
    """The command with these parameters, whose values are given to ``called``."""

    @wraps(command)
    def asking(**values: Any) -> None:
        called(values)

    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    # Typer reads these two attributes, and passes all arguments by name.
    asking.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    asking.__annotations__ = {one.name: one.annotation for one in named}
    return asking
