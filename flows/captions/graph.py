"""The graph of the captions flow, from audio to erasure records; a file of events can replace any stage."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from msgspec import UNSET
from msgspec.structs import replace

import flows.processor  # noqa: F401 - before llama.cpp is loaded
from connectors.callback import CallbackSink, FirstProcessSink
from connectors.sinks.part import SinkPart, Step
from flows.captions.kafka import once, publish, read
from flows.captions.parts import Parts
from operators.events import (
    AudioChunk,
    Caption,
    ErasureRecord,
    Event,
    Partial,
    Translation,
    channel_of,
    moment_of,
)
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.notifications import (
    CaptionShown,
    MessageSkipped,
    ModelAnswered,
    Observed,
    PartialHeard,
    RunEnded,
    SoundHeard,
    SoundRecognized,
    SpeechEnded,
    UpdateMeasured,
)
from operators.replacing import replaced
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
    if parts.replacing is not None:
        captions = op.map("replace", captions, partial(replaced, parts.replacing))
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
        return _of_languages(_input(dataflow, parts), parts), None
    translations, unfinished = _translations(dataflow, parts)
    _save(translations, "translations", parts)
    withheld = parts.settings.display.withheld
    direction = parts.languages.direction
    return display("display", translations, lambda channel: withheld(direction(channel))), unfinished


def _translations(dataflow: Dataflow, parts: Parts) -> tuple[Stream[Translation], Stream[Partial] | None]:
    if parts.given.event_type is Translation:
        return _of_languages(_input(dataflow, parts), parts), None
    unfinished, partials = None, _sentences(_partials(dataflow, parts), parts)
    if parts.door is not None:
        partials = op.filter("admit", partials, _admits(parts.door))
    if parts.settings.finals_only:
        finals = op.branch("finals", partials, lambda partial: partial.is_final)
        partials, unfinished = finals.trues, finals.falses
        _count("count-unfinished", op.map("each-unfinished", unfinished, lambda one: (one.stream, 1)), parts)
    spoken, partials = partials, _in_languages(partials, parts)
    # Refused ones are not observed, because nobody waits for their captions.
    partials = _observed("observe-partials", partials, PartialHeard, parts)
    clock, translates = parts.given.clock, [one.translates for one in parts.languages.directions]
    if not any(translates):
        made = pass_through("pass-through", partials, clock)
    elif all(translates):
        made = _translated(dataflow, partials, parts)
    else:
        foreign = op.branch(
            "languages", partials, lambda one: parts.languages.direction(one.channel).translates
        )
        passed = pass_through("pass-through", foreign.falses, clock)
        made = op.merge("all-languages", _translated(dataflow, foreign.trues, parts), passed)
    # A replay translates everything it reads. So overtaken ones are not recorded, and a replay gives the same
    # result.
    saved = op.filter_map("translated", made, _partial_of(parts)) if parts.settings.keeps_up else spoken
    _save(saved, "sentences", parts)
    return made, unfinished


def _in_languages(partials: Stream[Partial], parts: Parts) -> Stream[Partial]:
    """Each sentence once for each language of its stream, if that has several."""
    languages = parts.languages
    if len(languages.directions) == 1:
        return partials

    def each(partial: Partial) -> list[Partial]:
        codes = [one.target.code for one in languages.directions_of(partial.stream)]
        return [replace(partial, language=code) for code in codes] if len(codes) > 1 else [partial]

    def more(partial: Partial) -> tuple[str, int]:
        return partial.stream, 1 - len(languages.directions_of(partial.stream))

    _count("count-languages", op.map("more", partials, more), parts)
    split = op.flat_map("in-languages", partials, each)
    if not parts.process.addresses:
        return split
    # Of a cluster, the process that hears an event is then the one that shows its caption: health needs both.
    keyed = op.key_on("key-languages", split, lambda one: one.channel)
    return op.key_rm("unkey-languages", op.stateful_map("where-shown", keyed, lambda _, one: (None, one)))


def _of_languages(events: Stream[Any], parts: Parts) -> Stream[Any]:
    """Of replayed events, those in the languages of the run; where they name none, they are in the first."""
    codes = [one.target.code for one in parts.languages.directions]
    if len(codes) > 1:
        events = op.map("name", events, lambda one: one if one.language else replace(one, language=codes[0]))

    def leave_out(event: Any) -> tuple[str, int]:
        parts.observers.observe(MessageSkipped("language", event.language))
        return event.stream, 1

    wanted = op.branch("wanted", events, lambda one: not one.language or one.language in codes)
    _count("count-unwanted", op.map("each-unwanted", wanted.falses, leave_out), parts)
    return wanted.trues


def _translated(dataflow: Dataflow, partials: Stream[Partial], parts: Parts) -> Stream[Translation]:
    def note(trouble: Trouble | None, why: str) -> None:
        parts.observers.observe(ModelAnswered(trouble, why))

    shared, clock = parts.shared, parts.given.clock
    if parts.settings.translates_together:
        return translate_together("translate", partials, shared.together, clock, note=note)
    if not parts.settings.translate.is_shared:
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


def _save(events: Stream[Any], step: Step, parts: Parts, cues_of: tuple[str, Shown] | None = None) -> None:
    """Write the events of a step, or the cues, to the files and the topic that the settings name for them.

    Cues do not tell their language and what they show, which are ``cues_of``.
    """
    for one, path in parts.settings.files():
        if step == "cues" == one.of and (one.language, _shown(one, parts)) == cues_of:
            op.output(f"save-{one.name}", events, one.make(path, watch=parts.outputs))
        elif step == one.of != "cues":
            own = _in_language(events, one.language, f"of-{one.name}")
            keyed = op.map(f"key-{one.name}", own, _with_key)
            more = {"shown": _shown(one, parts)} if one.shows else {}
            op.output(f"save-{one.name}", keyed, one.make(path, watch=parts.outputs, **more))
    for one, address in parts.settings.output.addresses():
        if one.of == step:
            several = parts.settings.translate.more_targets
            code = parts.settings.translate.direction.target.code if several and one.in_one_language else ""
            keyed = op.map(f"key-{one.name}", _in_language(events, code, f"of-{one.name}"), _with_key)
            op.output(f"save-{one.name}", keyed, one.make(address, watch=parts.outputs))
    publish(events, step, parts)


def _in_language(events: Stream[Any], code: str, step_id: str) -> Stream[Any]:
    """The events of one of several languages; all of them without a code."""
    return op.filter(step_id, events, lambda one: one.language == code) if code else events


def _subtitle(captions: Stream[Caption], unfinished: Stream[Partial] | None, parts: Parts) -> None:
    kinds = dict.fromkeys(
        (one.language, _shown(one, parts)) for one, _path in parts.settings.files() if one.of == "cues"
    )
    for code, shown in kinds:
        # A run that resumes knows the usual ones by these names.
        is_usual = shown == parts.settings.output.subtitles or not _translates(parts, code)
        ending = (f"-{code}" if code else "") + ("" if is_usual else f"-{shown}")
        direction = parts.languages.direction(channel_of("", code))
        columns = Columns(source=direction.source.columns, target=direction.target.columns)
        now = parts.given.now if parts.settings.is_live else None
        own = _in_language(captions, code, f"of-subtitle{ending}")
        # Updates without captions still tell when each part of a sentence was spoken.
        heard = own if unfinished is None else op.merge(f"heard{ending}", unfinished, own)
        cues = subtitle(f"subtitle{ending}", heard, shown, columns, now)
        _save(cues, "cues", parts, (code, shown))


def _shown(one: SinkPart, parts: Parts) -> Shown:
    """What a file of subtitles or text shows; without a translation, both would say the same."""
    return (one.shown or parts.settings.output.subtitles) if _translates(parts, one.language) else "target"


def _translates(parts: Parts, code: str) -> bool:
    """Whether the captions in one of several languages are translations."""
    return parts.languages.direction(channel_of("", code)).translates


def _meter(parts: Parts) -> Callable[[str, ErasureState | None], ErasureMeter]:
    """The factory of a stream's erasure meter, which counts the tokens of the stream's language."""
    direction = parts.languages.direction
    return lambda channel, resume: ErasureMeter(direction(channel).target.tokenizer, resume)


def _partial_of(parts: Parts) -> Callable[[Translation], Partial | None]:
    """Gives the partial of a sentence that a translation was made from; of several languages, the first's."""

    def partial_of(translation: Translation) -> Partial | None:
        first = parts.languages.directions_of(translation.stream)[0].target.code
        if translation.language and translation.language != first:
            return None
        moment, is_stable = moment_of(translation), translation.is_stable
        partial = Partial(**moment, text=translation.source, is_sentence=True, is_stable=is_stable)
        return replace(partial, language=UNSET) if translation.language else partial

    return partial_of


def _with_key(event: Event) -> tuple[str, Event]:
    return event.stream, event
