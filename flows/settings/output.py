"""The settings of the display, and of all that is written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from connectors.sinks.part import SINKS, SinkPart, asked_in
from flows.settings.stage import ELSEWHERE, NotNegative, Stage, extended
from operators.languages import Direction
from operators.parts import Option
from operators.secret import Secret
from operators.subtitles.writer import Shown

#: Name of a topic, as Kafka allows it.
Topic = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]{1,249}$",
        description="names of at most 249 letters, digits, points, hyphens and underscores",
    ),
]
OwnSink = Annotated[str, Meta(pattern=f"^{ELSEWHERE}=.+$", description="sinks such as mine:table=talk.csv")]


#: Tokens of a translation, and words of captions in the spoken language, that are withheld while unfinished;
#: docs/figures.md has what they are worth.
MASK_K, MASKED_WORDS = 3, 1


class DisplaySettings(Stage, frozen=True, kw_only=True):
    """How captions are displayed."""

    mask_k: Annotated[NotNegative | None, Option(
        "Tokens withheld from unfinished captions; words of captions that are not translated.",
        default=f"{MASK_K}, or {MASKED_WORDS} word",
    )] = None  # fmt: skip
    replace: Annotated[str | None, Option(
        "Words to replace in captions, one a line: the word, a tab and another; without that, asterisks."
    )] = None  # fmt: skip

    def withheld(self, languages: Direction) -> int:
        """The tokens or words that captions in these languages withhold."""
        if self.mask_k is not None:
            return self.mask_k
        return MASK_K if languages.translates else MASKED_WORDS


class KafkaOutput(Stage, frozen=True, kw_only=True):
    """The topics that events are written to, at the brokers of the input; absent ones are not written."""

    #: Topic for what the recogniser said.
    partials: Topic | None = None
    #: Topic for what was translated: partials of sentences.
    sentences: Topic | None = None
    #: Topic for the translations.
    translations: Topic | None = None
    #: Topic for the captions.
    captions: Topic | None = None


class _OutputSettings(Stage, frozen=True, kw_only=True):
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
                asked, path = asked_in(text, one) if one.shows else (one, Path(text))
                name = f"{one.name}-{number + 1}" if number else one.name
                named.append((asked._replace(name=name), path))
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
    OutputSettings = extended(
        "OutputSettings",
        _OutputSettings,
        [(one.name, Annotated[_type_of(one) | None, option], None) for one, option in _options.items()],
    )
