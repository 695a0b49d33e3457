"""Reads settings from a TOML file and the command line; errors are one sentence each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from connectors.files.contents import read_toml
from connectors.messages import begin_messages, log_event
from flows.settings.overrides import UNNAMED, Overrides
from flows.settings.schema import Settings
from flows.settings.terminology import check_files
from flows.settings.translate import SPECULATIVE
from operators.errors import UsageError, nearest
from operators.languages import language
from operators.recognizers.part import RECOGNIZERS
from operators.secret import decode_secret, to_plain

#: Returns the language of captions if none is named.
Choose = Callable[[Settings], str]

#: Settings of earlier releases, and what to do instead.
REMOVED = {
    "input.buffer_s": "30 seconds are buffered",
    "input.more_audio": "name all recordings in input.audio, in a list",
    "metrics.silence_dbfs": "sound below -40 dBFS counts as silence",
    "metrics.stall_s": "captions count as stalled after 10 seconds",
    "metrics.unheard_s": "speech counts as unheard after 30 seconds",
    "rooms.linger_s": "a speaker can reconnect for a minute",
    "rooms.silence_s": "a room ends after ten minutes without sound",
    "sentences.max_s": "after 30 seconds, the next pause ends a sentence",
    "sentences.max_words": "after 40 words, the next pause ends a sentence",
    "translate.dictionary": "a glossary lists the terms that must be translated as given",
    "translate.draft_recycling": "rejected draft tokens are always recycled",
    "translate.drop_revised": "the draft is always kept when the source is revised",
    "translate.keep": "set translate.commit=0 to keep no tokens",
    "translate.more_to": "name all languages in translate.to, in a list",
    "translate.proposal_bias": "set the rule for proposals with translate.proposal_accept, such as bias-0.2",
    "translate.offline": "set SURTITLE_OFFLINE=1 in the environment",
    "web.max_clients": "at most 2000 viewers are admitted",
    "web.token": "set SURTITLE_WEB_TOKEN in the environment",
}


class LoadedSettings(NamedTuple):
    settings: Settings
    #: The given settings of the translate stage, by key.
    given: frozenset[str]

    def warn_of_unused(self) -> None:
        """Warn about settings that were given but have no effect."""
        translate = self.settings.translate
        if translate.captions_only:
            _warn_of_untranslated(self.given)
        else:
            warn_of_unused_bias(self.given, [translate.method], [translate.accept])


def begin_settings(
    path: Path | None, overrides: Overrides | None = None, choose: Choose | None = None
) -> Settings:
    """Load the settings of a run, and set up messages; raises the errors of `load_settings`.

    Raises `UsageError` if no language of captions is named and ``choose`` is None.
    """

    def chosen(settings: Settings) -> str:
        if choose is None:
            raise UsageError(UNNAMED)
        # `choose` may log a message.
        begin_messages(settings.messages.format)
        return choose(settings)

    loaded = load(path, overrides, takes_several=True, choose=chosen)
    begin_messages(loaded.settings.messages.format)
    loaded.warn_of_unused()
    return loaded.settings


def _warn_of_untranslated(given: frozenset[str]) -> None:
    used = {"from", "captions_only", "glossary", "keep_up", "finals_only", "rooms", "threads"}
    idle = sorted(given - used)
    if idle:
        names = ", ".join(f"translate.{key}" for key in idle)
        log_event("translation_idle", f"{names}: no effect, because nothing is translated (captions_only)")


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
    log_event(
        "bias_idle",
        f"{' and '.join(names)} {has} no effect with {others}, which takes no bias; leave one of them out",
    )


def load_settings(
    path: Path | None,
    overrides: Overrides | None = None,
    *,
    takes_several: bool = False,
    choose: Choose | None = None,
) -> Settings:
    """Load the settings of a TOML file; those in ``overrides`` (stage, key, value) replace them.

    Raises `InputError` for a file that cannot be read, and `UsageError` for invalid settings, and for several
    languages of captions unless the caller ``takes_several``. If none is named, ``choose`` returns one.
    """
    return load(path, overrides, takes_several=takes_several, choose=choose).settings


def load(
    path: Path | None,
    overrides: Overrides | None = None,
    *,
    takes_several: bool = False,
    choose: Choose | None = None,
) -> LoadedSettings:
    """Like `load_settings`, but also returns which settings were given; raises the same errors."""
    raw = {} if path is None else read_toml(path, "the settings", "its path")
    where, overrides = "the settings" if path is None else str(path), overrides or {}

    def place(key: str) -> str:
        """The key, prefixed with the settings file unless an option sets it."""
        given: Any = overrides
        for name in key.partition("[")[0].split("."):
            given = given.get(name) if isinstance(given, Mapping) else None
        return f"{where}: {key}" if given is None else key

    _check_keys(raw, Settings, f"{where}: ")
    _check_keys(overrides, Settings)
    _choose_language(raw, overrides, where)
    raw = _merged(raw, overrides)
    translate = raw.get("translate", {})
    # The option yields a list even for one file.
    files = translate.get("glossary") if isinstance(translate, dict) else None
    if isinstance(files, list) and len(files) == 1:
        translate["glossary"] = files[0]
    try:
        settings = msgspec.convert(raw, Settings, dec_hook=decode_secret)
    except msgspec.ValidationError as error:
        message, _, key = str(error).partition(" - at `$.")
        raise UsageError(f"{place(key.rstrip('`'))}: {message}") from None
    _check_texts(to_plain(settings, address=str), where)
    engine, where_engine = settings.recognize.engine, place("recognize.engine")
    if ":" not in engine and engine not in RECOGNIZERS:
        raise UsageError(
            f"{where_engine}: there is no {engine!r}; choose from {', '.join(RECOGNIZERS)}, MODULE:NAME"
        )
    settings = _in_one_language(settings)
    with _named(place("translate.from")):
        _check_named(settings.translate.sources)
    settings = _with_language(settings, choose)
    for key, names in _languages(settings):
        with _named(place(key)):
            for name in names:
                language(name)
    targets, rooms = _targets(settings), settings.rooms.written
    with _named(place("translate.to")):
        if targets[1:] and not takes_several:
            raise UsageError(f"{', '.join(targets)} are {len(targets)} languages; name one here")
        _check_named(targets)
    written = [language(name) for name in (*targets, *rooms)]
    with _named(place("translate.glossary")):
        check_files(settings.translate.glossary, written, is_of_first=bool(rooms))
    return LoadedSettings(settings, frozenset(translate))


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Add the key to an error."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None


def _merged(raw: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(raw)
    for key, value in overrides.items():
        if isinstance(value, Mapping) and isinstance(before := merged.get(key, {}), Mapping):
            merged[key] = _merged(before, value)
        elif value is not None:
            merged[key] = value
    return merged


def _choose_language(raw: dict[str, Any], overrides: Overrides, where: str) -> None:
    """Let an option win over the file where one sets ``captions_only`` and the other a caption language.

    Raises `UsageError` where both are set in one place.
    """
    for given, asked, named in (
        (raw, f"{where}: translate.captions_only", "to"), (overrides, "--captions-only", "--to"),
    ):  # fmt: skip
        if _value(given, "translate", "captions_only") and _names_language(given):
            raise UsageError(f"{asked} is for captions in the spoken language; leave {named} out")
    if _names_language(overrides) and _value(raw, "translate", "captions_only"):
        del raw["translate"]["captions_only"]


def _names_language(given: Mapping[str, Any]) -> bool:
    return any(_value(given, stage, "to") is not None for stage in ("translate", "rooms"))


def _value(given: Mapping[str, Any], stage: str, key: str) -> Any:
    table = given.get(stage)
    return table.get(key) if isinstance(table, dict) else None


def _with_language(settings: Settings, choose: Choose | None) -> Settings:
    """If no language of captions is named, set the first one of the rooms, or the one from ``choose``."""
    translate, rooms = settings.translate, settings.rooms.written
    if translate.to is not None:
        return settings
    if settings.input.rooms and rooms:
        return replace(settings, translate=replace(translate, to=rooms[0]))
    return (
        settings if choose is None else replace(settings, translate=replace(translate, to=choose(settings)))
    )


def _in_one_language(settings: Settings) -> Settings:
    """Without translation, captions are in the spoken language."""
    translate = settings.translate
    if not translate.captions_only:
        return settings
    return replace(
        settings,
        translate=replace(translate, to=translate.sources[0]),
        rooms=replace(settings.rooms, written=()),
    )


def _check_keys(given: Mapping[str, Any], table: Any, where: str = "", inside: str = "") -> None:
    kinds = _keys_of(table)
    for key, value in given.items():
        if f"{inside}{key}" in REMOVED:
            raise UsageError(f"{where}there is no {inside}{key} any more; {REMOVED[inside + key]}")
        if key not in kinds:
            raise UsageError(
                f"{where}there is no setting {inside}{key[:64]}; {_meant(key, inside, list(kinds))}"
            )
        if isinstance(value, dict) and _is_table(kinds[key]):
            _check_keys(value, kinds[key], where, f"{inside}{key}.")


def _meant(key: str, inside: str, names: list[str]) -> str:
    """The remedy for an unknown key: the same name in another table, or a similar one."""
    plain = key[:64].replace("-", "_")
    elsewhere = [one for one in all_keys() if one.rpartition(".")[2] == plain]
    if elsewhere:
        return f"did you mean {elsewhere[0]}?"
    near = nearest(plain, names)
    return f"choose from {', '.join(names)}" if near is None else f"did you mean {inside}{near}?"


def all_keys(table: Any = Settings, inside: str = "") -> Iterator[str]:
    """All settings, such as ``translate.beam``."""
    for key, kind in _keys_of(table).items():
        yield from all_keys(kind, f"{inside}{key}.") if _is_table(kind) else (f"{inside}{key}",)


def _keys_of(table: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(table)}


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _languages(settings: Settings) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "translate.to", _targets(settings)
    yield "rooms.from", settings.rooms.spoken
    yield "rooms.to", settings.rooms.written


def _targets(settings: Settings) -> tuple[str, ...]:
    return () if settings.translate.to is None else settings.translate.targets


def _check_named(names: Sequence[str]) -> None:
    known = [language(one) for one in names]
    for one in known:
        if known.count(one) > 1:
            raise UsageError(f"{one.name} is named twice; name each language once")


def _check_texts(settings: dict[str, Any], where: str, inside: str = "") -> None:
    """Check for lone surrogates and null characters, which no system allows in names."""
    for key, value in settings.items():
        if isinstance(value, dict):
            _check_texts(value, where, f"{inside}{key}.")
            continue
        texts = "".join(
            one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str)
        )
        if "\0" in texts:
            raise UsageError(f"{where}: {inside}{key}: it contains a null character; remove it")
        if not texts.isprintable() and any("\ud800" <= one <= "\udfff" for one in texts):
            # Most likely the name of a file in a legacy encoding.
            raise UsageError(f"{where}: {inside}{key} is {value!a}, which is not UTF-8; rename the file")
