"""The settings of the display, and of all that is written."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from connectors.sinks.part import SINKS, SinkPart, asked_in
from flows.settings.stage import NotNegative, Stage
from operators.languages import Direction
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
OwnSink = Annotated[
    str, Meta(pattern=r"^([\w.]+:)?[\w-]+=.+$", description="sinks such as mine:table=talk.csv")
]
#: A file, or several that differ in what they show.
Files = str | tuple[str, ...] | None

#: Tokens of a translation, and words of captions in the spoken language, that are withheld while unfinished;
#: docs/figures.md has what they are worth.
MASK_K, MASKED_WORDS = 3, 1


class DisplaySettings(Stage, frozen=True, kw_only=True):
    """How captions are displayed."""

    #: Tokens withheld from unfinished captions; words of captions that are not translated; by default 3
    #: tokens or 1 word.
    mask_k: NotNegative | None = None
    #: Words to replace in captions, one a line: the word, a tab and another; without that, asterisks.
    replace: str | None = None

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


class OutputSettings(Stage, frozen=True, kw_only=True):
    """Outputs: those that name a file are not written if absent."""

    #: Show captions on the terminal.
    terminal: bool = True
    #: What subtitles show: source (the speech), target (its translation) or both.
    subtitles: Shown = "target"
    #: Write the closing summary here (JSON).
    summary: str | None = None
    kafka: KafkaOutput = KafkaOutput()
    #: Sinks of other packages: ``NAME=FILE``, or ``MODULE:NAME=FILE`` of one that no package offers.
    sinks: tuple[OwnSink, ...] = ()
    #: Write the erasure log here (JSONL).
    log: str | None = None
    #: Write what the recogniser said here (JSONL).
    partials: str | None = None
    #: Write the sentences as they were translated, without those that newer ones overtook (JSONL).
    sentences: str | None = None
    #: Write the translations here (JSONL).
    translations: str | None = None
    #: Write the captions here (JSONL).
    captions: str | None = None
    #: Write subtitles here (SubRip); ``source=FILE`` and ``both=FILE`` show what was said, too.
    srt: Files = None
    #: Write subtitles here (WebVTT); as for ``srt``.
    vtt: Files = None
    #: Write finished sentences here (plain text, one a line; .md: Markdown); ``times=FILE`` also says when
    #: they were said.
    txt: Files = None
    #: Record the speech here (WAV, 16 kHz).
    audio: str | None = None
    #: Send captions to OBS: ``ws://localhost:4455``; its password is in SURTITLE_OBS_PASSWORD.
    obs: Secret | None = None
    #: Post each finished sentence to this address (JSON).
    webhook: Secret | None = None
    #: Send captions to the ingestion address of a YouTube live stream.
    youtube: Secret | None = None

    def files(self) -> list[tuple[SinkPart, Path]]:
        """The sinks that are named, with their files."""
        named = []
        for one in SINKS.values():
            given = () if one.is_address else getattr(self, one.name, None) or ()
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
        given = [(one, getattr(self, one.name, None)) for one in SINKS.values() if one.is_address]
        return [(one, address) for one, address in given if address is not None]
