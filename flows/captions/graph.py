"""The graph of the captions flow, from audio to erasure records; a file of events can replace any stage."""

from collections.abc import Callable
from typing import Any, TypeVar

from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream

import flows.processor  # noqa: F401 - before llama.cpp is loaded
from connectors.callback import CallbackSink, FirstProcessSink
from connectors.sinks.part import SinkPart, Step
from flows.captions.kafka import once, publish, read
from flows.captions.parts import Parts
from flows.settings.schema import Settings
from operators.events import AudioChunk, Caption, ErasureRecord, Event, Partial, Translation, moment_of
from operators.languages import language
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.observed import (
    CaptionShown,
    ModelAnswered,
    Observed,
    PartialHeard,
    RunEnded,
    SoundHeard,
    SoundRecognized,
    SpeechEnded,
    UpdateMeasured,
)
from operators.serving.admission import Door
from operators.stages.display import display
from operators.stages.measure import measure
from operators.stages.pass_through import pass_through
from operators.stages.recognize import Listening, Pause, listen
from operators.stages.sentences import Merged, sentences
from operators.stages.show import show
from operators.stages.subtitle import subtitle
from operators.stages.translate import translate
from operators.stages.translate_rooms import translate_rooms
from operators.stages.translate_together import translate_together
from operators.subtitles.writer import Columns, Shown
from operators.trouble import Trouble

E = TypeVar("E", bound=Event)


def build(parts: Parts, end: Callable[[], None] = lambda: None) -> Dataflow:
    """Chain the stages, starting with the first one that is not replaced by a file of its events.

    ``end`` is called by each worker when no more events will come, also after an error; it must not raise.
    """
    settings, dataflow = parts.settings, Dataflow("captions")
    captions, unfinished = _captions(dataflow, parts)
    if settings.output.terminal:
        captions = show("show", captions, parts.screen.draw, parts.given.clock)
    # Observers come after the screen, so that they do not delay the terminal, and shown_s stays the same.
    captions = _observed("observe-captions", captions, CaptionShown, parts)
    _save(captions, "captions", parts)
    _subtitle(captions, unfinished, parts)
    records = measure("measure", captions, _meter(parts), parts.is_over)
    _save(records, "records", parts)

    def measured(record: ErasureRecord) -> None:
        parts.observers.observe(UpdateMeasured(record, parts.given.now()))

    def over() -> None:
        # In a Bytewax job, nothing else knows when the last caption was shown.
        parts.screen.close()
        parts.observers.observe(RunEnded())
        end()

    _count("count", op.map("each", records, lambda record: (record.stream, 1)), parts)
    op.output("records", records, CallbackSink[ErasureRecord](measured, over))
    return dataflow


def _count(step_id: str, counts: Stream[tuple[str, int]], parts: Parts) -> None:
    """Count events that got to the log, for the process that reads a file, whichever process logged them."""
    op.output(step_id, counts, FirstProcessSink(parts.given.pace.measured, is_here=parts.process.has_files))


def _captions(dataflow: Dataflow, parts: Parts) -> tuple[Stream[Caption], Stream[Partial] | None]:
    """The captions, and the updates of sentences that have none."""
    if parts.given.event_type is Caption:
        return _input(dataflow, parts), None
    translations, unfinished = _translations(dataflow, parts)
    _save(translations, "translations", parts)
    withheld = parts.settings.display.withheld
    return display("display", translations, lambda stream: withheld(parts.direction(stream))), unfinished


def _translations(dataflow: Dataflow, parts: Parts) -> tuple[Stream[Translation], Stream[Partial] | None]:
    if parts.given.event_type is Translation:
        return _input(dataflow, parts), None
    unfinished, partials = None, _sentences(_partials(dataflow, parts), parts)
    if parts.door is not None:
        partials = op.filter("admit", partials, _admits(parts.door))
    if parts.settings.finals_only:
        finals = op.branch("finals", partials, lambda partial: partial.is_final)
        partials, unfinished = finals.trues, finals.falses
        _count("count-unfinished", op.map("each-unfinished", unfinished, lambda one: (one.stream, 1)), parts)
    # Refused ones are not observed, because nobody waits for their captions.
    partials = _observed("observe-partials", partials, PartialHeard, parts)
    clock, translates = parts.given.clock, [one.translates for one in parts.directions]
    if not any(translates):
        made = pass_through("pass-through", partials, clock)
    elif all(translates):
        made = _translated(dataflow, partials, parts)
    else:
        foreign = op.branch("languages", partials, lambda one: parts.direction(one.stream).translates)
        passed = pass_through("pass-through", foreign.falses, clock)
        made = op.merge("all-languages", _translated(dataflow, foreign.trues, parts), passed)
    # A replay translates everything it reads. So overtaken ones are not recorded, and a replay gives the same
    # result.
    saved = op.map("translated", made, _partial_of) if parts.settings.keeps_up else partials
    _save(saved, "sentences", parts)
    return made, unfinished


def _translated(dataflow: Dataflow, partials: Stream[Partial], parts: Parts) -> Stream[Translation]:
    def note(trouble: Trouble | None, why: str) -> None:
        parts.observers.observe(ModelAnswered(trouble, why))

    shared, clock = parts.shared, parts.given.clock
    if parts.settings.translates_together:
        return translate_together("translate", partials, shared.together, clock, note=note)
    if parts.settings.translate.rooms is None:
        keep_up = parts.settings.keeps_up
        return translate("translate", partials, shared.translator, clock, keep_up=keep_up, note=note)
    processes = max(1, len(parts.process.addresses))
    return translate_rooms(
        "translate", dataflow, partials, shared.rooms, clock, note=note, processes=processes
    )


def _sentences(heard: Stream[Partial | Pause], parts: Parts) -> Stream[Partial]:
    partials = op.filter_map("partials", heard, lambda one: one if isinstance(one, Partial) else None)
    _save(partials, "partials", parts)

    def ended(stream: str, count: int) -> None:
        parts.observers.observe(SpeechEnded(stream, count))

    now = parts.given.now_of if parts.settings.is_live or parts.settings.input.kafka.topic else None
    # A recogniser that is stopped finishes what it heard; events from elsewhere go on where they were.
    goes_on_later = parts.given.event_type is Partial and parts.settings.recovery.folder is not None
    joined = sentences(
        "sentences", heard, parts.shared.sentences(), now, ended,
        goes_on_later=lambda: goes_on_later and parts.shared.stop.is_set(),
    )  # fmt: skip
    merged = op.filter_map("merged", joined, lambda one: one if isinstance(one, Merged) else None)
    _count("count-merged", merged, parts)
    return op.filter_map("joined", joined, lambda one: one if isinstance(one, Partial) else None)


def _admits(door: Door) -> Callable[[Partial], bool]:
    return lambda partial: door.admits(partial.stream)


def _partials(dataflow: Dataflow, parts: Parts) -> Stream[Partial | Pause]:
    if parts.given.event_type is Partial:
        return _input(dataflow, parts)
    source: Any = parts.given.source
    audio: Stream[AudioChunk] = op.input("audio", dataflow, source)
    _save(audio, "audio", parts)
    audio = _observed("observe-audio", audio, SoundHeard, parts)
    now = parts.given.now_of if parts.settings.is_live else None

    def processed(chunk: AudioChunk) -> None:
        parts.observers.observe(SoundRecognized(chunk))

    return listen("recognize", audio, Listening(parts.shared.recognizer, now, processed))


def _input(dataflow: Dataflow, parts: Parts) -> Stream[Any]:
    """The replayed events, or those of a topic."""
    events: Stream[Any] = op.input(parts.given.event_type.__name__.lower(), dataflow, parts.given.source)
    if parts.settings.input.kafka.topic is not None:
        return read(events, parts)
    # Of a cluster, the process that hears an event is then the one that shows its caption: health needs both.
    return once(events, parts) if parts.process.addresses else events


def _observed(
    step_id: str,
    events: Stream[E],
    kind: type[SoundHeard] | type[PartialHeard] | type[CaptionShown],
    parts: Parts,
) -> Stream[E]:
    """Add a step that tells observers about the events; unchanged if no observer takes them."""
    if not parts.observers.wants(kind):
        return events
    made: Callable[[Any, float], Observed] = kind

    def tell(event: E) -> E:
        parts.observers.observe(made(event, parts.given.now()))
        return event

    return op.map(step_id, events, tell)


def _save(events: Stream[Any], step: Step, parts: Parts, cues_of: Shown | None = None) -> None:
    """Write the events of a step, or the cues, to the files and the topic that the settings name for them."""
    for one, path in parts.settings.output.files():
        shown = _shown(one, parts.settings)
        if one.of == step and cues_of in (None, shown):
            keyed = events if step == "cues" else op.map(f"key-{one.name}", events, _with_key)
            more = {"shown": shown} if one.shows and step != "cues" else {}
            op.output(f"save-{one.name}", keyed, one.make(path, watch=parts.outputs, **more))
    for one, address in parts.settings.output.addresses():
        if one.of == step:
            keyed = op.map(f"key-{one.name}", events, _with_key)
            op.output(f"save-{one.name}", keyed, one.make(address, watch=parts.outputs))
    publish(events, step, getattr(parts.settings.output.kafka, step, None), parts)


def _subtitle(captions: Stream[Caption], unfinished: Stream[Partial] | None, parts: Parts) -> None:
    settings = parts.settings
    kinds = {_shown(one, settings) for one, _path in settings.output.files() if one.of == "cues"}
    if not kinds:
        return
    spoken, written = language(settings.translate.source), language(settings.translate.target)
    columns = Columns(source=spoken.columns, target=written.columns)
    now = parts.given.now if settings.is_live else None
    # Updates without captions still tell when each part of a sentence was spoken.
    heard = captions if unfinished is None else op.merge("heard", unfinished, captions)
    for shown in sorted(kinds):
        name = "subtitle" if len(kinds) == 1 else f"subtitle-{shown}"
        _save(subtitle(name, heard, shown, columns, now), "cues", parts, shown)


def _shown(one: SinkPart, settings: Settings) -> Shown:
    """What a file of subtitles or text shows; without a translation, both would say the same."""
    return (one.shown or settings.output.subtitles) if settings.translate.direction.translates else "target"


def _meter(parts: Parts) -> Callable[[str, ErasureState | None], ErasureMeter]:
    """The factory of a stream's erasure meter, which counts the tokens of the stream's language."""
    return lambda stream, resume: ErasureMeter(parts.direction(stream).target.tokenizer, resume)


def _partial_of(translation: Translation) -> Partial:
    """The partial of a sentence that a translation was made from."""
    return Partial(**moment_of(translation), text=translation.source, is_sentence=True)


def _with_key(event: Event) -> tuple[str, Event]:
    return event.stream, event
