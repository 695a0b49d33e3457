"""Reads settings: a TOML file, the command line over it, and one sentence for what is wrong with them."""

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from connectors.files.toml import read_toml
from connectors.messages.log import begin_messages, tell
from flows.settings.schema import SPECULATIVE, Settings
from operators.errors import UsageError
from operators.secret import decode_secret, to_plain

# Characters of a key that are worth comparing with those that there are.
_MAX_KEY_CHARACTERS = 64


class Loaded(NamedTuple):
    """Settings, and what was asked for in vain."""

    settings: Settings
    #: The translate stage's settings that were given, by key.
    given: frozenset[str]

    def tell_of_idle(self) -> None:
        """Say which of the given settings have no effect beside the others."""
        translate = self.settings.translate
        tell_of_idle_bias(self.given, [translate.method], [translate.accept])


def begin_settings(path: Path | None, overrides: dict[str, dict[str, Any]] | None = None) -> Settings:
    """The settings of a run, whose messages are from now on as they say; raises as `load_settings` does."""
    loaded = load(path, overrides)
    begin_messages(loaded.settings.messages.format)
    loaded.tell_of_idle()
    return loaded.settings


def tell_of_idle_bias(given: Iterable[str], methods: Iterable[str], accepts: Iterable[str]) -> None:
    """Say so where a bias was ``given`` to methods or acceptance rules none of which takes one.

    Args:
        given: Keys of settings; those that are no bias do not matter.
    """
    names = [name for name in ("bias", "final_bias") if name in given]
    rules, methods = list(accepts), list(methods)
    if not names or ("bias" in rules and not set(methods).isdisjoint(SPECULATIVE)):
        return
    others = f"accept = {', '.join(rules)}" if "bias" not in rules else f"method = {', '.join(methods)}"
    has = "has" if len(names) == 1 else "have"
    tell(
        "bias_idle",
        f"{' and '.join(names)} {has} no effect beside {others}, which takes no bias; leave one of them out",
    )


def load_settings(path: Path | None, overrides: dict[str, dict[str, Any]] | None = None) -> Settings:
    """Settings of a TOML file, with those in ``overrides`` (stage, key, value) taking their place.

    Raises `InputError` for a file that cannot be read, `UsageError` for what it asks for.
    """
    return load(path, overrides).settings


def load(path: Path | None, overrides: dict[str, dict[str, Any]] | None = None) -> Loaded:
    """The same, with what was given; raises likewise."""
    raw = {} if path is None else read_toml(path, "settings file", "--settings")
    where = "the settings" if path is None else str(path)
    _check_keys(raw, Settings, where)
    for stage, values in (overrides or {}).items():
        given = {key: value for key, value in values.items() if value is not None}
        if isinstance(raw.setdefault(stage, {}), dict):  # if not, it is told of below
            raw[stage] = {**raw[stage], **given}
    try:
        settings = msgspec.convert(raw, Settings, dec_hook=decode_secret)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_in_words(error)}") from None
    _check_texts(to_plain(settings), where)
    return Loaded(settings, frozenset(raw.get("translate", ())))


def _check_keys(raw: dict[str, Any], struct: type[msgspec.Struct], where: str, inside: str = "") -> None:
    names = {field.encode_name: field.name for field in msgspec.structs.fields(struct)}
    hints = get_type_hints(struct)
    for key, value in raw.items():
        if key not in names:
            shown = key[:_MAX_KEY_CHARACTERS]
            near = difflib.get_close_matches(shown, names, n=1, cutoff=0.0)[0]
            raise UsageError(f"{where}: there is no setting {inside}{shown}; did you mean {inside}{near}?")
        stage = hints[names[key]]
        if isinstance(value, dict) and isinstance(stage, type) and issubclass(stage, msgspec.Struct):
            _check_keys(value, stage, where, f"{inside}{key}.")


def _in_words(error: msgspec.ValidationError) -> str:
    message, _, place = str(error).partition(" - at `$.")
    place = place.rstrip("`")
    choices = _choices(place)
    if choices:
        message = "this is none of its values" if " matching " in message else message
        message = f"{message}; choose from {choices}"
    return f"{place}: {message}" if place else message


def _choices(place: str) -> str:
    """What a setting that has few values can be; empty for others."""
    kind: Any = Settings
    for name in place.split("."):
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            return ""
        names = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
        kind = get_type_hints(kind, include_extras=True).get(names.get(name, ""))
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    return next((one.description for one in getattr(kind, "__metadata__", ()) if one.description), "")


def _check_texts(settings: dict[str, Any], where: str, inside: str = "") -> None:
    """See that no text has a null character, which no system takes for the name of anything, and is one.

    Args:
        settings: Stages, and in them keys and values.

    Raises:
        UsageError: with the place of a text that has one.
    """
    for key, value in settings.items():
        if isinstance(value, dict):
            _check_texts(value, where, f"{inside}{key}.")
        elif any("\0" in text for text in _texts(value)):
            raise UsageError(f"{where}: {inside}{key}: there is a null character in it; leave it out")
        elif any("\ud800" <= character <= "\udfff" for text in _texts(value) for character in text):
            # A file's name in an old encoding, most likely.
            raise UsageError(f"{where}: {inside}{key} is {value!a}, which is not UTF-8; rename the file")


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [one for one in values if isinstance(one, str)]
