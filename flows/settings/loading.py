"""Reads settings from a TOML file and the command line; errors are one sentence each."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from connectors.files.contents import read_toml
from connectors.messages import begin_messages, tell
from flows.settings.mistakes import check_languages, invalid_value, meant_key
from flows.settings.schema import Settings
from flows.settings.stage import is_table, keys_of
from flows.settings.translate import SPECULATIVE
from operators.errors import UsageError
from operators.secret import decode_secret, to_plain

# Number of characters of an unknown key to compare with the valid keys.
_MAX_KEY_CHARACTERS = 64


class Loaded(NamedTuple):
    """Settings, and which of them were given explicitly."""

    settings: Settings
    #: The given settings of the translate stage, by key.
    given: frozenset[str]

    def warn_of_unused(self) -> None:
        """Warn about given settings that have no effect in combination with the others."""
        translate = self.settings.translate
        if translate.captions_only:
            _warn_of_untranslated(self.given)
        else:
            warn_of_unused_bias(self.given, [translate.method], [translate.accept])


def begin_settings(path: Path | None, overrides: dict[str, dict[str, Any]] | None = None) -> Settings:
    """Load the settings of a run, and set up messages as they say; raises the errors of `load_settings`."""
    loaded = load(path, overrides, takes_several=True)
    begin_messages(loaded.settings.messages.format)
    loaded.warn_of_unused()
    return loaded.settings


def _warn_of_untranslated(given: frozenset[str]) -> None:
    """Warn of given settings of the model that translates, as there is none."""
    used = {"from", "captions_only", "glossary", "keep_up", "finals_only", "offline", "rooms", "threads"}
    idle = sorted(given - used)
    if idle:
        names = ", ".join(f"translate.{key}" for key in idle)
        tell("translation_idle", f"{names}: without effect, as nothing is translated (captions_only)")


def warn_of_unused_bias(given: Iterable[str], methods: Iterable[str], accepts: Iterable[str]) -> None:
    """Warn if a bias was ``given``, but none of the methods or acceptance rules uses one.

    Args:
        given: Keys of settings; those other than biases are ignored.
        methods: The decoding methods.
        accepts: The acceptance rules; ``auto`` is the bias if one is given.
    """
    names = [name for name in ("bias", "final_bias") if name in given]
    rules, methods = ["bias" if rule == "auto" else rule for rule in accepts], list(methods)
    if not names or ("bias" in rules and not set(methods).isdisjoint(SPECULATIVE)):
        return
    others = f"accept = {', '.join(rules)}" if "bias" not in rules else f"method = {', '.join(methods)}"
    has = "has" if len(names) == 1 else "have"
    tell(
        "bias_idle",
        f"{' and '.join(names)} {has} no effect with {others}, which takes no bias; leave one of them out",
    )


def load_settings(
    path: Path | None, overrides: dict[str, dict[str, Any]] | None = None, *, takes_several: bool = False
) -> Settings:
    """Load the settings of a TOML file; those in ``overrides`` (stage, key, value) replace them.

    Raises `InputError` for a file that cannot be read, and `UsageError` for invalid settings, and for several
    languages of captions unless the caller ``takes_several``.
    """
    return load(path, overrides, takes_several=takes_several).settings


def load(
    path: Path | None, overrides: dict[str, dict[str, Any]] | None = None, *, takes_several: bool = False
) -> Loaded:
    """Like `load_settings`, but also returns which settings were given; raises the same errors."""
    raw = {} if path is None else read_toml(path, "settings file", "its path")
    where = "the settings" if path is None else str(path)
    _check_keys(raw, Settings, where)
    _choose_language(raw, overrides or {}, where)
    for stage, values in (overrides or {}).items():
        given = {key: value for key, value in values.items() if value is not None}
        if isinstance(raw.setdefault(stage, {}), dict):  # otherwise reported below
            raw[stage] = {**raw[stage], **given}
    _part_languages(raw.get("translate"), overrides or {})
    _unpack(raw.get("translate"))
    try:
        settings = msgspec.convert(raw, Settings, dec_hook=decode_secret)
    except msgspec.ValidationError as error:
        raise UsageError(invalid_value(error, raw, where, overrides or {})) from None
    _check_texts(to_plain(settings, address=str), where)
    check_languages(settings, where, overrides or {}, takes_several=takes_several)
    return Loaded(_in_one_language(settings), frozenset(raw.get("translate", ())))


def _choose_language(raw: dict[str, Any], overrides: dict[str, dict[str, Any]], where: str) -> None:
    """Let an option for the language of the captions win over the file, where one says that there is none.

    Raises `UsageError` where both are said in one place.
    """
    for given, asked, named in (
        (raw, f"{where}: translate.captions_only", "to"), (overrides, "--captions-only", "--to"),
    ):  # fmt: skip
        if _value(given, "translate", "captions_only") and _names_language(given):
            raise UsageError(f"{asked} is for captions in the spoken language; leave {named} out")
    if _names_language(overrides) and _value(raw, "translate", "captions_only"):
        del raw["translate"]["captions_only"]


def _part_languages(translate: Any, overrides: Mapping[str, Mapping[str, Any]]) -> None:
    """Part the languages that ``to`` names, as a list or with commas between them."""
    if not isinstance(translate, dict):
        return
    if overrides.get("translate", {}).get("to") is not None:
        # The option names all of them.
        translate.pop("more_to", None)
    named = translate.get("to")
    if isinstance(named, list) and all(isinstance(one, str) for one in named):
        named = translate["to"] = ",".join(named)
    if not isinstance(named, str):
        return
    first, *others = [one.strip() for one in named.split(",") if one.strip()] or [""]
    if others:
        translate["to"], translate["more_to"] = first, [*others, *translate.get("more_to", ())]


def _unpack(translate: Any) -> None:
    """Take a list of one file, as options give it, for the file."""
    for key in ("glossary", "dictionary"):
        given = translate.get(key) if isinstance(translate, dict) else None
        if isinstance(given, list) and len(given) == 1:
            translate[key] = given[0]


def _names_language(given: Mapping[str, Any]) -> bool:
    return any(_value(given, stage, "to") is not None for stage in ("translate", "rooms"))


def _value(given: Mapping[str, Any], stage: str, key: str) -> Any:
    table = given.get(stage)
    return table.get(key) if isinstance(table, dict) else None


def _in_one_language(settings: Settings) -> Settings:
    """The settings, with captions in the spoken language if nothing is to be translated."""
    translate = settings.translate
    if not translate.captions_only:
        return settings
    return replace(
        settings,
        translate=replace(translate, target=translate.source, more_targets=()),
        rooms=replace(settings.rooms, written=()),
    )


def _check_keys(raw: dict[str, Any], struct: type[msgspec.Struct], where: str, inside: str = "") -> None:
    kinds = keys_of(struct)
    for key, value in raw.items():
        if key not in kinds:
            shown = key[:_MAX_KEY_CHARACTERS]
            raise UsageError(
                f"{where}: there is no setting {inside}{shown}; {meant_key(shown, inside, kinds)}"
            )
        if isinstance(value, dict) and is_table(kinds[key]):
            _check_keys(value, kinds[key], where, f"{inside}{key}.")


def _check_texts(settings: dict[str, Any], where: str, inside: str = "") -> None:
    """Check that all texts are valid Unicode without null characters, which no system allows in names.

    Args:
        settings: Keys and values, by stage.

    Raises:
        UsageError: names the place of an invalid text.
    """
    for key, value in settings.items():
        if isinstance(value, dict):
            _check_texts(value, where, f"{inside}{key}.")
        elif any("\0" in text for text in _texts(value)):
            raise UsageError(f"{where}: {inside}{key}: it contains a null character; remove it")
        elif any("\ud800" <= character <= "\udfff" for text in _texts(value) for character in text):
            # Most likely the name of a file in a legacy encoding.
            raise UsageError(f"{where}: {inside}{key} is {value!a}, which is not UTF-8; rename the file")


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [one for one in values if isinstance(one, str)]
