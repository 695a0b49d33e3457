"""What is wrong with settings, and what was probably meant, in one sentence."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

from flows.settings.options import flag_of, unfolded
from flows.settings.schema import Settings
from flows.settings.stage import is_table, keys_of
from flows.settings.synonyms import KEYS
from flows.settings.terminology import check_files
from flows.settings.wording import in_words
from operators.errors import UsageError, nearest
from operators.languages import language


def meant_key(key: str, inside: str, names: Iterable[str]) -> str:
    """What to do about a key that does not exist: the one that was meant, or all that there are.

    Args:
        key: The unknown key.
        inside: The stage that it was found in, with a dot; empty for a stage.
        names: The keys that exist there.
    """
    plain, names = key.replace("-", "_").casefold(), list(names)
    known = [*_named(plain), *KEYS.get(plain, ())]
    if here := [one for one in known if one.startswith(inside)]:
        return f"did you mean {here[0]}?"
    if (near := nearest(plain, names)) is not None:
        return f"did you mean {inside}{near}?"
    if known or (near := nearest(plain, KEYS)) is not None:
        return f"did you mean {(known or KEYS[str(near)])[0]}?"
    return f"choose from {', '.join(names)}"


def _named(key: str) -> Iterator[str]:
    """The settings with this key, in all stages."""
    return (one for one in _all_settings(Settings) if one.rpartition(".")[2] == key)


def _all_settings(struct: type[msgspec.Struct], inside: str = "") -> Iterator[str]:
    """The keys of all settings, with those of their stages."""
    for key, kind in keys_of(struct).items():
        if is_table(kind):
            yield from _all_settings(kind, f"{inside}{key}.")
        else:
            yield f"{inside}{key}"


def invalid_value(
    error: msgspec.ValidationError,
    given: Mapping[str, Any],
    where: str,
    overrides: Mapping[str, Mapping[str, Any]],
) -> str:
    """The sentence about an invalid value.

    Args:
        error: What msgspec says.
        given: All values, by stage and key.
        where: The file, if the value is not among the ``overrides``.
        overrides: The settings given as options, by stage and key; they are named as such.
    """
    message, _, place = str(error).partition(" - at `$.")
    place = place.rstrip("`")
    choices = _choices(place)
    if choices:
        value, meant = _at(place, given), None
        if message.startswith("Invalid enum value ") or " matching " in message:
            message = f"{'this' if value is None else repr(value)} is not one of its values"
            meant = nearest(str(value), re.split(", | or ", choices))
        message = f"{message}; {f'did you mean {meant}? ' if meant else ''}choose from {choices}"
    return f"{_place(place, where, overrides)}: {in_words(message)}"


def _at(place: str, given: Any) -> Any:
    """The value at a place; None if it is inside another value."""
    for name in place.split("."):
        given = given.get(name) if isinstance(given, Mapping) else None
    return given


def check_languages(
    settings: Settings,
    where: str,
    overrides: Mapping[str, Mapping[str, Any]],
    *,
    takes_several: bool = False,
) -> None:
    """Check that all languages are known; the arguments are those of `invalid_value` and `load_settings`.

    Raises:
        UsageError: names the place of one that is not, or that is given twice; for several languages of
            captions where one is taken; for a glossary or dictionary of another or an unknown language.
    """
    translate, rooms = settings.translate, settings.rooms
    targets = (translate.target, *translate.more_targets)
    given = {
        "translate.from": (translate.source,), "translate.to": targets,
        "rooms.from": rooms.spoken, "rooms.to": rooms.written,
    }  # fmt: skip
    for place, names in given.items():
        for name in names:
            try:
                language(name)
            except UsageError as error:
                raise UsageError(f"{_place(place, where, overrides)}: {error}") from None
    place = _place("translate.to", where, overrides)
    if targets[1:] and not takes_several:
        raise UsageError(f"{place}: {', '.join(targets)} are {len(targets)} languages; name one here")
    known = [language(one) for one in targets]
    for one in known:
        if known.count(one) > 1:
            raise UsageError(f"{place}: {one.name} is named twice; name each language once")
    written = [*known, *map(language, rooms.written)]
    for key, files in (("glossary", translate.glossary), ("dictionary", translate.dictionary)):
        try:
            check_files(files, written, is_of_first=bool(rooms.written))
        except UsageError as error:
            raise UsageError(f"{_place(f'translate.{key}', where, overrides)}: {error}") from None


def _place(place: str, where: str, overrides: Mapping[str, Mapping[str, Any]]) -> str:
    """Where a setting was given: its option, or the file and its key."""
    stage, _, key = place.partition("[")[0].partition(".")
    if overrides.get(stage, {}).get(key) is not None and (flag := flag_of(stage, key)) is not None:
        return flag
    return f"{where}: {place}" if place else where


def _choices(place: str) -> str:
    """The possible values of a setting with few values, or what describes them; empty for others."""
    kind: Any = Settings
    for name in place.split("."):
        kind = keys_of(kind).get(name.partition("[")[0]) if is_table(kind) else None
    described = (
        ", ".join(get_args(one)) if get_origin(one) is Literal else getattr(one, "description", None)
        for one in unfolded(kind)
    )
    return next(filter(None, described), "")
