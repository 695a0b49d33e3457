"""Settings: one frozen struct per stage, one TOML file of them, and nothing global."""

from typing import Annotated, Literal

import msgspec

from connectors.messages.log import Format
from operators.decoding.pass_cost import BlockLength
from operators.decoding.prediction import Prediction
from operators.languages import Direction
from operators.recognizers.azure.settings import AzureSettings
from operators.secret import Secret
from operators.subtitles.writer import Shown

Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Probability = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
#: What chooses a prompt, and the acceptance rules: as regular expressions, and in words.
TEMPLATE = r"^(auto|few-shot|chat|tower|qwen3|.+\.toml)$"
TEMPLATES = "auto, few-shot, chat, tower, qwen3 or the path of a .toml file"
_PRICE = r"[0-9]{1,2}(\.[0-9]{1,9})?"
ACCEPT = rf"^(bias|exact|top-[1-9][0-9]{{0,5}}|within-(0(\.[0-9]+)?|1(\.0+)?)|worth-{_PRICE})$"
ACCEPTED = "bias, exact, worth-P, top-K or within-D, such as worth-0.6, top-2 and within-0.1"

#: The methods that verify their last output: SSBD, and what decodes on from its divergence in another way.
SPECULATIVE = ("ssbd", "recycle", "jacobi", "gs-jacobi", "hybrid-jacobi", "heads")


#: Those of them that draft tokens there.
PROPOSING = SPECULATIVE[1:]


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

    engine: Literal["moonshine", "azure", "vosk", "whisper"] = "moonshine"
    #: Folder of the engine's model; absent for the English one that comes with moonshine.
    model: str | None = None
    #: Seconds of speech between two hypotheses.
    update_interval_s: Annotated[float, msgspec.Meta(gt=0.0, le=60.0)] = 0.5
    #: Beta of moonshine's and whisper's partials: how far they lean towards the hypothesis before. Finals do
    #: not.
    bias: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.2
    #: Least probability of the last word that these two show of an unfinished segment.
    certainty: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.7
    #: Threads of these two; absent for as many as there are cores, two at most.
    threads: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    azure: AzureSettings = AzureSettings()


class TranslateSettings(_Stage, frozen=True, kw_only=True):
    """The language model and how it decodes."""

    source: str = msgspec.field(name="from", default="English")
    target: str = msgspec.field(name="to", default="German")
    #: ``default``, ``base``, ``captions``, the path of a GGUF file, or ``hub:OWNER/REPO:FILE.gguf``.
    model: str = "default"
    #: How the model is asked: by a template's name or file; ``auto`` goes by what the model file says about
    #: itself.
    template: Annotated[str, msgspec.Meta(pattern=TEMPLATE, description=TEMPLATES)] = "auto"
    method: Literal[
        "ssbd", "recycle", "jacobi", "gs-jacobi", "hybrid-jacobi", "heads", "retranslate", "continuous"
    ] = "ssbd"
    #: Beta: how far the distribution leans towards the draft.
    bias: Probability = 0.2
    #: Beta of a segment's last update; absent for: 0, or the same where the model was trained on unfinished
    #: text, whose drafts hold no guesses that a bias would keep alive.
    final_bias: Probability | None = None
    #: The rule by which draft tokens stand: the bias, or instead of it ``exact``, the K likeliest tokens
    #: (``top-K``), a probability within D of the best one's (``within-D``), or what it would win to cut the
    #: draft there being less than P nats for each token erased (``worth-P``).
    accept: Annotated[str, msgspec.Meta(pattern=ACCEPT, description=ACCEPTED)] = "bias"
    #: Tokens that a verified block takes at least, the model's own next one among them.
    min_block: Positive = 1
    #: Beta towards tokens that are proposed after the divergence; 0 changes no result.
    proposal_bias: Probability = 0.0
    #: Tokens of a proposal; absent for as many as pay on this machine, and for eight in blocks of Jacobi's.
    block: Positive | None = None
    #: A proposal ends before the first token that is less probable.
    sure: Probability = BlockLength().threshold
    #: Proposal heads that were trained for the model, for the method ``heads``: the path of a GGUF file.
    heads: str | None = None
    #: A second model that drafts where the last output has nothing: ``base``, the path of a GGUF file, or
    #: ``hub:OWNER/REPO:FILE.gguf``. It must have the vocabulary of the first.
    draft_model: str | None = None
    #: Tokens that it drafts at a time, at most; it stops with the first token that is less probable.
    draft_length: Annotated[int, msgspec.Meta(ge=1, le=256)] = Prediction().length
    draft_threshold: Probability = Prediction().threshold
    #: Use its rejected tokens again where a new draft meets them.
    draft_recycling: bool = True
    #: Where it is unsure, draft the two most probable tokens and go on: a tree, verified in one pass.
    draft_tree: bool = False
    #: Passes that a draft token must have stood clearly before it is believed unseen; 0 is off, and so is
    #: an exact rule, such as a bias of 0.
    commit: NotNegative = 1
    #: Least gap between the best logit and the next that is clear.
    commit_gap: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0
    #: Tokens taken from the end of the draft (the paper's mask-k); the display has a mask of its own.
    draft_mask: NotNegative = 0
    #: Take away the closing punctuation of unfinished text.
    strip_punctuation: bool = False
    #: Put a full stop after unfinished text that has no punctuation at its end, so that the model invents no
    #: end for it; absent for: unless it was trained on unfinished text.
    close_unfinished: bool | None = None
    #: Words at the end of unfinished text that wait for the next update.
    hold_back: NotNegative = 0
    #: Drop the draft when the source is revised, as other implementations do.
    drop_revised: bool = False
    #: Translate only the newest of a segment's updates that wait for the model, and finals before all others;
    #: absent for: where events come as they happen (live, or in real time).
    keep_up: bool | None = None
    #: Threads of the model; absent for as many as are fastest, measured at the first start.
    threads: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    #: Segments that keep their KV cache.
    sessions: Annotated[int, msgspec.Meta(ge=1, le=255)] = 4
    #: Streams that are translated together, in the same passes of the model; more are refused where speech is
    #: live, and wait elsewhere. Absent for: one after the other, and any number.
    rooms: Annotated[int, msgspec.Meta(ge=1, le=255)] | None = None
    #: Megabytes that the model's cache and its logits may take with so many rooms; absent for any number.
    memory_mb: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: Tokens of source that are translated in one piece; a longer segment is split.
    max_source: Annotated[int, msgspec.Meta(ge=16, le=100_000)] = 192

    @property
    def direction(self) -> Direction:
        """What is translated into what. Raises `UsageError` for a language that is not known."""
        return Direction.of(self.source, self.target)


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
    token: Secret | None = None
    #: Names under which viewers reach the server, beside ``host``: those of a proxy, for instance.
    names: tuple[str, ...] = ()
    #: Viewers at once.
    max_clients: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 2000


class MetricsSettings(_Stage, frozen=True, kw_only=True):
    """Metrics and health for whoever runs it."""

    #: ``[HOST:]PORT`` to serve them at, for this machine unless a host is given; absent for nowhere.
    listen: Annotated[int, msgspec.Meta(ge=0, le=65535)] | str | None = None
    #: Seconds without a caption despite speech, or without any sound from the source, that are too many.
    stall_s: Annotated[float, msgspec.Meta(ge=0.1, le=3600.0)] = 10.0
    #: Seconds of live sound in which nothing is recognised that are too many; 0 never are, for music.
    unheard_s: Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)] = 30.0
    #: Peak level in dBFS below which it is silence.
    silence_dbfs: Annotated[float, msgspec.Meta(ge=-96.0, le=0.0)] = -40.0


class MessagesSettings(_Stage, frozen=True, kw_only=True):
    """What is told on standard error."""

    #: Sentences for people, or one JSON object a line.
    format: Format = "text"


class RecoverySettings(_Stage, frozen=True, kw_only=True):
    """How a run that was killed goes on."""

    #: Folder in which the run remembers how far it came; absent for a run that begins anew each time.
    folder: str | None = None
    #: Seconds between two snapshots: what was done since the last one is done again.
    interval_s: Annotated[float, msgspec.Meta(ge=0.01, le=3600.0)] = 1.0


#: Threads of a flow.
MAX_WORKERS = 64


class RunSettings(_Stage, frozen=True, kw_only=True):
    """What runs the flow, when that is not Bytewax' own runner."""

    #: Threads among which the streams are dealt out; they share one model. Absent for as many as there may be
    #: rooms, up to 64, or 1.
    workers: Annotated[int, msgspec.Meta(ge=1, le=MAX_WORKERS)] | None = None


class Settings(_Stage, frozen=True, kw_only=True):
    """All settings of a flow."""

    input: InputSettings = InputSettings()
    recognize: RecognizeSettings = RecognizeSettings()
    translate: TranslateSettings = TranslateSettings()
    display: DisplaySettings = DisplaySettings()
    output: OutputSettings = OutputSettings()
    web: WebSettings = WebSettings()
    metrics: MetricsSettings = MetricsSettings()
    messages: MessagesSettings = MessagesSettings()
    recovery: RecoverySettings = RecoverySettings()
    run: RunSettings = RunSettings()

    @property
    def is_live(self) -> bool:
        """Whether events come as they happen."""
        return self.input.realtime or self.input.microphone is not None

    @property
    def workers(self) -> int:
        """Threads of the flow: each waits for the model on behalf of one room at a time."""
        return self.run.workers or min(self.translate.rooms or 1, MAX_WORKERS)

    @property
    def keeps_up(self) -> bool:
        """Whether updates that newer ones have overtaken are skipped."""
        return self.is_live if self.translate.keep_up is None else self.translate.keep_up
