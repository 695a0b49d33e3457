"""The captions flow: audio, partials, translations, captions, erasure records, each stage replaceable."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream

import flows.processor  # noqa: F401 - before llama.cpp is loaded
from connectors.audio.sink import WavSink
from connectors.audio.source import AudioFileSource
from connectors.callback import CallbackSink
from connectors.exports.subtitles import Format, SubtitleSink
from connectors.jsonl.sink import JsonlSink
from connectors.jsonl.source import JsonlSource
from connectors.microphone.source import MicrophoneSource
from flows.captions.outputs import check_files
from flows.captions.runtime import Runtime
from flows.settings.schema import Settings
from operators.display import display
from operators.errors import UsageError
from operators.events import AudioChunk, Caption, ErasureRecord, Event, Partial, Translation
from operators.languages import language
from operators.measure import measure
from operators.recognize import recognize
from operators.show import show
from operators.subtitle import subtitle
from operators.subtitles.writer import Columns
from operators.translate import translate

E = TypeVar("E", bound=Event)

#: The settings that name an input.
INPUTS = ("audio", "microphone", "partials", "translations", "captions")

#: Events that a source hands over together when time presses.
_MAX_AT_ONCE = 1000


def build(
    settings: Settings,
    runtime: Runtime,
    end: Callable[[], None] | None = None,
    reading: Iterable[Path] = (),
) -> Dataflow:
    """Chain the stages from the first one that is not replaced by a file of its events.

    ``end`` is called when no more events will come, also after an error; the runtime's unless given.
    ``reading`` are files that were read already, such as the one of the settings. Raises `UsageError` unless
    exactly one input is given, and a file of its own for each output; `OutputError` for an output that cannot
    be written, or is read.
    """
    given = [name for name in INPUTS if getattr(settings.input, name)]
    if len(given) != 1:
        raise UsageError(
            f"a flow needs exactly one input: set one of {', '.join(f'input.{name}' for name in INPUTS)}, "
            f"not {' and '.join(given) or 'none'}"
        )
    check_files(settings, reading)
    dataflow = Dataflow("captions")
    captions = _captions(dataflow, settings, runtime)
    if settings.output.terminal:
        captions = show("show", captions, runtime.screen.draw, runtime.clock)
    if settings.web.enabled:
        # After the screen, so that it costs the terminal's viewers nothing and shown_s says the same.
        captions = op.map("publish", captions, runtime.audience.caption)
    _save(captions, "captions", settings.output.captions, runtime)
    _subtitle(captions, settings, runtime)
    records = measure("measure", captions, runtime.meter)
    _save(records, "log", settings.output.log, runtime)
    # A job has nobody else who knows when the last caption was shown.
    op.output("records", records, CallbackSink[ErasureRecord](runtime.take, end or runtime.end))
    return dataflow


def _captions(dataflow: Dataflow, settings: Settings, runtime: Runtime) -> Stream[Caption]:
    if settings.input.captions:
        return _replay(dataflow, Caption, settings.input.captions, settings, runtime)
    translations = _translations(dataflow, settings, runtime)
    _save(translations, "translations", settings.output.translations, runtime)
    return display("display", translations, settings.display.mask_k)


def _translations(dataflow: Dataflow, settings: Settings, runtime: Runtime) -> Stream[Translation]:
    if settings.input.translations:
        return _replay(dataflow, Translation, settings.input.translations, settings, runtime)
    partials = _partials(dataflow, settings, runtime)
    if runtime.watch.is_on:
        partials = op.map("watch-partials", partials, runtime.watch.partial)
    if runtime.door is not None:
        partials = op.filter("admit", partials, runtime.admits)
    keep_up = settings.keeps_up
    note = runtime.model.note
    translations = translate(
        "translate", partials, runtime.translator, runtime.clock, keep_up=keep_up, note=note
    )
    # A replay translates all that it reads: what was overtaken is left out, so that it says the same again.
    saved = op.map("translated", translations, _partial_of) if keep_up else partials
    _save(saved, "partials", settings.output.partials, runtime)
    return translations


def _partials(dataflow: Dataflow, settings: Settings, runtime: Runtime) -> Stream[Partial]:
    if settings.input.partials:
        return _replay(dataflow, Partial, settings.input.partials, settings, runtime)
    runtime.source = source = _microphone(settings, runtime) or _recording(settings, runtime)
    audio = op.input("audio", dataflow, source)
    if settings.output.audio:
        recorded: Stream[tuple[str, AudioChunk]] = op.map("key-audio", audio, lambda one: (one.stream, one))
        op.output("save-audio", recorded, WavSink(Path(settings.output.audio), watch=runtime.outputs))
    if runtime.watch.is_on:
        audio = op.map("watch-audio", audio, runtime.watch.audio)
    if settings.input.microphone:
        audio = op.map("hear", audio, runtime.live.hear)
    return recognize("recognize", audio, runtime.recognizer, runtime.now if settings.is_live else None)


def _microphone(settings: Settings, runtime: Runtime) -> MicrophoneSource | None:
    name = settings.input.microphone
    if name is None:
        return None
    return MicrophoneSource(
        stream="microphone",
        device=None if name == "default" else name,
        buffer_s=settings.input.buffer_s,
        stop=runtime.stop,
        tell=runtime.live.microphone,
        lost=runtime.live.lose,
    )


def _recording(settings: Settings, runtime: Runtime) -> AudioFileSource:
    assert settings.input.audio is not None, "build has looked for an input"
    return AudioFileSource(
        Path(settings.input.audio),
        stream=Path(settings.input.audio).stem,
        realtime=settings.input.realtime,
        stop=runtime.stop,
        progress=runtime.at_position,
        truncated=runtime.complaints.append,
    )


def _replay(
    dataflow: Dataflow, event_type: type[E], path: str, settings: Settings, runtime: Runtime
) -> Stream[E]:
    source = JsonlSource(
        Path(path),
        event_type,
        skip_bad=settings.input.skip_bad,
        # What is read together would be seen together; what comes too fast has to be, to be overtaken.
        batch_size=_MAX_AT_ONCE if settings.keeps_up else 1,
        realtime=settings.input.realtime,
        stop=runtime.stop,
        # What is overtaken never gets to the log.
        wait=(lambda: False) if settings.keeps_up else runtime.is_behind,
    )
    runtime.source = source
    return op.input(event_type.__name__.lower(), dataflow, source)


def _save(events: Stream[E], name: str, path: str | None, runtime: Runtime) -> None:
    if path:
        sink = JsonlSink(Path(path), watch=runtime.outputs)
        op.output(f"save-{name}", op.map(f"key-{name}", events, _with_key), sink)


def _subtitle(captions: Stream[Caption], settings: Settings, runtime: Runtime) -> None:
    files: dict[Format, str | None] = {"srt": settings.output.srt, "vtt": settings.output.vtt}
    if not any(files.values()):
        return
    spoken, written = language(settings.translate.source), language(settings.translate.target)
    columns = Columns(source=spoken.columns, target=written.columns)
    now = runtime.now if settings.is_live else None
    cues = subtitle("subtitle", captions, settings.output.subtitles, columns, now)
    for kind, path in files.items():
        if path:
            op.output(f"save-{kind}", cues, SubtitleSink(Path(path), kind, watch=runtime.outputs))


def _partial_of(translation: Translation) -> Partial:
    """The partial that a translation was made of."""
    return Partial(
        stream=translation.stream,
        segment=translation.segment,
        revision=translation.revision,
        is_final=translation.is_final,
        text=translation.source,
        start_s=translation.start_s,
        end_s=translation.end_s,
        arrival_s=translation.arrival_s,
    )


def _with_key(event: Event) -> tuple[str, Event]:
    return event.stream, event
