"""Settings: one frozen struct per stage, one TOML file of them, and nothing global.

The command line overrides the file. A key that is not known is an error that names the nearest valid one.
"""

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from operators.errors import InputError, UsageError
from operators.prompts.select import Template
from operators.recognizers.azure_settings import AzureSettings
from operators.subtitles.writer import Shown

Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Probability = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class _Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one stage."""


class InputSettings(_Stage, frozen=True, kw_only=True):
    """Where events come from. Exactly one input; the stages before its events do not run."""

    audio: str | None = None
    #: Listen to a microphone: its index, its name or a part of it, or ``default``.
    microphone: str | None = None
    #: Seconds of sound that are kept while the flow is busy; beyond, the oldest are lost.
    buffer_s: Annotated[float, msgspec.Meta(ge=1.0, le=600.0)] = 30.0
    partials: str | None = None
    translations: str | None = None
    captions: str | None = None
    #: Release events at the pace at which they came, instead of as fast as it goes.
    realtime: bool = False
    #: Put lines that are not valid aside in a ``.rejected`` file and go on.
    skip_bad: bool = False


class RecognizeSettings(_Stage, frozen=True, kw_only=True):
    """The speech recogniser."""

    engine: Literal["moonshine", "azure", "vosk"] = "moonshine"
    #: Folder of the engine's model; absent for the English one that comes with moonshine.
    model: str | None = None
    #: Kind of the moonshine model in that folder.
    arch: Literal[
        "tiny", "base", "tiny-streaming", "base-streaming", "small-streaming", "medium-streaming"
    ] = "tiny"
    #: Seconds of speech between two hypotheses.
    update_interval_s: Annotated[float, msgspec.Meta(gt=0.0)] = 0.5
    #: Run moonshine, which leaks, in a process of its own; absent for: where it may run for hours.
    isolate: bool | None = None
    azure: AzureSettings = AzureSettings()


class TranslateSettings(_Stage, frozen=True, kw_only=True):
    """The language model and how it decodes."""

    source: str = msgspec.field(name="from", default="English")
    target: str = msgspec.field(name="to", default="German")
    #: ``default``, the path of a GGUF file, or ``hub:OWNER/REPO:FILE.gguf``.
    model: str = "default"
    #: How the model is asked; ``auto`` goes by what the model file says about itself.
    template: Template = "auto"
    method: Literal["ssbd", "retranslate", "continuous"] = "ssbd"
    #: Beta: how far the distribution leans towards the draft.
    bias: Probability = 0.2
    #: Beta of a segment's last update.
    final_bias: Probability = 0.0
    #: Passes that a draft token must have stood clearly before it is believed unseen; 0 is off, and so is
    #: a bias of 0.
    commit: NotNegative = 1
    #: Least gap between the best logit and the next that is clear.
    commit_gap: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0
    #: Tokens taken from the end of the draft (the paper's mask-k); the display has a mask of its own.
    draft_mask: NotNegative = 0
    #: Take away the closing punctuation of unfinished text.
    strip_punctuation: bool = False
    #: Words at the end of unfinished text that wait for the next update.
    hold_back: NotNegative = 0
    #: Drop the draft when the source is revised, as other implementations do.
    drop_revised: bool = False
    #: Translate only the newest of a segment's updates that wait for the model, and finals before all others;
    #: absent for: where events come as they happen (live, or in real time).
    keep_up: bool | None = None
    #: Threads of the model; absent for as many as are fastest, measured at the first start.
    threads: Positive | None = None
    #: Segments that keep their KV cache.
    sessions: Positive = 4
    #: Tokens of source that are translated in one piece; a longer segment is split.
    max_source: Annotated[int, msgspec.Meta(ge=16)] = 192


class DisplaySettings(_Stage, frozen=True, kw_only=True):
    """What the viewer sees."""

    #: Tokens withheld from an unfinished translation.
    mask_k: NotNegative = 3


class OutputSettings(_Stage, frozen=True, kw_only=True):
    """Where events go, files of JSON lines unless said otherwise; absent ones are not written."""

    #: Captions on the terminal.
    terminal: bool = True
    #: The erasure log.
    log: str | None = None
    partials: str | None = None
    translations: str | None = None
    captions: str | None = None
    #: Subtitles as SubRip and as WebVTT.
    srt: str | None = None
    vtt: str | None = None
    #: What they show: the speech, its translation, or both.
    subtitles: Shown = "target"
    #: The closing summary, one JSON object.
    summary: str | None = None
    #: What was heard, as 16 kHz WAV.
    audio: str | None = None


class WebSettings(_Stage, frozen=True, kw_only=True):
    """Captions in a browser."""

    enabled: bool = False
    #: Name or address to listen on; one that other machines reach needs a token.
    host: str = "127.0.0.1"
    #: 0 is any that is free.
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8080
    #: What viewers must know; absent for the one in SURTITLE_WEB_TOKEN, or a new one where one is needed.
    token: str | None = None
    #: Names under which viewers reach the server, beside ``host``: those of a proxy, for instance.
    names: tuple[str, ...] = ()
    #: Viewers at once.
    max_clients: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 2000


class RecoverySettings(_Stage, frozen=True, kw_only=True):
    """How a run that was killed goes on."""

    #: Folder in which the run remembers how far it came; absent for a run that begins anew each time.
    folder: str | None = None
    #: Seconds between two snapshots: what was done since the last one is done again.
    interval_s: Annotated[float, msgspec.Meta(ge=0.01, le=3600.0)] = 1.0


class Settings(_Stage, frozen=True, kw_only=True):
    """All settings of a flow."""

    input: InputSettings = InputSettings()
    recognize: RecognizeSettings = RecognizeSettings()
    translate: TranslateSettings = TranslateSettings()
    display: DisplaySettings = DisplaySettings()
    output: OutputSettings = OutputSettings()
    web: WebSettings = WebSettings()
    recovery: RecoverySettings = RecoverySettings()

    @property
    def is_live(self) -> bool:
        """Whether events come as they happen."""
        return self.input.realtime or self.input.microphone is not None

    @property
    def keeps_up(self) -> bool:
        """Whether updates that newer ones have overtaken are skipped."""
        return self.is_live if self.translate.keep_up is None else self.translate.keep_up


def load_settings(path: Path | None, overrides: dict[str, dict[str, Any]] | None = None) -> Settings:
    """Settings of a TOML file, with those in ``overrides`` (stage, key, value) taking their place.

    Raises `InputError` for a file that cannot be read, `UsageError` for what it asks for.
    """
    raw = {} if path is None else _read(path)
    where = "the settings" if path is None else str(path)
    _check_keys(raw, Settings, where)
    for stage, values in (overrides or {}).items():
        given = {key: value for key, value in values.items() if value is not None}
        raw[stage] = {**raw.get(stage, {}), **given}
    _check_text(raw, where)
    try:
        return msgspec.convert(raw, Settings)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_in_words(error)}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: the settings cannot be read ({error.strerror}); check --settings"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this is not valid TOML: {error}") from None


def _check_keys(raw: dict[str, Any], struct: type[msgspec.Struct], where: str, inside: str = "") -> None:
    names = {field.encode_name: field.name for field in msgspec.structs.fields(struct)}
    hints = get_type_hints(struct)
    for key, value in raw.items():
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)[0]
            raise UsageError(f"{where}: there is no setting {inside}{key}; did you mean {inside}{near}?")
        stage = hints[names[key]]
        if isinstance(value, dict) and isinstance(stage, type) and issubclass(stage, msgspec.Struct):
            _check_keys(value, stage, where, f"{key}.")


def _check_text(stage: dict[str, Any], where: str, inside: str = "") -> None:
    """Refuse what no file of ours could hold: the name of a file, most likely, in an old encoding."""
    for key, value in stage.items():
        if isinstance(value, dict):
            _check_text(value, where, f"{inside}{key}.")
        elif isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            raise UsageError(f"{where}: {inside}{key} is {value!a}, which is not UTF-8; rename the file")


def _in_words(error: msgspec.ValidationError) -> str:
    message, _, place = str(error).partition(" - at `$.")
    return f"{place.rstrip('`')}: {message}" if place else message
