"""The schema of the settings: one frozen struct per stage, all in one TOML file, no global state.

A setting that commands take is ``Annotated`` with its `Option`. Its help is also what the settings' page
says of it, unless a comment says more there.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from connectors.http.access import LOCAL
from connectors.kafka.settings import KafkaInput, KafkaOutput
from connectors.messages import Format
from connectors.rooms.room import RoomLimits
from connectors.sinks.part import SINKS, SinkPart, shown_in
from connectors.web.streams import MAX_CLIENTS
from flows.settings.lists import words
from flows.settings.methods import METHODS
from flows.settings.terminology import Named, of_direction, parted
from operators.decoding import acceptance
from operators.decoding.pass_cost import BlockLength
from operators.languages import Direction
from operators.metrics.health import Rule
from operators.parts import Option
from operators.prompts.template import NAMES as TEMPLATE_NAMES
from operators.recognizers.part import RECOGNIZERS, RecognizerSettings
from operators.secret import Secret
from operators.sentences.joining import Bounds
from operators.subtitles.writer import Shown

_LIMITS = RoomLimits()
Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
#: Valid values for the prompt: as a regular expression, and in words.
TEMPLATE = rf"^({'|'.join(map(re.escape, TEMPLATE_NAMES))}|.+\.toml)$"
TEMPLATES = f"{', '.join(TEMPLATE_NAMES)} or the path of a .toml file"
# A part that is not registered.
_ELSEWHERE = r"[\w.]+:\w+"
#: The same for the acceptance rule.
ACCEPT = rf"^(auto|{acceptance.pattern()}|{_ELSEWHERE}(-[0-9.]+)?)$"
ACCEPTED = f"auto, {acceptance.description()}"
OwnSink = Annotated[str, Meta(pattern=f"^{_ELSEWHERE}=.+$", description="sinks such as mine:table=talk.csv")]


#: The methods that draft tokens after the divergence.
PROPOSING = tuple(one.name for one in METHODS.values() if not one.joins)
#: Those that verify the last output.
SPECULATIVE = ("ssbd", *PROPOSING)
METHOD_NAMES = (*SPECULATIVE, "retranslate", "continuous")
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[METHOD_NAMES]


class _Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one stage."""


def _extended(name: str, base: type[msgspec.Struct], fields: list[tuple[str, Any, Any]]) -> Any:
    """The settings of a stage with those of its parts."""
    return msgspec.defstruct(
        name, fields, bases=(base,), namespace={"__doc__": base.__doc__}, module=__name__,
        frozen=True, kw_only=True, forbid_unknown_fields=True,
    )  # fmt: skip


def keys_of(table: type[msgspec.Struct]) -> dict[str, Any]:
    """The keys of a table of the file, with their types."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(table)}


def is_table(kind: Any) -> bool:
    """Whether settings of this type are a table."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


class InputSettings(_Stage, frozen=True, kw_only=True):
    """Where events come from. Give exactly one input; the stages before its events do not run."""

    #: Recognise the speech of this recording: sound or video, an address, or ``-`` for standard input.
    audio: str | None = None
    #: Recordings that follow it, as parts of one talk.
    more_audio: tuple[str, ...] = ()
    #: Listen to a microphone: its index, its name or a part of it, or ``default``.
    microphone: Annotated[str | None, Option(
        "Index of the microphone, or part of its name; otherwise the system's.", "--device",
    )] = None  # fmt: skip
    #: Take the sound of rooms from browsers (``surtitle serve``).
    rooms: bool = False
    #: Seconds of sound that are buffered while the flow is busy; beyond that, the oldest are lost.
    buffer_s: Annotated[float, Meta(ge=1.0, le=600.0)] = _LIMITS.buffer_s
    partials: Annotated[str | None, Option(
        "Replay the partials of this file instead of recognising speech.", "--from-partials",
    )] = None  # fmt: skip
    translations: Annotated[str | None, Option(
        "Replay the translations of this file instead of translating.", "--from-translations",
    )] = None  # fmt: skip
    captions: Annotated[str | None, Option("Replay the captions of this file.", "--from-captions")] = None
    kafka: KafkaInput = KafkaInput()
    realtime: Annotated[
        bool, Option("Play the recording at its own pace, instead of as fast as possible.", "--realtime")
    ] = False
    skip_bad: Annotated[bool, Option("Move invalid lines to EVENTS.rejected and continue.", "--skip-bad")] = (
        False
    )


def _engine() -> Any:
    names = list(RECOGNIZERS)
    shown, pattern = ", ".join(names), rf"^({'|'.join(map(re.escape, names))}|{_ELSEWHERE})$"
    meta = Meta(pattern=pattern, description=f"{shown} or MODULE:NAME", examples=names)
    return Annotated[str, meta, Option(f"{shown}, or MODULE:NAME for one of your own.", "--recognizer")]


if TYPE_CHECKING:
    RecognizeSettings = RecognizerSettings
else:
    RecognizeSettings = _extended(
        "RecognizeSettings",
        RecognizerSettings,
        [
            ("engine", _engine(), RecognizerSettings().engine),
            *((one.name, one.settings, one.settings()) for one in RECOGNIZERS.values() if one.settings),
        ],
    )


class SentencesSettings(_Stage, frozen=True, kw_only=True):
    """How a recogniser's segments, which end at pauses, become sentences."""

    method: Annotated[Literal["auto", "rules", "off"], Option(
        "Where sentences end: rules, or auto, which also asks the model where they are unsure; off takes "
        "pauses for their ends.", "--sentences",
    )] = "auto"  # fmt: skip
    #: Seconds of silence after which a sentence has ended.
    pause_s: Annotated[float, Meta(ge=0.1, le=60.0)] = Bounds().pause_s
    #: Words from which on a sentence ends at the next pause where a clause may end; with half as many more,
    #: at any.
    max_words: Positive = Bounds().words
    #: Seconds of speech from which on it does, too.
    max_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = Bounds().speech_s
    #: Write numbers that the recogniser spells out as digits.
    digits: bool = True


class TranslateSettings(_Stage, frozen=True, kw_only=True):
    """The language model and how it decodes."""

    source: Annotated[str, Option("Language of the speech, by name or code.")] = msgspec.field(
        name="from", default="English"
    )
    target: Annotated[str, Option(
        "Language of the captions, by name or code; a run can have several: German,French.",
    )] = msgspec.field(name="to", default="German")  # fmt: skip
    #: Languages of further captions of the same speech; ``to`` may also name all, with commas between.
    more_targets: tuple[str, ...] = msgspec.field(name="more_to", default=())
    captions_only: Annotated[bool, Option(
        "Captions in the language that is spoken: nothing is translated, and no model for it is needed.",
        "--captions-only",
    )] = False  # fmt: skip
    model: Annotated[
        str,
        Option("A name of `surtitle models`, a GGUF file, a folder (Marian), or hub:OWNER/REPO:FILE.gguf."),
    ] = "default"
    template: Annotated[str, Meta(pattern=TEMPLATE, description=TEMPLATES), Option(
        "A prompt by its name, few-shot, chat, or a .toml file of your own; auto chooses by the model.",
    )] = "auto"  # fmt: skip
    method: Annotated[Method, Option(f"Decoding method: {', '.join(METHOD_NAMES)}.")] = "ssbd"
    glossary: Annotated[Named, Option(
        "Terms and their translations, which captions lean towards: a line each, a tab between. Of several "
        "languages: fr=FILE, again for each.",
        default="none",
    )] = None  # fmt: skip
    dictionary: Annotated[str | tuple[str, ...], Option(
        "Translations of rarer words: auto (those of the model for captions), none, or a file, tab-separated "
        "or of dict.cc, Ding or FreeDict; fr=FILE as for --glossary.",
    )] = "auto"  # fmt: skip
    context: Annotated[Annotated[int, Meta(ge=0, le=16)], Option(
        "Sentences before the present one that the model is told, if its makers foresee that (Hy-MT).",
    )] = 0  # fmt: skip
    bias: Annotated[
        Probability | None,
        Option("Bias (beta) towards the last output, 0 to 1.", default=f"{acceptance.BIAS:g}"),
    ] = None
    final_bias: Annotated[Probability | None, Option(
        "Bias at the last update of a segment; 0 translates it as from scratch.",
        default="the rule worth-0.6, or the same bias if the model was trained on such",
    )] = None  # fmt: skip
    accept: Annotated[str, Meta(pattern=ACCEPT, description=ACCEPTED), Option(
        f"Acceptance rule for drafts: {acceptance.names()}; auto is the bias if given, else what suits the "
        "model.",
        about=f"Which draft tokens are accepted: {acceptance.meanings()}. ``auto`` is the bias if one is "
        "given, otherwise what suits the model.",
    )] = "auto"  # fmt: skip
    #: Minimum number of tokens taken from a verified block, including the model's own next token.
    min_block: Positive = 1
    #: Beta towards tokens proposed after the divergence; 0 does not change results.
    proposal_bias: Probability = 0.0
    #: Tokens of a proposal; absent for as many as pay off on this machine, or eight in Jacobi blocks.
    block: Positive | None = None
    #: A proposal ends before the first token that is less probable than this.
    sure: Probability = BlockLength().threshold
    heads: Annotated[
        str | None, Option("Proposal heads of 'surtitle model heads', for the method heads.", default="none")
    ] = None
    draft_model: Annotated[str | None, Option(
        "Draft model, a smaller one of the same vocabulary: base, a GGUF file or hub:OWNER/REPO:FILE.gguf.",
        default="none",
    )] = None  # fmt: skip
    draft_length: Annotated[
        int, Meta(ge=1, le=256), Option("Maximum tokens that the draft model drafts at a time.")
    ] = 24
    draft_threshold: Annotated[Probability, Option("Probability below which the draft model stops.")] = 0.4
    #: Reuse the draft model's rejected tokens where a new draft meets them again.
    draft_recycling: bool = True
    draft_tree: Annotated[bool, Option("Let the draft model try two tokens where it is unsure.")] = False
    commit: Annotated[NotNegative, Option(
        "Passes that must clearly accept a draft token before it is no longer checked; 0: never.",
    )] = 1  # fmt: skip
    #: Minimum gap between the two best logits for an acceptance to be clear.
    commit_gap: Annotated[float, Meta(ge=0.0)] = 0.0
    keep: Annotated[bool, Option(
        "Keep what was computed for committed tokens when the source grows, where that is faster.",
    )] = True  # fmt: skip
    #: Tokens removed from the end of the draft (the paper's mask-k); the display has its own mask.
    draft_mask: NotNegative = 0
    strip_punctuation: Annotated[
        bool, Option("Remove the closing punctuation of unfinished speech.", "--strip-punctuation")
    ] = False
    close_unfinished: Annotated[bool | None, Option(
        "Add a full stop to unfinished speech, so that the model invents no ending.",
        default="unless the model was trained on unfinished text",
    )] = None  # fmt: skip
    hold_back: Annotated[
        NotNegative, Option("Words at the end of unfinished speech that are held back until the next update.")
    ] = 0
    #: Drop the draft when the source is revised, as other implementations do.
    drop_revised: bool = False
    keep_up: Annotated[bool | None, Option(
        "Skip updates that newer ones have overtaken, finals first; or translate every one.",
        "--keep-up/--every-update", "keep up where speech is live",
    )] = None  # fmt: skip
    finals_only: Annotated[bool | None, Option(
        "Caption sentences when they are finished, not while they grow; --every-update is the opposite.",
        "--finals-only", "recordings of which only files are written",
    )] = None  # fmt: skip
    threads: Annotated[
        Annotated[int, Meta(ge=1, le=1024)] | None, Option("Threads of the model.", default="measured")
    ] = None
    #: Number of segments that keep their KV cache.
    sessions: Annotated[int, Meta(ge=1, le=255)] = 4
    rooms: Annotated[Annotated[int, Meta(ge=1, le=255)] | None, Option(
        "Streams translated together, in the same passes; further live ones are refused, others wait.",
        default="one after the other",
    )] = None  # fmt: skip
    #: Maximum megabytes of the caches and logits of all models with these rooms; absent for no limit.
    memory_mb: Annotated[int, Meta(ge=1)] | None = None
    #: Maximum source tokens that are translated in one piece; a longer segment is split.
    max_source: Annotated[int, Meta(ge=16, le=100_000)] = 192

    @property
    def direction(self) -> Direction:
        """The source and the first target language. Raises `UsageError` for an unknown language."""
        return Direction.of(self.source, self.target)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The source and each of the target languages; raises the same."""
        return tuple(Direction.of(self.source, one) for one in (self.target, *self.more_targets))

    @property
    def terms(self) -> str | None:
        """The glossary of the first language; None if there is none."""
        return of_direction(self.glossary, self.direction, self.direction)

    @property
    def words(self) -> str:
        """The dictionary of the first language: auto, none or a file."""
        return of_direction(self.dictionary, self.direction, self.direction) or "auto"

    @property
    def terminology(self) -> list[str]:
        """The glossaries and dictionaries of all languages."""
        return [file for _, file in parted(self.glossary) + parted(self.dictionary)]

    @property
    def is_shared(self) -> bool:
        """Whether streams or languages are translated at the same time, not one after the other."""
        return self.rooms is not None or bool(self.more_targets)

    def rules(self, *, knows_unfinished: bool = False) -> acceptance.Rules:
        """The acceptance rules for a model that was or was not trained on unfinished text."""
        return acceptance.suited_rules(self.accept, self.bias, self.final_bias, knows_unfinished)


#: Tokens of a translation, and words of captions in the spoken language, that are withheld while unfinished;
#: docs/figures.md has what they are worth.
MASK_K, MASKED_WORDS = 3, 1


class DisplaySettings(_Stage, frozen=True, kw_only=True):
    """How captions are displayed."""

    mask_k: Annotated[NotNegative | None, Option(
        "Tokens withheld from unfinished captions; words of captions that are not translated.",
        default=f"{MASK_K}, or {MASKED_WORDS} word",
    )] = None  # fmt: skip

    def withheld(self, languages: Direction) -> int:
        """The tokens or words that captions in these languages withhold."""
        if self.mask_k is not None:
            return self.mask_k
        return MASK_K if languages.translates else MASKED_WORDS


class _OutputSettings(_Stage, frozen=True, kw_only=True):
    """Outputs: those that name a file are not written if absent."""

    #: Show captions on the terminal.
    terminal: bool = True
    subtitles: Annotated[
        Shown, Option("What subtitles show: source (the speech), target (its translation) or both.")
    ] = "target"
    summary: Annotated[str | None, Option("Write the closing summary here (JSON).")] = None
    kafka: KafkaOutput = KafkaOutput()
    sinks: Annotated[
        tuple[OwnSink, ...], Option("MODULE:NAME=FILE: write FILE with a sink of your own.", "--sink", "none")
    ] = ()

    def files(self) -> list[tuple[SinkPart, Path]]:
        """The sinks that are named, with their files."""
        named = []
        for one in SINKS.values():
            given = () if one.is_address else getattr(self, one.name) or ()
            for number, text in enumerate((given,) if isinstance(given, str) else given):
                shown, path = shown_in(text) if one.shows else (None, Path(text))
                name = f"{one.name}-{number + 1}" if number else one.name
                named.append((one._replace(name=name, shown=shown), path))
        for number, own in enumerate(self.sinks):
            name, _, file = own.partition("=")
            named.append((SINKS[name]._replace(name=f"sink-{number}"), Path(file)))
        return named

    def addresses(self) -> list[tuple[SinkPart, Secret]]:
        """The sinks that send elsewhere, with their addresses."""
        given = [(one, getattr(self, one.name)) for one in SINKS.values() if one.is_address]
        return [(one, address) for one, address in given if address is not None]

    if TYPE_CHECKING:

        def __getattr__(self, sink: str) -> Any:
            """The file of a sink; of some, several."""


def _type_of(one: SinkPart) -> Any:
    """What names a sink: a file, several, or an address."""
    return Secret if one.is_address else str | tuple[str, ...] if one.shows else str


if TYPE_CHECKING:
    OutputSettings = _OutputSettings
else:
    _options = {one: Option(one.help, " ".join(one.flags)) for one in SINKS.values()}
    OutputSettings = _extended(
        "OutputSettings",
        _OutputSettings,
        [(one.name, Annotated[_type_of(one) | None, option], None) for one, option in _options.items()],
    )


class WebSettings(_Stage, frozen=True, kw_only=True):
    """Captions in a browser."""

    enabled: Annotated[bool, Option("Show the captions in a browser, too.", "--web")] = False
    #: Name or address to listen on; one that other machines can reach needs a token.
    host: Annotated[str, Option("Address that the web page is served at; implies --web.")] = LOCAL
    #: Port; 0 for any free one.
    port: Annotated[int, Meta(ge=0, le=65535), Option("Its port, 0 for any; implies --web.")] = 8080
    #: Access token for viewers; absent for the one in SURTITLE_WEB_TOKEN, or a new one if one is needed.
    token: Secret | None = None
    #: Names under which viewers reach the server, besides ``host``, for instance those of a proxy.
    names: tuple[str, ...] = ()
    #: Maximum number of simultaneous viewers.
    max_clients: Annotated[int, Meta(ge=1, le=100_000)] = MAX_CLIENTS


class RoomsSettings(_Stage, frozen=True, kw_only=True):
    """Rooms whose speakers send their sound from a browser. ``translate.rooms`` is their maximum number."""

    #: Languages that rooms may be spoken in, by name or code; absent for ``translate.from``. More than one
    #: needs a recogniser that knows them.
    spoken: Annotated[
        tuple[str, ...], Option("Languages that rooms may be spoken in.", default="English", parse=words)
    ] = msgspec.field(name="from", default=())
    #: Languages of captions that rooms may choose from; absent for ``translate.to``.
    written: Annotated[tuple[str, ...], Option(
        "Languages that rooms may be captioned in: German,Spanish.", default="German", parse=words,
    )] = msgspec.field(name="to", default=())  # fmt: skip
    folder: Annotated[
        str | None, Option("Write finals and subtitles of each room into this folder.", "--captions-folder")
    ] = None
    keys: Annotated[
        str | None, Option("Keep the links of rooms in this file, over a restart.", "--room-keys")
    ] = None
    silence_s: Annotated[float, Meta(ge=1.0, le=86_400.0), Option(
        "Seconds without sound after which a room ends.", "--silence",
    )] = _LIMITS.silence_s  # fmt: skip
    #: Seconds in which a speaker may come back after the connection was lost.
    linger_s: Annotated[float, Meta(ge=0.0, le=3600.0)] = _LIMITS.linger_s
    #: Maximum bytes of one message of sound; a second has 32,000.
    message_bytes: Annotated[int, Meta(ge=2, le=1_048_576)] = _LIMITS.message_bytes
    #: Bytes of sound a second that are taken from a speaker; faster sound waits there.
    bytes_per_second: Annotated[int, Meta(ge=32_000, le=10_000_000)] = _LIMITS.bytes_per_second


class MetricsSettings(_Stage, frozen=True, kw_only=True):
    """Metrics and health for the operator."""

    listen: Annotated[Annotated[int, Meta(ge=0, le=65535)] | str | None, Option(
        "Serve metrics and /healthz at [HOST:]PORT, without HOST to this machine only; PORT 0 is any.",
        "--metrics", "nowhere",
    )] = None  # fmt: skip
    #: Unhealthy after this many seconds without a caption despite speech, or without sound from the source.
    stall_s: Annotated[float, Meta(ge=0.1, le=3600.0)] = Rule().stall_s
    #: Unhealthy after this many seconds of live sound in which nothing is recognised; 0 for never, for music.
    unheard_s: Annotated[float, Meta(ge=0.0, le=3600.0)] = Rule().unheard_s
    #: Peak level in dBFS below which sound counts as silence.
    silence_dbfs: Annotated[float, Meta(ge=-96.0, le=0.0)] = Rule().silence_dbfs


class MessagesSettings(_Stage, frozen=True, kw_only=True):
    """Messages on standard error."""

    format: Annotated[
        Format, Option("Messages on standard error: text, or json (one object per line).", "--log-format")
    ] = "text"


class RecoverySettings(_Stage, frozen=True, kw_only=True):
    """How a killed run resumes."""

    folder: Annotated[
        str | None, Option("Store snapshots in this folder; a killed run resumes from them.", "--recovery")
    ] = None
    #: Seconds between two snapshots; work since the last one is repeated after a crash.
    interval_s: Annotated[float, Meta(ge=0.01, le=3600.0)] = 1.0


#: Maximum threads of a flow.
MAX_WORKERS = 64


#: ``HOST:PORT`` of a process.
Address = Annotated[
    str, Meta(pattern=r"^[^\s,;/]+:[0-9]{1,5}$", description="addresses such as 10.0.0.1:2101")
]


class RunSettings(_Stage, frozen=True, kw_only=True):
    """The runner of the flow, unless Bytewax's own runner is used."""

    workers: Annotated[
        int, Meta(ge=1, le=MAX_WORKERS), Option("Threads that share the streams of the input.")
    ] = 1
    #: Addresses of all processes of a cluster, the same list for each of them; empty for one process.
    addresses: Annotated[tuple[Address, ...], Meta(max_length=1000), Option(
        "HOST:PORT of each process of a cluster, with commas between.",
        default="one process", parse=lambda _flag, given: tuple(given.split(",")),
    )] = ()  # fmt: skip
    process: Annotated[
        int, Meta(ge=0, le=999), Option("Number of this process among them, from 0; process 0 has the files.")
    ] = 0


class Settings(_Stage, frozen=True, kw_only=True):
    """All settings of a flow."""

    input: InputSettings = InputSettings()
    recognize: RecognizeSettings = RecognizeSettings()
    sentences: SentencesSettings = SentencesSettings()
    translate: TranslateSettings = TranslateSettings()
    display: DisplaySettings = DisplaySettings()
    output: OutputSettings = OutputSettings()
    web: WebSettings = WebSettings()
    rooms: RoomsSettings = RoomsSettings()
    metrics: MetricsSettings = MetricsSettings()
    messages: MessagesSettings = MessagesSettings()
    recovery: RecoverySettings = RecoverySettings()
    run: RunSettings = RunSettings()

    def files(self) -> list[tuple[SinkPart, Path]]:
        """The sinks that are named, with their files: of captions in several languages, one for each."""
        several = self.translate.directions if self.translate.more_targets else ()
        codes = [one.target.code for one in several]
        return [of_one for sink, path in self.output.files() for of_one in sink.of_each(path, codes)]

    @property
    def is_live(self) -> bool:
        """Whether events come as they happen."""
        return self.input.realtime or self.input.microphone is not None or self.input.rooms

    @property
    def keeps_up(self) -> bool:
        """Whether overtaken updates are skipped."""
        if self.translate.keep_up is not None:
            return self.translate.keep_up
        return self.is_live or self.input.kafka.topic is not None

    @property
    def finals_only(self) -> bool:
        """Whether only finished sentences are captioned: by default, of a recording that nobody watches."""
        if self.translate.finals_only is not None:
            return self.translate.finals_only
        if self.input.audio is None or self.is_live or self.translate.keep_up is not None:
            return False
        output = self.output
        own = [given.partition("=")[0] for given in output.sinks]
        written = [one.of for name, one in SINKS.items() if getattr(output, name)]
        written += [SINKS[name].of for name in own]
        # Somebody who names a file for every update wants all of them.
        records_updates = output.summary or any(step in ("partials", "records") for step in written)
        is_watched = self.web.enabled or (output.terminal and not written)
        return not (records_updates or is_watched or output.kafka != KafkaOutput())

    @property
    def translates_together(self) -> bool:
        """Whether sentences share passes: those of a recording, which ends, so nobody waits for them."""
        is_recording = self.input.audio is not None and not self.is_live
        # For health, a sentence that waits for others would be a stall.
        is_monitored = self.metrics.listen is not None
        return self.finals_only and is_recording and self.translate.rooms is None and not is_monitored
