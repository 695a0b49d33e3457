"""What the child process does with models: loads one to see what it is, and measures a run on speech."""

from collections.abc import Iterator
from contextlib import closing
from statistics import median
from time import perf_counter

from msgspec.structs import replace

from connectors.audio.decoder import AudioDecoder
from connectors.machine.resources import available_mb, others_s, resident_mb, usable_cores
from connectors.models.catalog import catalog
from connectors.models.firefox import FIREFOX, has_firefox
from connectors.models.hub import HUB_PREFIX, is_fetched
from connectors.models.resolve import resolve_model, steps
from flows.doctor.model import ModelFacts, SpeedFacts
from flows.engine.candidates import WEIGHTS_PER_BYTE, Reference, advice, candidates
from flows.engine.choice import chosen_model
from flows.engine.costs import measured_here
from flows.engine.marian import OpenMarian, marian_folder, open_marian
from flows.engine.recognition import make_recognizer
from flows.engine.translation import Engine, open_engine
from flows.settings.translate import TranslateSettings
from operators.decoding.translator import SegmentState
from operators.errors import SurtitleError, UsageError
from operators.events import AudioChunk
from operators.languages import Direction
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.prompts.select import select_prompt
from operators.recognizers.part import RECOGNIZERS, USUAL
from operators.recognizers.protocol import Hypothesis


def load(*named: str) -> ModelFacts:
    """Load a model, and choose its prompt; it is ``named`` by the settings of `_settings`."""
    settings = _settings(*named)
    try:
        own = settings.direction
        models = steps(chosen_model(settings, own), [own])
    except SurtitleError as error:
        return ModelFacts(error=str(error))
    if len(models) == 1:
        return _load(settings)
    facts = [_load(_settings(name, one.source.name, one.target.name)) for name, (one,) in models]
    if failed := [one for one in facts if one.error or one.is_absent]:
        return failed[0]
    return replace(
        facts[-1],
        name=" and ".join(one.name for one in facts),
        mb=sum(one.mb for one in facts),
        can_keep=all(one.can_keep for one in facts),
        direction=str(own),
        is_for_captions=False,
    )


def _load(settings: TranslateSettings) -> ModelFacts:
    try:
        direction = settings.direction
        meant = chosen_model(settings, direction)
        if (
            settings.model == "default"
            and has_firefox(direction)
            and not catalog()[meant].translates(direction)
        ):
            meant = FIREFOX
        if _is_absent(meant, direction):
            return ModelFacts(name=meant, is_absent=True)
        if (folder := marian_folder(meant, direction, settings)) is not None:
            return _facts_of(open_marian(folder, settings, [direction]))
        path = resolve_model(meant, direction)
        model = LlamaModel(path, lambda _fraction: None)
        prompt = select_prompt(model, "auto", settings.source, settings.target)
        with closing(LlamaContext(model, ContextSettings(cells=256, sequences=1, threads=1))) as context:
            can_keep = context.can_shift
    except UsageError as error:
        # It does not know the languages.
        found = candidates(settings.direction, *measured_here(settings.direction))
        return ModelFacts(error=str(error), advice=advice(found, available_mb()))
    except SurtitleError as error:
        return ModelFacts(error=str(error))
    return ModelFacts(
        path=str(path),
        name=model.metadata("general.name") or path.stem,
        architecture=model.metadata("general.architecture") or "",
        mb=path.stat().st_size / 1e6,
        is_for_captions=prompt.knows_unfinished,
        can_keep=can_keep,
        better=str(direction) if settings.model == "default" and has_firefox(direction) else "",
        direction=str(direction),
    )


def _settings(model: str, source: str, target: str) -> TranslateSettings:
    return TranslateSettings(model=model, source=source, target=target)


def _is_absent(model: str, direction: Direction) -> bool:
    """Whether it would have to be downloaded."""
    named = catalog().get(model)
    if named is not None:
        return named.translates(direction) and not named.is_here(direction)
    return model.startswith(HUB_PREFIX) and not is_fetched(model)


def _facts_of(opened: OpenMarian) -> ModelFacts:
    files = opened.model.files
    return ModelFacts(
        path=str(opened.path),
        name=opened.path.name,
        architecture=opened.model.architecture,
        mb=sum(file.stat().st_size for file in files) / 1e6,
        can_keep=opened.model.is_causal,
        direction=str(opened.settings.direction),
    )


#: Seconds of the recording, and of its chunks: those of a microphone.
_SPEECH_S, _CHUNK_S = 12.0, 0.1
_BYTES_PER_SECOND = 32_000
# A slow machine translates fewer updates.
_BUDGET_S = 20.0


def measure(*named: str) -> SpeedFacts:
    """Measure the defaults with a model, on the recording that comes with the recogniser."""
    settings = _settings(*named)
    try:
        engine = open_engine(settings) if settings.direction.translates else None
        speech = _speech()
        began, others = perf_counter(), others_s()
        hypotheses, recognized_s = _recognize(speech)
    except SurtitleError as error:
        return SpeedFacts(error=str(error))
    updates, translated_s = _translate(engine, settings, hypotheses) if engine else ([], 0.0)
    return SpeedFacts(
        speech_s=len(speech) / _BYTES_PER_SECOND,
        recognized_s=recognized_s,
        updates_ms=tuple(updates),
        translated_s=translated_s,
        translates=engine is not None,
        threads=engine.context.threads if engine else 0,
        advice=_advice(engine, settings, updates) if engine else "",
        others=(others_s() - others) / (perf_counter() - began) / usable_cores(),
        resident_mb=resident_mb(),
    )


def _advice(engine: Engine, settings: TranslateSettings, updates: list[float]) -> str:
    """Which named model to take, by what this one took."""
    if not updates:
        return ""
    meant = chosen_model(settings, settings.direction)
    own = catalog().get(meant)
    weights = own.weights if own else engine.path.stat().st_size * WEIGHTS_PER_BYTE
    took = Reference(median(updates), weights, engine.prompt.knows_unfinished)
    return advice(candidates(settings.direction, took, {meant: took.update_ms}), available_mb())


def _speech() -> bytes:
    """The beginning of the recording, 16 kHz mono."""
    wanted, sound = int(_SPEECH_S * _BYTES_PER_SECOND), bytearray()
    recording = RECOGNIZERS[USUAL.engine].recording
    assert recording is not None, "the default recogniser comes with one"
    for block in AudioDecoder(recording()).blocks():
        sound += block
        if len(sound) >= wanted:
            break
    return bytes(sound[:wanted])


def _recognize(speech: bytes) -> tuple[list[Hypothesis], float]:
    """The hypotheses, and the seconds that they took."""
    recognizer = make_recognizer(USUAL, observe=lambda _changed: None)
    found: list[Hypothesis] = []
    began = perf_counter()
    for chunk in _chunks(speech):
        found += recognizer.accept(chunk)
    found += recognizer.finish()
    took_s = perf_counter() - began
    recognizer.close()
    return found, took_s


def _chunks(speech: bytes) -> Iterator[AudioChunk]:
    size = int(_CHUNK_S * _BYTES_PER_SECOND)
    for start in range(0, len(speech), size):
        yield AudioChunk(stream="doctor", start_s=start / _BYTES_PER_SECOND, pcm=speech[start : start + size])


def _translate(
    engine: Engine, settings: TranslateSettings, hypotheses: list[Hypothesis]
) -> tuple[list[float], float]:
    """The milliseconds of each update, and the seconds of speech that they cover."""
    translator = engine.translator(settings)
    state, segment, times, covered_s = SegmentState(), -1, list[float](), 0.0
    began = perf_counter()
    for one in hypotheses:
        if perf_counter() - began > _BUDGET_S:
            break
        if one.segment != segment:
            state, segment = SegmentState(), one.segment
        key = f"doctor/{one.segment:06d}"
        start = perf_counter()
        state, _output = translator.update(key, state, one.text, is_final=one.is_final)
        times.append((perf_counter() - start) * 1000)
        covered_s = max(covered_s, one.end_s)
        if one.is_final:
            translator.release(key, state)
    return times, covered_s
