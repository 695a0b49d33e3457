"""Decodes one segment, update by update, or a text, and records what each pass decided."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from msgspec.structs import replace

from connectors.jsonl.files import event_type_of, read_events
from flows.engine.translation import Engine, translator_settings
from flows.settings.translate import TranslateSettings
from operators.decoding.drive import SequentialDecoder
from operators.decoding.recorder import Recorder, unchanged
from operators.decoding.trace import Trace, UpdateTrace, occurring, spelled
from operators.decoding.translator import SegmentState, Translator
from operators.errors import InputError, UsageError
from operators.events import Partial
from operators.notifications import Progress
from operators.secret import to_plain
from operators.text import cleaned

# Maximum number of segments or streams that an error names.
_MAX_NAMED = 12


def partials_of(path: Path, segment: int, stream: str | None) -> list[Partial]:
    """The updates of one segment, in their order.

    Raises:
        InputError: if the file cannot be read or has no such segment; it names the existing segments.
        UsageError: if several streams have the segment and no stream is given.
    """
    kind = event_type_of(path)
    if kind is not Partial:
        raise InputError(
            f"{path} holds {kind.__name__.lower()} events; give partials (written with output.sentences)"
        )
    partials = list(read_events(path, Partial))
    found = [one for one in partials if one.segment == segment and stream in (None, one.stream)]
    streams = sorted({one.stream for one in found})
    if not found:
        there = sorted({(cleaned(one.stream), one.segment) for one in partials})
        named = ", ".join(f"{number} of {name!r}" for name, number in there[:_MAX_NAMED])
        where = "" if stream is None else f" of stream {stream!r}"
        raise InputError(f"{path} has no segment {segment}{where}; choose from {named}")
    if len(streams) > 1:
        named = ", ".join(repr(cleaned(name)) for name in streams[:_MAX_NAMED])
        raise UsageError(
            f"{path} has a segment {segment} in {len(streams)} streams; name one with --stream: {named}"
        )
    return found


def whole(text: str) -> list[Partial]:
    """A text as the only update of a segment, its final."""
    return [
        Partial(
            stream="text", segment=0, revision=0, is_final=True, text=text,
            start_s=0.0, end_s=0.0, arrival_s=0.0,
        )
    ]  # fmt: skip


def record(
    engine: Engine,
    settings: TranslateSettings,
    partials: Sequence[Partial],
    progress: Progress,
    *,
    is_compared: bool = False,
) -> Trace:
    """Translate a segment's updates with the settings' method, and record the outcome of each token.

    Earlier segments are not used as context. If ``is_compared``, each update is also decoded greedily, from
    scratch. Raises `UsageError` for two models via English.
    """
    if engine.first is not None:
        raise UsageError(f"a trace shows one model, but {settings.model} are two: choose one of them")
    recorder = Recorder(engine.method(settings), engine.pool)
    translator = Translator(
        engine.prompt,
        SequentialDecoder(recorder, engine.drafts),
        recorder.method,
        translator_settings(settings, engine.prompt),
        engine.terms(settings),
    )
    state, updates = SegmentState(), list[UpdateTrace]()
    for number, partial in enumerate(partials):
        progress("tracing", number / len(partials))
        state, output = translator.update(
            partial.key, state, partial.text, is_final=partial.is_final, is_stable=partial.is_stable
        )
        made = recorder.take()
        windows = (
            made.get(f"{partial.key}/{place}") or unchanged(window.output)
            for place, window in enumerate(state.windows)
        )
        if is_compared:
            references = _greedy(engine, settings, partial)
            windows = (one.compared(tokens) for one, tokens in zip(windows, references, strict=True))
        updates.append(
            UpdateTrace(
                revision=partial.revision,
                is_final=partial.is_final,
                source=partial.text,
                text="".join(output.pieces),
                windows=tuple(windows),
            )
        )
    translator.release(partials[0].key, state)
    progress("tracing", 1.0)
    piece = engine.prompt.vocabulary.piece
    return Trace(
        surtitle=version("surtitle"),
        stream=partials[0].stream,
        segment=partials[0].segment,
        model=engine.path.name,
        head_tokens=len(engine.prompt.head),
        head_evaluations=engine.pool.head_evaluations,
        settings=to_plain(settings) | settings.rules(knows_unfinished=engine.prompt.knows_unfinished).used,
        pieces={token: spelled(piece(token)) for token in sorted(occurring(updates))},
        updates=tuple(updates),
    )


def _greedy(engine: Engine, settings: TranslateSettings, partial: Partial) -> list[tuple[int, ...]]:
    """For each window, the tokens of greedy decoding from scratch."""
    translator = engine.translator(replace(settings, method="retranslate"))
    key = f"greedy/{partial.key}"
    state, _ = translator.update(
        key, SegmentState(), partial.text, is_final=partial.is_final, is_stable=partial.is_stable
    )
    translator.release(key, state)
    return [window.output for window in state.windows]
