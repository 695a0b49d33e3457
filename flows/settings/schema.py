"""The schema of the settings: one frozen struct per stage, all in one TOML file, no global state."""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from connectors.kafka.settings import KafkaInput, KafkaOutput
from connectors.messages.log import Format
from connectors.sinks.part import SINKS
from flows.settings.methods import METHODS
from operators.decoding import acceptance
from operators.decoding.pass_cost import BlockLength
from operators.languages import Direction
from operators.recognizers.part import RECOGNIZERS, RecognizerSettings
from operators.secret import Secret
from operators.sentences.joining import Bounds
from operators.subtitles.writer import Shown

Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Probability = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
#: Valid values for the prompt: as a regular expression, and in words.
TEMPLATE = r"^(auto|few-shot|chat|tower|qwen3|.+\.toml)$"
TEMPLATES = "auto, few-shot, chat, tower, qwen3 or the path of a .toml file"
#: The same for the acceptance rule.
ACCEPT = f"^auto$|{acceptance.PATTERN}"
ACCEPTED = f"auto, {acceptance.DESCRIPTION}"

# A part that is not registered.
_ELSEWHERE = r"[\w.]+:\w+"
OwnSink = Annotated[
    str, msgspec.Meta(pattern=f"^{_ELSEWHERE}=.+$", description="sinks such as mine:table=talk.csv")
]

#: The methods that draft tokens after the divergence.
PROPOSING = tuple(one.name for one in METHODS.values() if not one.joins)
#: Those that verify the last output.
SPECULATIVE = ("ssbd", *PROPOSING)
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[(*SPECULATIVE, "retranslate", "continuous")]


class _Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one stage."""


def _extended(name: str, base: type[msgspec.Struct], fields: list[tuple[str, Any, Any]]) -> Any:
    """The settings of a stage with those of its parts."""
    return msgspec.defstruct(
        name, fields, bases=(base,), namespace={"__doc__": base.__doc__}, module=__name__,
        frozen=True, kw_only=True, forbid_unknown_fields=True,
    )  # fmt: skip


class InputSettings(_Stage, frozen=True, kw_only=True):
    """Where events come from. Give exactly one input; the stages before its events do not run."""

    #: Recognise the speech of this recording, a WAV or FLAC file.
    audio: str | None = None
    #: Listen to a microphone: its index, its name or a part of it, or ``default``.
    microphone: str | None = None
    #: Take the sound of rooms from browsers (``surtitle serve``).
    rooms: bool = False
    #: Seconds of sound that are buffered while the flow is busy; beyond that, the oldest are lost.
    buffer_s: Annotated[float, msgspec.Meta(ge=1.0, le=600.0)] = 30.0
    #: Read partials from this file (JSON lines) instead of recognising speech.
    partials: str | None = None
    #: Read translations from this file instead of translating.
    translations: str | None = None
    #: Read captions from this file.
    captions: str | None = None
    kafka: KafkaInput = KafkaInput()
    #: Release events at their original pace, instead of as fast as possible.
    realtime: bool = False
    #: Write invalid lines to a ``.rejected`` file and continue.
    skip_bad: bool = False


def _engines() -> msgspec.Meta:
    names = list(RECOGNIZERS)
    pattern = rf"^({'|'.join(map(re.escape, names))}|{_ELSEWHERE})$"
    return msgspec.Meta(pattern=pattern, description=f"{', '.join(names)} or MODULE:NAME", examples=names)


if TYPE_CHECKING:
    RecognizeSettings = RecognizerSettings
else:
    RecognizeSettings = _extended(
        "RecognizeSettings",
        RecognizerSettings,
        [
            ("engine", Annotated[str, _engines()], RecognizerSettings().engine),
            *((one.name, one.settings, one.settings()) for one in RECOGNIZERS.values() if one.settings),
        ],
    )


class SentencesSettings(_Stage, frozen=True, kw_only=True):
    """How a recogniser's segments, which end at pauses, become sentences."""

    #: What judges where a sentence ends: ``auto`` is rules, and the loaded model where they are unsure and it
    #: can judge; ``rules`` asks no model; ``off`` takes each segment for a sentence.
    method: Literal["auto", "rules", "off"] = "auto"
    #: Seconds of silence after which a sentence has ended.
    pause_s: Annotated[float, msgspec.Meta(ge=0.1, le=60.0)] = Bounds().pause_s
    #: Words from which on a sentence ends at the next pause where a clause may end; with half as many more,
    #: at any.
    max_words: Positive = Bounds().words
    #: Seconds of speech from which on it does, too.
    max_s: Annotated[float, msgspec.Meta(ge=1.0, le=3600.0)] = Bounds().speech_s
    #: Write numbers that the recogniser spells out as digits.
    digits: bool = True


class TranslateSettings(_Stage, frozen=True, kw_only=True):
    """The language model and how it decodes."""

    #: Language of the speech, by name or code.
    source: str = msgspec.field(name="from", default="English")
    #: Language of the captions, by name or code.
    target: str = msgspec.field(name="to", default="German")
    #: ``default``, ``base``, ``captions``, the path of a GGUF file, or ``hub:OWNER/REPO:FILE.gguf``.
    model: str = "default"
    #: The prompt template, by name or file; ``auto`` chooses it by the metadata of the model file.
    template: Annotated[str, msgspec.Meta(pattern=TEMPLATE, description=TEMPLATES)] = "auto"
    #: The decoding method.
    method: Method = "ssbd"
    #: Terms and their translations, which captions lean towards: the path of a tab-separated file.
    glossary: str | None = None
    #: Translations of rarer words, which captions lean towards a little: ``auto`` for those that come with
    #: the model for captions, ``none``, or the path of a dictionary with more words: tab-separated, or
    #: of dict.cc, Ding or FreeDict.
    dictionary: str = "auto"
    #: Beta: how strongly the distribution is biased towards the draft. Default: 0.2.
    bias: Probability | None = None
    #: Beta of a segment's last update; 0 decodes it as from scratch. Default: the same as the bias if the
    #: model was trained on unfinished text. Drafts of other models hold guesses that a bias would preserve:
    #: their last update is checked by ``worth-0.6``.
    final_bias: Probability | None = None
    #: The acceptance rule for draft tokens: the bias; or instead ``exact``; among the K most probable tokens
    #: (``top-K``); a probability within D of the best (``within-D``); or that cutting the draft there would
    #: gain less than P nats for each erased token (``worth-P``). ``auto`` is the bias if one is given,
    #: otherwise what suits the model.
    accept: Annotated[str, msgspec.Meta(pattern=ACCEPT, description=ACCEPTED)] = "auto"
    #: Minimum number of tokens taken from a verified block, including the model's own next token.
    min_block: Positive = 1
    #: Beta towards tokens proposed after the divergence; 0 does not change results.
    proposal_bias: Probability = 0.0
    #: Tokens of a proposal; absent for as many as pay off on this machine, or eight in Jacobi blocks.
    block: Positive | None = None
    #: A proposal ends before the first token that is less probable than this.
    sure: Probability = BlockLength().threshold
    #: Proposal heads trained for the model, for the method ``heads``: the path of a GGUF file.
    heads: str | None = None
    #: A draft model for tokens that the last output cannot provide: ``base``, the path of a GGUF file, or
    #: ``hub:OWNER/REPO:FILE.gguf``. It must have the same vocabulary as the main model.
    draft_model: str | None = None
    #: Maximum number of tokens that the draft model drafts at a time.
    draft_length: Annotated[int, msgspec.Meta(ge=1, le=256)] = 24
    #: The draft model stops at the first token that is less probable than this.
    draft_threshold: Probability = 0.4
    #: Reuse the draft model's rejected tokens where a new draft meets them again.
    draft_recycling: bool = True
    #: Where the draft model is unsure, draft the two most probable tokens and continue: a tree, verified in
    #: one pass.
    draft_tree: bool = False
    #: Number of passes that must clearly accept a draft token before it is committed, that is, no longer
    #: verified. 0 turns this off, and so does an exact rule, such as a bias of 0.
    commit: NotNegative = 1
    #: Minimum gap between the two best logits for an acceptance to be clear.
    commit_gap: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0
    #: Keep what was computed for committed tokens when the source before them grows, if that is faster on
    #: this machine. Otherwise all of the draft is evaluated at each update.
    keep: bool = True
    #: Tokens removed from the end of the draft (the paper's mask-k); the display has its own mask.
    draft_mask: NotNegative = 0
    #: Remove the closing punctuation of unfinished text.
    strip_punctuation: bool = False
    #: Put a full stop after unfinished text that does not end with punctuation, so that the model invents no
    #: ending. Default: unless the model was trained on unfinished text.
    close_unfinished: bool | None = None
    #: Number of words at the end of unfinished text that are held back until the next update.
    hold_back: NotNegative = 0
    #: Drop the draft when the source is revised, as other implementations do.
    drop_revised: bool = False
    #: Translate only the newest waiting update of a segment, and finals before all others. Default: if events
    #: come as they happen (live, or in real time).
    keep_up: bool | None = None
    #: Threads of the model; absent for the fastest number, measured at the first start.
    threads: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    #: Number of segments that keep their KV cache.
    sessions: Annotated[int, msgspec.Meta(ge=1, le=255)] = 4
    #: Number of streams that are translated together, in the same passes of the model. Further live streams
    #: are refused; others wait. Absent for any number, one after the other.
    rooms: Annotated[int, msgspec.Meta(ge=1, le=255)] | None = None
    #: Maximum megabytes of the caches and logits of all models with these rooms; absent for no limit.
    memory_mb: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: Maximum source tokens that are translated in one piece; a longer segment is split.
    max_source: Annotated[int, msgspec.Meta(ge=16, le=100_000)] = 192

    @property
    def direction(self) -> Direction:
        """The source and target language. Raises `UsageError` for an unknown language."""
        return Direction.of(self.source, self.target)

    def rules(self, *, knows_unfinished: bool = False) -> acceptance.Rules:
        """The acceptance rules for a model that was or was not trained on unfinished text."""
        return acceptance.suited_rules(self.accept, self.bias, self.final_bias, knows_unfinished)


class DisplaySettings(_Stage, frozen=True, kw_only=True):
    """How captions are displayed."""

    #: Tokens withheld from an unfinished translation.
    mask_k: NotNegative = 3


class _OutputSettings(_Stage, frozen=True, kw_only=True):
    """Outputs: those that name a file are not written if absent."""

    #: Show captions on the terminal.
    terminal: bool = True
    #: What subtitles show: the speech, its translation, or both.
    subtitles: Shown = "target"
    #: Write the closing summary here (JSON).
    summary: str | None = None
    kafka: KafkaOutput = KafkaOutput()
    #: Sinks of your own modules, and their files: ``MODULE:NAME=FILE``.
    sinks: tuple[OwnSink, ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, sink: str) -> str | None:
            """The file of a sink."""


if TYPE_CHECKING:
    OutputSettings = _OutputSettings
else:
    OutputSettings = _extended(
        "OutputSettings",
        _OutputSettings,
        [(one.name, Annotated[str | None, msgspec.Meta(title=one.help)], None) for one in SINKS.values()],
    )


class WebSettings(_Stage, frozen=True, kw_only=True):
    """Captions in a browser."""

    #: Serve the captions to browsers.
    enabled: bool = False
    #: Name or address to listen on; one that other machines can reach needs a token.
    host: str = "127.0.0.1"
    #: Port; 0 for any free one.
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8080
    #: Access token for viewers; absent for the one in SURTITLE_WEB_TOKEN, or a new one if one is needed.
    token: Secret | None = None
    #: Names under which viewers reach the server, besides ``host``, for instance those of a proxy.
    names: tuple[str, ...] = ()
    #: Maximum number of simultaneous viewers.
    max_clients: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 2000


class RoomsSettings(_Stage, frozen=True, kw_only=True):
    """Rooms whose speakers send their sound from a browser. ``translate.rooms`` is their maximum number."""

    #: Languages that rooms may be spoken in, by name or code; absent for ``translate.from``. More than one
    #: needs a recogniser that knows them.
    spoken: tuple[str, ...] = msgspec.field(name="from", default=())
    #: Languages of captions that rooms may choose from; absent for ``translate.to``.
    written: tuple[str, ...] = msgspec.field(name="to", default=())
    #: Folder into which the finals and subtitles of each room are written; absent to write none.
    folder: str | None = None
    #: Seconds without audible sound after which a room ends.
    silence_s: Annotated[float, msgspec.Meta(ge=1.0, le=86_400.0)] = 600.0
    #: Seconds in which a speaker may come back after the connection was lost.
    linger_s: Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)] = 60.0
    #: Maximum bytes of one message of sound; a second has 32,000.
    message_bytes: Annotated[int, msgspec.Meta(ge=2, le=1_048_576)] = 65_536
    #: Bytes of sound a second that are taken from a speaker; faster sound waits there.
    bytes_per_second: Annotated[int, msgspec.Meta(ge=32_000, le=10_000_000)] = 64_000


class MetricsSettings(_Stage, frozen=True, kw_only=True):
    """Metrics and health for the operator."""

    #: ``[HOST:]PORT`` to serve them at, only on this machine unless a host is given; absent to serve none.
    listen: Annotated[int, msgspec.Meta(ge=0, le=65535)] | str | None = None
    #: Unhealthy after this many seconds without a caption despite speech, or without sound from the source.
    stall_s: Annotated[float, msgspec.Meta(ge=0.1, le=3600.0)] = 10.0
    #: Unhealthy after this many seconds of live sound in which nothing is recognised; 0 for never, for music.
    unheard_s: Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)] = 30.0
    #: Peak level in dBFS below which sound counts as silence.
    silence_dbfs: Annotated[float, msgspec.Meta(ge=-96.0, le=0.0)] = -40.0


class MessagesSettings(_Stage, frozen=True, kw_only=True):
    """Messages on standard error."""

    #: Sentences for people, or one JSON object per line.
    format: Format = "text"


class RecoverySettings(_Stage, frozen=True, kw_only=True):
    """How a killed run resumes."""

    #: Folder in which the run saves its progress; absent for a run that always starts from the beginning.
    folder: str | None = None
    #: Seconds between two snapshots; work since the last one is repeated after a crash.
    interval_s: Annotated[float, msgspec.Meta(ge=0.01, le=3600.0)] = 1.0


#: Maximum threads of a flow.
MAX_WORKERS = 64


#: ``HOST:PORT`` of a process.
Address = Annotated[
    str, msgspec.Meta(pattern=r"^[^\s,;/]+:[0-9]{1,5}$", description="addresses such as 10.0.0.1:2101")
]


class RunSettings(_Stage, frozen=True, kw_only=True):
    """The runner of the flow, unless Bytewax's own runner is used."""

    #: Threads among which the streams are divided; they share the models.
    workers: Annotated[int, msgspec.Meta(ge=1, le=MAX_WORKERS)] = 1
    #: Addresses of all processes of a cluster, the same list for each of them; empty for one process.
    addresses: Annotated[tuple[Address, ...], msgspec.Meta(max_length=1000)] = ()
    #: Number of this process in that list, from 0. The first one reads and writes all files.
    process: Annotated[int, msgspec.Meta(ge=0, le=999)] = 0


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
