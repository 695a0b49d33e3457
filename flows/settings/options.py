"""Command-line options that several commands share; each names the setting that it overrides.

The help shows the setting's own default, unless words describe it better.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import msgspec
import typer

from connectors.sinks.part import SINKS, Step
from flows.settings.schema import Settings
from operators.decoding.acceptance import NAMES


class Option(NamedTuple):
    """An option of the command line and the setting that it overrides."""

    #: Stage and key in the settings file.
    stage: str
    key: str
    kind: type
    #: Its flag, if that is not the option's name, and how typer shows it.
    names: tuple[str, ...]
    help: str
    #: The default as the help shows it, if the setting's own value does not tell.
    default: str
    #: Parses the typed text, given the flag to name in an error; absent if the text itself is the value.
    parse: Callable[[str, Any], Any] | None = None

    def value(self, name: str, given: object) -> object:
        """The given value, as the command gets it. Raises `UsageError`."""
        return given if self.parse is None else self.parse(self.flags(name)[0], given)

    def flags(self, name: str) -> tuple[str, ...]:
        """The flags of the option whose parameter has this name."""
        return self.names or (f"--{name.replace('_', '-')}",)


Group = Mapping[str, Option]
#: The argument that a command gets: the given values, by stage and key.
Overrides = dict[str, dict[str, Any]]


_USUAL: dict[str, dict[str, Any]] = msgspec.to_builtins(Settings())


def usual(stage: str, key: str) -> str:
    """The default of a setting as one would type it; empty for a switch and for an absent default."""
    value = _USUAL[stage][key]
    if value is None or isinstance(value, bool):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def choices(stage: str, key: str) -> tuple[str, ...]:
    """The values of a setting that has only these; none if it takes others."""
    fields = msgspec.structs.fields(get_type_hints(Settings)[stage])
    (kind,) = [one.type for one in fields if one.encode_name == key]
    examples = [name for one in getattr(kind, "__metadata__", ()) for name in one.examples or ()]
    return tuple(one for one in (*get_args(kind), *examples) if isinstance(one, str))


def _option(stage: str, key: str, kind: type, help: str, *names: str, default: str = "") -> Option:
    return Option(stage, key, kind, names, help, default or usual(stage, key))


TRANSLATION: Group = {
    "to": _option("translate", "to", str, "Language of the captions."),
    "from_": _option("translate", "from", str, "Language of the speech.", "--from"),
    "model": _option("translate", "model", str, "A GGUF file, hub:OWNER/REPO:FILE.gguf, base, captions."),
    "template": _option(
        "translate", "template", str,
        "few-shot, chat, tower, qwen3, or a .toml file of your own; auto chooses by the model.",
    ),
    "glossary": _option(
        "translate", "glossary", str, "Terms and their translations: a line each, a tab between.",
        default="none",
    ),
    "dictionary": _option(
        "translate", "dictionary", str,
        "Translations of rarer words: auto, none, or a file, tab-separated or of dict.cc, Ding or FreeDict.",
    ),
    "method": _option(
        "translate", "method", str,
        f"{', '.join(choices('translate', 'method'))}.",
    ),
    "bias": _option(
        "translate", "bias", float, "Bias towards the last output, 0 to 1.", default="0.2"
    ),
    "final_bias": _option(
        "translate", "final_bias", float, "Bias at the last update of a segment.",
        default="the rule worth-0.6, or the same bias if the model was trained on such",
    ),
    "accept": _option(
        "translate", "accept", str,
        f"Acceptance rule for drafts: {NAMES}; auto is the bias if given, else what suits the model.",
    ),
    "keep": _option(
        "translate", "keep", bool, "Keep what was computed for committed tokens when the source grows.",
        "--keep/--no-keep",
    ),
    "commit": _option(
        "translate", "commit", int, "Passes after which a draft token is accepted without a check; 0: never."
    ),
    "hold_back": _option(
        "translate", "hold_back", int, "Words at the end of unfinished speech that are held back."
    ),
    "strip_punctuation": _option(
        "translate", "strip_punctuation", bool, "Remove the closing punctuation of unfinished speech.",
        "--strip-punctuation",
    ),
    "close_unfinished": _option(
        "translate", "close_unfinished", bool, "Add a full stop to unfinished speech.",
        "--close-unfinished/--no-close-unfinished", default="unless it was trained on such",
    ),
    "heads": _option(
        "translate", "heads", str, "Proposal heads of 'surtitle model heads', for --method heads.",
        default="none",
    ),
    "draft_model": _option(
        "translate", "draft_model", str, "Draft model: a smaller model of the same vocabulary.",
        default="none",
    ),
    "draft_threshold": _option(
        "translate", "draft_threshold", float, "Probability below which the draft model stops."
    ),
    "draft_length": _option("translate", "draft_length", int, "Maximum length of its drafts."),
    "draft_tree": _option(
        "translate", "draft_tree", bool, "Let the draft model try two tokens where it is unsure.",
        "--draft-tree/--no-draft-tree",
    ),
    "threads": _option("translate", "threads", int, "Threads of the model.", default="measured"),
    "mask_k": _option("display", "mask_k", int, "Tokens withheld from unfinished captions."),
}  # fmt: skip

#: The subset that chooses the model and its prompt.
MODEL: Group = {name: TRANSLATION[name] for name in ("to", "from_", "model", "template", "threads")}

KEEPING_UP: Group = {
    "keep_up": _option(
        "translate",
        "keep_up",
        bool,
        "Skip updates that newer ones have overtaken, or translate every one.",
        "--keep-up/--every-update",
        default="keep up where speech is live",
    ),
}

PACE: Group = {
    **KEEPING_UP,
    "realtime": _option("input", "realtime", bool, "Play the recording at its own pace.", "--realtime"),
}

EVENTS: Group = {
    "skip_bad": _option(
        "input", "skip_bad", bool, "Move invalid lines to EVENTS.rejected and continue.", "--skip-bad"
    ),
}

LISTENING: Group = {
    "device": _option(
        "input", "microphone", str, "Index of the microphone, or part of its name.",
        default="the system's",
    ),
}  # fmt: skip

RECOGNITION: Group = {
    "recognizer": _option(
        "recognize",
        "engine",
        str,
        f"{', '.join(choices('recognize', 'engine'))}, or MODULE:NAME for one of your own.",
    ),
    "speech_model": _option("recognize", "model", str, "Folder of the speech model.", default="English"),
}


def sink_options(*steps: Step) -> Group:
    """The options of the sinks of these steps."""
    flags = {one.name: one.flags or (f"--{one.name}",) for one in SINKS.values() if one.of in steps}
    return {
        names[0].strip("-").replace("-", "_"): _option("output", name, str, SINKS[name].help, *names)
        for name, names in flags.items()
    }


OUTPUT: Group = {
    **sink_options("records", "captions", "cues"),
    "subtitles": _option("output", "subtitles", str, "What subtitles show: source, target or both."),
    **sink_options("translations"),
    "summary": _option("output", "summary", str, "Write the closing summary here (JSON)."),
    "sink": Option(
        "output", "sinks", list[str], (), "MODULE:NAME=FILE: write FILE with a sink of your own.", "none",
        lambda _flag, given: tuple(given),
    ),
}  # fmt: skip

SENTENCES: Group = {
    "sentences": _option(
        "sentences", "method", str,
        "Where sentences end: rules, or auto, which also asks the model; off takes pauses for their ends.",
    ),
    **sink_options("sentences"),
}  # fmt: skip

SPEECH_OUTPUT: Group = sink_options("partials")

AUDIO_OUTPUT: Group = sink_options("audio")

RECOVERY: Group = {
    "recovery": _option(
        "recovery", "folder", str, "Store snapshots in this folder; a killed run resumes from them."
    ),
}

WORKERS: Group = {
    "workers": _option(
        "run",
        "workers",
        int,
        "Threads that share the streams of the input.",
    ),
    "rooms": _option(
        "translate",
        "rooms",
        int,
        "Streams that are translated together, in the same passes of the model.",
        default="one after the other",
    ),
}

CLUSTER: Group = {
    "addresses": Option(
        "run", "addresses", str, (), "HOST:PORT of each process of a cluster, with commas between.",
        "one process", lambda _flag, given: tuple(given.split(",")),
    ),
    "process": _option(
        "run", "process", int, "Number of this process among them; process 0 has the files."
    ),
}  # fmt: skip

WEB: Group = {
    "web": _option("web", "enabled", bool, "Show the captions in a browser, too.", "--web"),
    "host": _option(
        "web", "host", str, "Address that the web page is served at; implies --web."
    ),
    "port": _option("web", "port", int, "Its port, 0 for any; implies --web."),
}  # fmt: skip

WATCHING: Group = {
    "metrics": _option(
        "metrics", "listen", str, "Serve metrics and /healthz at [HOST:]PORT; 0 is any that is free.",
        default="nowhere",
    ),
    "log_format": _option(
        "messages", "format", str, "Messages on standard error: text, or json (one object per line)."
    ),
}  # fmt: skip

REPLAYS: Group = {
    "from_partials": _option("input", "partials", str, "Replay partials instead of recognising speech."),
    "from_translations": _option("input", "translations", str, "Replay translations instead of translating."),
    "from_captions": _option("input", "captions", str, "Replay captions."),
}


def takes(*groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of ``groups``.

    The command receives the given values in its argument ``overrides``, and none as separate arguments.
    """
    options = {name: option for group in groups for name, option in group.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**values: Any) -> None:
            overrides: Overrides = {}
            for name, option in options.items():
                value = values.pop(name, None)
                if value is not None and value != []:
                    overrides.setdefault(option.stage, {})[option.key] = option.value(name, value)
            command(overrides=overrides, **values)

        own = [one for one in inspect.signature(command).parameters.values() if one.name != "overrides"]
        needed = [one for one in own if one.default is inspect.Parameter.empty]
        shared = [_parameter(name, option) for name, option in options.items()]
        parameters = [*needed, *shared, *(one for one in own if one not in needed)]
        # Typer reads these two attributes, and passes all arguments by name.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate


def _parameter(name: str, option: Option) -> inspect.Parameter:
    values = choices(option.stage, option.key)
    shown = typer.Option(
        *option.flags(name), help=option.help, show_default=option.default or False,
        # Without values, the shell offers files.
        autocompletion=(lambda: list(values)) if values else None,
    )  # fmt: skip
    kind: Any = option.kind | None
    annotation = Annotated[kind, shown]
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation
    )


def flag_of(stage: str, key: str) -> str | None:
    """The flag that overrides a setting; None if there is none."""
    if stage == "rooms":  # where they are given, they stand for those of a single stream
        stage = "translate"
    groups = (
        TRANSLATION, KEEPING_UP, PACE, EVENTS, LISTENING, RECOGNITION, SENTENCES, OUTPUT, SPEECH_OUTPUT,
        AUDIO_OUTPUT, RECOVERY, WORKERS, CLUSTER, WEB, WATCHING, REPLAYS,
    )  # fmt: skip
    for group in groups:
        for name, option in group.items():
            if (option.stage, option.key) == (stage, key):
                return option.flags(name)[0]
    return None
