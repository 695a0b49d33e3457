"""The graph of the captions flow, from audio to erasure records; a replay can begin behind any stage."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from msgspec import UNSET
from msgspec.structs import replace

from connectors.callback import CallbackSink
from flows.captions.kafka import once, read
from flows.captions.parts import Parts
from flows.captions.taps import subtitles, tap
from operators.events import AudioChunk, Caption, ErasureRecord, Event, Partial, Translation, moment_of
from operators.languages import Direction
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.notifications import (
    CaptionShown,
    MessageSkipped,
    Observed,
    PartialHeard,
    RunEnded,
    SoundHeard,
    SoundRecognized,
    SpeechEnded,
    UpdateMeasured,
)
from operators.replacing import replaced
from operators.stages.display import display
from operators.stages.measure import measure
from operators.stages.recognize import Heard, listen
from operators.stages.sentences import join_sentences
from operators.stages.show import show
from operators.stages.translate import translate

E = TypeVar("E", bound=Event)


def build(parts: Parts, end: Callable[[], None] = lambda: None) -> Dataflow:
    """Chain the stages; a replay begins behind the stage whose events it reads.

    All stages keep their state by stream, which keeps a stream's captions in order with any number of
    workers. Each worker calls ``end`` after the last event, also after an error; it must not raise.
    """
    flow, kind = Dataflow("captions"), parts.given.event_type
    events: Any = _source(flow, parts)
    unfinished: Stream[Partial] | None = None
    if kind is AudioChunk:
        tap(events, "audio", parts)
        events = _recognized(events, parts)
    if kind in (AudioChunk, Partial):
        tap(op.filter_map("partials", events, _partial_alone), "partials", parts)
        partials, unfinished = _due(_sentences(events, parts), parts)
        events = _translations(partials, parts)
    else:
        events = _in_wanted_languages(events, parts)
    if kind is not Caption:
        tap(events, "translations", parts)
    captions: Stream[Caption] = events if kind is Caption else _displayed(events, parts)
    if parts.replacing is not None:
        captions = op.map("replace", captions, partial(replaced, parts.replacing))
    if parts.settings.output.terminal:
        # Not a sink, because the log has the time at which a caption was shown.
        captions = show("show", captions, parts.screen.draw, parts.given.clock)
    # Observers come after the screen, so that they do not delay it.
    captions = _observed("observe-captions", captions, CaptionShown, parts)
    tap(captions, "captions", parts)
    subtitles(captions, unfinished, parts)
    records = measure("measure", captions, _meter(parts), parts.is_over)
    tap(records, "records", parts)
    op.output("records", records, _last_step(parts, end))
    return flow


def _last_step(parts: Parts, end: Callable[[], None]) -> CallbackSink[ErasureRecord]:
    def measured(record: ErasureRecord) -> None:
        parts.observers.observe(UpdateMeasured(record, parts.given.now()))

    def over() -> None:
        # In a Bytewax job, nothing else knows when the last caption was shown.
        parts.screen.close()
        parts.observers.observe(RunEnded())
        end()

    return CallbackSink(measured, over)


def _source(flow: Dataflow, parts: Parts) -> Stream[Any]:
    kind = parts.given.event_type
    name = "audio" if kind is AudioChunk else kind.__name__.lower()
    source: Any = parts.given.source
    events: Stream[Any] = op.input(name, flow, source)
    if parts.settings.input.kafka.topic is not None:
        return read(events, parts)
    # Health needs the same process of a cluster to receive an event and to show its caption.
    return once(events, parts) if parts.process.addresses and kind is not AudioChunk else events


def _recognized(audio: Stream[AudioChunk], parts: Parts) -> Stream[Heard]:
    audio = _observed("observe-audio", audio, SoundHeard, parts)
    now, observe = parts.given.now_of if parts.settings.is_live else None, parts.observers.observe
    return listen(
        "recognize", audio, parts.resources.recognizer, now, lambda chunk: observe(SoundRecognized(chunk)),
        parts.resources.speakers(parts.observers.namings),
    )  # fmt: skip


def _partial_alone(heard: Heard) -> Partial | None:
    return heard if isinstance(heard, Partial) else None


def _sentences(heard: Stream[Heard], parts: Parts) -> Stream[Partial]:
    observe = parts.observers.observe
    now = parts.given.now_of if parts.settings.is_live or parts.settings.input.kafka.topic else None
    # A stopped recogniser finishes its segment; other events resume where they stopped.
    goes_on_later = parts.given.event_type is Partial and parts.settings.recovery.folder is not None
    return join_sentences(
        "sentences", heard, parts.resources.sentences(), now,
        lambda stream, count: observe(SpeechEnded(stream, count)),
        goes_on_later=lambda: goes_on_later and parts.resources.stop.is_set(),
    )  # fmt: skip


def _due(partials: Stream[Partial], parts: Parts) -> tuple[Stream[Partial], Stream[Partial] | None]:
    """The partials to translate, and the updates of sentences that get no captions."""
    if parts.admission is not None:
        admits = parts.admission.admits
        partials = op.filter("admit", partials, lambda one: admits(one.stream))
    if not parts.settings.finals_only:
        return partials, None
    finals = op.branch("finals", partials, lambda one: one.is_final)
    return finals.trues, finals.falses


def _translations(spoken: Stream[Partial], parts: Parts) -> Stream[Translation]:
    """Each sentence in each language; in the spoken one, it stays unchanged."""
    # Refused streams are not observed, because nobody waits for their captions.
    partials = _observed("observe-partials", _in_languages(spoken, parts), PartialHeard, parts)
    made = translate(
        "translate", partials, parts.resources.service, parts.given.clock, keep_up=parts.settings.keeps_up,
        note=parts.observers.messages.model_answered,
    )  # fmt: skip
    # A replay translates everything it reads. Therefore superseded updates are not recorded.
    saved = op.filter_map("translated", made, _partial_of(parts)) if parts.settings.keeps_up else spoken
    tap(saved, "sentences", parts)
    return made


def _in_languages(partials: Stream[Partial], parts: Parts) -> Stream[Partial]:
    """Each sentence once for each language of its stream."""
    languages = parts.languages
    if len(_written(languages.directions)) == 1:
        return partials

    def each(partial: Partial) -> list[Partial]:
        codes = _written(languages.directions_of(partial.stream))
        return [replace(partial, language=code) for code in codes] if len(codes) > 1 else [partial]

    split = op.flat_map("in-languages", partials, each)
    if not parts.process.addresses:
        return split
    # Health needs the same process of a cluster to receive an event and to show its caption.
    keyed = op.key_on("key-languages", split, lambda one: one.channel)
    return op.key_rm("unkey-languages", op.stateful_map("where-shown", keyed, lambda _, one: (None, one)))


def _written(directions: Iterable[Direction]) -> list[str]:
    """The codes of the languages of captions."""
    return list(dict.fromkeys(one.target.code for one in directions))


def _partial_of(parts: Parts) -> Callable[[Translation], Partial | None]:
    """Restores the partial of a translation; with several languages, only for the first one."""

    def partial_of(translation: Translation) -> Partial | None:
        first = parts.languages.directions_of(translation.stream)[0].target.code
        if translation.language and translation.language != first:
            return None
        moment, is_stable = moment_of(translation), translation.is_stable
        partial = Partial(**moment, text=translation.source, is_sentence=True, is_stable=is_stable)
        return replace(partial, language=UNSET) if translation.language else partial

    return partial_of


def _in_wanted_languages(events: Stream[Any], parts: Parts) -> Stream[Any]:
    """Drop replayed events in other languages; an event without a language is in the first one."""
    codes = _written(parts.languages.directions)
    if len(codes) > 1:
        events = op.map("name", events, lambda one: one if one.language else replace(one, language=codes[0]))

    def is_wanted(event: Any) -> bool:
        if not event.language or event.language in codes:
            return True
        parts.observers.observe(MessageSkipped("language", event.language))
        return False

    return op.filter("wanted", events, is_wanted)


def _displayed(translations: Stream[Translation], parts: Parts) -> Stream[Caption]:
    settings, translate, direction = (
        parts.settings.display, parts.settings.translate, parts.languages.direction,
    )  # fmt: skip

    def mask_k(event: Translation) -> int:
        own = direction(event.channel, event.spoken or "")
        return settings.withheld(by_model=bool(translate.by_model([own])))

    return display("display", translations, mask_k, settings.mask)


def _meter(parts: Parts) -> Callable[[str, ErasureState | None], ErasureMeter]:
    """The meter counts the tokens of the stream's language."""
    direction = parts.languages.direction
    return lambda channel, resume: ErasureMeter(direction(channel).target.tokenizer, resume)


def _observed(
    step_id: str,
    events: Stream[E],
    kind: type[SoundHeard] | type[PartialHeard] | type[CaptionShown],
    parts: Parts,
) -> Stream[E]:
    made: Callable[[Any, float], Observed] = kind

    def notify(event: E) -> E:
        parts.observers.observe(made(event, parts.given.now()))
        return event

    return op.map(step_id, events, notify)
