"""The settings of the language model, and of how it decodes."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from connectors.models.firefox import REGISTRY
from flows.settings.overrides import UNNAMED
from flows.settings.terminology import Named, of_direction, parted
from operators.decoding import acceptance
from operators.decoding.pass_cost import BlockLength
from operators.decoding.translator import GUARDS, Guard
from operators.errors import UsageError
from operators.languages import Direction, Language, language
from operators.prompts.template import BY_MODEL, CORRECT
from operators.prompts.template import NAMES as TEMPLATE_NAMES

Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]

#: Valid values for the prompt: as a regular expression, and in words.
TEMPLATE = rf"^({'|'.join(map(re.escape, TEMPLATE_NAMES))}|.+\.toml)$"
TEMPLATES = f"{', '.join(TEMPLATE_NAMES)} or the path of a .toml file"

Method = Literal[
    "ssbd", "heads", "jacobi", "gs-jacobi", "hybrid-jacobi", "recycle", "retranslate", "continuous"
]
METHOD_NAMES: tuple[str, ...] = get_args(Method)
#: Methods that verify the last output; those among them that also propose tokens after the divergence.
SPECULATIVE, PROPOSING = METHOD_NAMES[:6], METHOD_NAMES[1:6]
#: Methods that can use a draft model; methods whose proposal length depends on the cost of passes.
DRAFTED, WEIGHING = ("ssbd", "recycle"), ("heads", "recycle")
#: The parallel decodings of Santilli et al. (2023).
JACOBI = METHOD_NAMES[2:5]

_GUARD = f"({'|'.join(Guard)})"
_GUARDS = rf"^(all|none|{_GUARD}(\+{_GUARD})*)$"

#: In place of a language: the recogniser detects what is spoken.
AUTO = "auto"

#: Width of the beam search with a model trained on unfinished text (docs/method.md).
BEAM = 4


class TranslateSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The language model and how it decodes."""

    #: Language of the speech, by name or code; or several that are spoken in turn (a list, or
    #: English,Portuguese). auto detects the language.
    source: str | tuple[str, ...] = msgspec.field(name="from", default="English")
    #: Language of the captions, by name or code; or several (a list, or German,French). By default, `live`,
    #: `file`, `replay` and `subtitle` use the system's language, or ask; other commands require it.
    to: str | tuple[str, ...] | None = None
    #: Show the transcript; no translation model is loaded.
    captions_only: bool = False
    #: Translation model: a name of `surtitle models`, a GGUF file, a folder (OPUS-MT, Firefox),
    #: hub:OWNER/REPO:FILE.gguf, or two joined by + to translate via English.
    model: str = "default"
    #: Address of the registry of Firefox's models: Mozilla's, or a mirror. SURTITLE_OFFLINE=1 disables the
    #: downloads.
    registry: Annotated[str, Meta(pattern=r"^https?://", description="an http or https address")] = REGISTRY
    #: Prompt template: a name, few-shot, chat, or a .toml file of your own. auto chooses by the model; paper
    #: uses the prompt of the SSBD paper, if the paper has one for the model.
    template: Annotated[str, Meta(pattern=TEMPLATE, description=TEMPLATES)] = "auto"
    #: Decoding method.
    method: Method = "ssbd"
    #: Glossary file, one ``term<TAB>translation`` per line; with several target languages, ``fr=FILE`` each.
    glossary: Named = None
    #: Number of preceding sentences in the prompt (Hy-MT models only).
    context: Annotated[int, Meta(ge=0, le=16)] = 0
    #: Bias (beta) towards the last output, 0 to 1. By default 0.2.
    bias: Probability | None = None
    #: Bias at the last update of a segment; 0 gives the same output as a translation from scratch. By default
    #: the rule utility-0.6, or ``bias`` if the model was trained on unfinished text.
    final_bias: Probability | None = None
    #: Rule by which draft tokens are accepted; ``auto``: the bias if one is given, otherwise by the model.
    accept: Annotated[str, Meta(description=f"auto, {', '.join(acceptance.RULES)}")] = "auto"
    #: Maximum number of hypotheses in the search after the divergence (ssbd, no draft model); 1:
    #: greedy. By default 4 if the model was trained on unfinished text, otherwise 1.
    beam: Annotated[int, Meta(ge=1, le=16)] | None = None
    #: Minimum number of tokens accepted from a verified block, including the model's own next token.
    min_block: Positive = 1
    #: Rule by which tokens proposed after the divergence are accepted; ``exact`` does not change results,
    #: ``same`` is the rule for draft tokens.
    proposal_accept: Annotated[str, Meta(description=f"same, {', '.join(acceptance.RULES)}")] = "exact"
    #: Tokens per proposal, or per block of gs-jacobi and hybrid-jacobi (the paper's b). By default as many as
    #: pay off on this machine, or three in Jacobi blocks.
    block: Positive | None = None
    #: Tokens that jacobi and hybrid-jacobi decode in parallel (the paper's m and h) before they continue one
    #: by one; by default the maximum length of an output.
    horizon: Positive | None = None
    #: Initial guess of Jacobi methods: pad, as in the paper, or draft, from the last output and the source.
    guess: Literal["pad", "draft"] = "pad"
    #: A proposal ends before the first token that is less probable than this.
    sure: Probability = BlockLength().threshold
    #: Proposal heads of 'surtitle model heads', for the method heads.
    heads: str | None = None
    #: Draft model, a smaller one with the same vocabulary: base, a GGUF file or hub:OWNER/REPO:FILE.gguf.
    draft_model: str | None = None
    #: Maximum number of tokens that the draft model drafts at a time.
    draft_length: Annotated[int, Meta(ge=1, le=256)] = 24
    #: Probability below which the draft model stops.
    draft_threshold: Probability = 0.4
    #: Let the draft model branch into two tokens where it is unsure.
    draft_tree: bool = False
    #: Number of passes that must clearly accept a draft token before it is no longer verified. Its KV cache
    #: is then kept when the source grows, where that is faster. 0: every token is always verified.
    commit: NotNegative = 1
    #: Tokens removed from the end of the draft (the paper's mask-k); the display has its own mask.
    draft_mask: NotNegative = 0
    #: When a transcript is corrected, also draft the recogniser's new words; false: only the last output, as
    #: in the paper.
    draft_source: bool = True
    #: Safeguards beyond the decoding method: all, none, or some joined by +: marks (no closing marks in the
    #: draft), repetition (is cut), figures (endless digits are cut), endings (finals end their sentence),
    #: answers (empty or foreign outputs are rejected).
    guards: Annotated[str, Meta(pattern=_GUARDS, description="all, none, or some joined by +")] = "all"
    #: Remove the closing punctuation of unfinished speech.
    strip_punctuation: bool = False
    #: Add a full stop to unfinished speech, because the model may otherwise invent an ending. By default on,
    #: unless the model was trained on unfinished text.
    close_unfinished: bool | None = None
    #: Number of words at the end of unfinished speech that are not translated before the next update. By
    #: default 1 with an encoder-decoder model, otherwise 0.
    hold_back: NotNegative | None = None
    #: Skip updates that newer ones supersede; false: translate all. By default on for live input and Kafka.
    keep_up: bool | None = None
    #: Show finished sentences only, without updates while they grow. By default on for recordings that are
    #: written to files only.
    finals_only: bool | None = None
    #: Threads of the model. By default, one per core, or one for Firefox's models.
    threads: Annotated[int, Meta(ge=1, le=1024)] | None = None
    #: Number of segments that keep their KV cache.
    sessions: Annotated[int, Meta(ge=1, le=255)] = 4
    #: Maximum number of streams translated in one batch; additional live streams are refused, others wait.
    #: Absent: one after the other.
    rooms: Annotated[int, Meta(ge=1, le=255)] | None = None
    #: Maximum source tokens that are translated in one piece; a longer segment is split.
    max_source: Annotated[int, Meta(ge=16, le=100_000)] = 192

    def __post_init__(self) -> None:
        """Raises `ValueError` for an acceptance rule that does not exist."""
        if self.accept != "auto":
            acceptance.acceptance(self.accept)
        if self.proposal_accept != "same":
            acceptance.acceptance(self.proposal_accept)

    @property
    def targets(self) -> tuple[str, ...]:
        """All languages of the captions. Raises `UsageError` if none is named."""
        if self.to is None:
            raise UsageError(UNNAMED)
        return names_of(self.to) or ("",)

    @property
    def sources(self) -> tuple[str, ...]:
        """All languages that are expected; without any, English."""
        named = names_of(self.source)
        expected = tuple(one for one in named if one != AUTO)
        return expected or (("English",) if named else ("",))

    @property
    def finds_language(self) -> bool:
        """Whether other languages may be spoken, too."""
        return AUTO in names_of(self.source)

    @property
    def spoken(self) -> tuple[Language, ...]:
        """The languages that the recogniser expects; empty if unknown."""
        expected = tuple(map(language, self.sources))
        return () if self.finds_language and not expected[1:] else expected

    @property
    def target(self) -> str:
        """The first language of the captions."""
        return self.targets[0]

    @property
    def direction(self) -> Direction:
        """The first direction that is translated, if any. Raises `UsageError` for an unknown language."""
        directions = self.directions
        return next((one for one in directions if one.translates), directions[0])

    @property
    def directions(self) -> tuple[Direction, ...]:
        """All pairs of source and target languages. Raises `UsageError` for an unknown language."""
        if self.captions_only:
            return (Direction.of(self.sources[0], self.target),)
        return tuple(Direction.of(one, to) for one in self.sources for to in self.targets)

    @property
    def written(self) -> tuple[Language, ...]:
        """The languages of the captions. Raises `UsageError` for an unknown one."""
        return tuple(map(language, self.targets))

    @property
    def corrects(self) -> bool:
        """Whether captions are the corrected transcript."""
        return self.template == CORRECT and not self.captions_only

    def by_model(self, directions: Iterable[Direction]) -> list[Direction]:
        """The ``directions`` that need a model; captions in the others are the transcript."""
        return [one for one in directions if one.translates or self.corrects]

    @property
    def needs_language_model(self) -> bool:
        """Whether a setting requires a language model."""
        return self.template not in BY_MODEL or self.draft_model is not None

    @property
    def compares_words(self) -> bool:
        """Whether an acceptance rule needs the embeddings of tokens."""
        return any(one.startswith("near-") for one in (self.accept, self.proposal_accept))

    @property
    def terms(self) -> str | None:
        """The glossary of the first language; None if there is none."""
        return of_direction(self.glossary, self.direction, self.direction)

    @property
    def terminology(self) -> list[str]:
        """The glossaries of all languages."""
        return [file for _, file in parted(self.glossary)]

    @property
    def own_guards(self) -> frozenset[Guard]:
        if self.guards in ("all", "none"):
            return GUARDS if self.guards == "all" else frozenset()
        return frozenset(map(Guard, self.guards.split("+")))

    @property
    def is_shared(self) -> bool:
        """Whether streams or languages are translated at the same time, not one after the other."""
        return self.rooms is not None or len(self.targets) > 1

    def width(self, *, knows_unfinished: bool = False) -> int:
        """The width of the beam search with a model that was or was not trained on unfinished text.

        1 for other methods and with a draft model, which propose tokens after the divergence instead.
        """
        if self.method != "ssbd" or self.draft_model is not None:
            return 1
        if self.beam is None:
            return BEAM if knows_unfinished else 1
        return self.beam

    def rules(self, *, knows_unfinished: bool = False) -> acceptance.Rules:
        """The acceptance rules for a model that was or was not trained on unfinished text."""
        return acceptance.suited_rules(self.accept, self.bias, self.final_bias, knows_unfinished)


def names_of(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """Split names of languages, given as a list or with commas."""
    names = given if isinstance(given, str) else ",".join(given)
    return tuple(name.strip() for name in names.split(",") if name.strip())
