"""The settings of the language model, and of how it decodes."""

import re
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from connectors.models.firefox import REGISTRY
from flows.settings.methods import METHODS
from flows.settings.stage import ELSEWHERE, NotNegative, Positive, Probability, Stage
from flows.settings.terminology import Named, of_direction, parted
from operators.decoding import acceptance
from operators.decoding.pass_cost import BlockLength
from operators.languages import Direction
from operators.parts import Option
from operators.prompts.template import NAMES as TEMPLATE_NAMES

#: Valid values for the prompt: as a regular expression, and in words.
TEMPLATE = rf"^({'|'.join(map(re.escape, TEMPLATE_NAMES))}|.+\.toml)$"
TEMPLATES = f"{', '.join(TEMPLATE_NAMES)} or the path of a .toml file"
#: The same for the acceptance rule.
ACCEPT = rf"^(auto|{acceptance.pattern()}|{ELSEWHERE}(-[0-9.]+)?)$"
ACCEPTED = f"auto, {acceptance.description()}"

#: The methods that draft tokens after the divergence.
PROPOSING = tuple(one.name for one in METHODS.values() if not one.joins)
#: Those that verify the last output.
SPECULATIVE = ("ssbd", *PROPOSING)
METHOD_NAMES = (*SPECULATIVE, "retranslate", "continuous")
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[METHOD_NAMES]


#: Width of the beam search with a model trained on unfinished text (docs/decoding.md).
BEAM = 4


class TranslateSettings(Stage, frozen=True, kw_only=True):
    """The language model and how it decodes."""

    source: Annotated[str, Option("Language of the speech, by name or code.")] = msgspec.field(
        name="from", default="English"
    )
    target: Annotated[str, Option(
        "Language of the captions, by name or code; a run can have several: German,French.",
    )] = msgspec.field(name="to", default="German")  # fmt: skip
    #: Languages of further captions of the same speech; ``to`` may also name all, in a list or with commas
    #: between.
    more_targets: tuple[str, ...] = msgspec.field(name="more_to", default=())
    captions_only: Annotated[bool, Option(
        "Captions in the language that is spoken: nothing is translated, and no model for it is needed.",
        "--captions-only",
    )] = False  # fmt: skip
    model: Annotated[
        str,
        Option(
            "A name of `surtitle models`, a GGUF file, a folder (Marian), hub:OWNER/REPO:FILE.gguf, or two "
            "with a + between them, over English."
        ),
    ] = "default"
    offline: Annotated[bool, Option(
        "Download no model that the default model would be; SURTITLE_OFFLINE=1 says so for all runs.",
        "--offline",
    )] = False  # fmt: skip
    #: Address of the registry of Firefox's models: Mozilla's own, or that of a copy.
    registry: Annotated[str, Meta(pattern=r"^https?://", description="an address of the web")] = REGISTRY
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
        "Translations of rarer words: auto (those of the model for captions), none, or a file of "
        "`term<TAB>translation[<TAB>percent]`; fr=FILE as for --glossary.",
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
    beam: Annotated[Annotated[int, Meta(ge=1, le=16)] | None, Option(
        "Maximum number of hypotheses in the search after the divergence (ssbd, no draft model); 1: greedy.",
        default=f"{BEAM} if the model was trained on unfinished text, otherwise 1",
    )] = None  # fmt: skip
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
    hold_back: Annotated[NotNegative | None, Option(
        "Words at the end of unfinished speech that wait for the next update.",
        default="1 with an encoder-decoder model, otherwise 0",
    )] = None  # fmt: skip
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
    def needs_language_model(self) -> bool:
        """Whether something is asked for that only a language model can do."""
        return self.template != "auto" or self.draft_model is not None or self.heads is not None

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

    def width(self, *, knows_unfinished: bool = False) -> int:
        """The width of the beam search with a model that was or was not trained on unfinished text.

        Other methods, and a draft model, propose what follows the divergence instead.
        """
        if self.method != "ssbd" or self.draft_model is not None:
            return 1
        if self.beam is None:
            return BEAM if knows_unfinished else 1
        return self.beam

    def rules(self, *, knows_unfinished: bool = False) -> acceptance.Rules:
        """The acceptance rules for a model that was or was not trained on unfinished text."""
        return acceptance.suited_rules(self.accept, self.bias, self.final_bias, knows_unfinished)
