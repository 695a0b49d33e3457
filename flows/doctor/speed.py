"""Measures the speed of captions on the recording that comes with the recogniser."""

from statistics import median
from time import perf_counter
from typing import NamedTuple

from connectors.audio.decoder import open_audio
from connectors.machine.resources import available_mb, others_s, usable_cores
from connectors.models.catalog import FLOWS_MS, catalog
from flows.doctor.checks import Finding, advised
from flows.engine.choice import WEIGHTS_PER_BYTE, Reference, advice, candidates, chosen_model
from flows.engine.recognition import make_recognizer
from flows.engine.translation import Engine
from flows.settings.translate import TranslateSettings
from operators.decoding.translator import SegmentState
from operators.events import AudioChunk
from operators.languages import ENGLISH
from operators.recognizers.moonshine import bundled_recording
from operators.recognizers.part import RecognizerSettings, unobserved
from operators.recognizers.protocol import Hypothesis

#: Seconds of the recording, and of its chunks, which are as long as a microphone's.
_SPEECH_S, _CHUNK_S = 12.0, 0.1
_BYTES_PER_SECOND = 32_000
# A slow machine translates fewer updates.
_BUDGET_S = 20.0
#: Milliseconds from which captions fall behind: about the time that a segment takes to speak.
_BEHIND_MS = 3000.0
#: Share of busy time from which little is left for everything else on the machine.
_RESERVE = 0.7
#: Share of the processor used by other programs from which the figures are not those of this machine alone.
DISTURBED = 0.2


class Speed(NamedTuple):
    #: Seconds that recognising a second of speech took.
    real_time_factor: float
    #: Milliseconds of each update of the translation; None without one.
    updates_ms: list[float] | None = None
    #: Seconds of translated speech; less than all of it on a slow machine.
    translated_s: float = 0.0
    #: Share of the processor that other programs used meanwhile.
    others: float = 0.0
    #: Which named model to take here, as a phrase.
    advice: str = ""


def measure(engine: Engine | None, settings: TranslateSettings, recognizer: RecognizerSettings) -> Speed:
    """Measure the recogniser, whose model must be here, and the engine if there is one."""
    speech = _speech()
    began, others = perf_counter(), others_s()
    hypotheses, recognized_s = _recognize(speech, recognizer)
    updates, translated_s, phrase = None, 0.0, ""
    if engine is not None:
        updates, translated_s = _translate(engine, settings, hypotheses)
        phrase = _advice(engine, settings, updates)
    share = (others_s() - others) / (perf_counter() - began) / usable_cores()
    factor = recognized_s * _BYTES_PER_SECOND / len(speech)
    return Speed(factor, updates, translated_s, share, phrase)


def _speech() -> bytes:
    return b"".join(open_audio(bundled_recording()).blocks())[: int(_SPEECH_S * _BYTES_PER_SECOND)]


def _recognize(speech: bytes, settings: RecognizerSettings) -> tuple[list[Hypothesis], float]:
    recognizer = make_recognizer(settings, spoken=(ENGLISH,), observe=unobserved)
    found: list[Hypothesis] = []
    size = int(_CHUNK_S * _BYTES_PER_SECOND)
    began = perf_counter()
    for start in range(0, len(speech), size):
        pcm = speech[start : start + size]
        found += recognizer.accept(AudioChunk(stream="doctor", start_s=start / _BYTES_PER_SECOND, pcm=pcm))
    found += recognizer.finish()
    took_s = perf_counter() - began
    recognizer.close()
    return found, took_s


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


def _advice(engine: Engine, settings: TranslateSettings, updates: list[float]) -> str:
    if not updates:
        return ""
    meant = chosen_model(settings, settings.direction)
    own = catalog().get(meant)
    weights = own.weights if own else engine.path.stat().st_size * WEIGHTS_PER_BYTE
    took = Reference(median(updates), weights, engine.prompt.knows_unfinished)
    return advice(candidates(settings.direction, took, {meant: took.update_ms}), available_mb())


def judge(speed: Speed, languages: int = 1) -> list[Finding]:
    """Compare the speed with speech, captioned in ``languages`` languages at once."""
    factor, updates = speed.real_time_factor, speed.updates_ms
    sentence, typical, slow, share = f"recognising a second of speech takes {factor:.2f} s", 0.0, 0.0, 0.0
    if updates is not None:
        if not updates:
            return [Finding("warning", "nothing was recognised in the recording", "install surtitle again")]
        typical, slow = median(updates), sorted(updates)[min(len(updates) - 1, int(0.95 * len(updates)))]
        share = sum(updates) / 1000 / speed.translated_s
        sentence += (
            f", an update of captions {typical:.0f} ms at the median, {slow:.0f} ms at the 95th percentile"
        )
    if languages > 1:
        sentence += f"; {int((1 - factor) / share) if share else 0} languages at once are possible"
    remedy = f"{'choose a smaller model with --model, or ' if updates else ''}give it more cores"
    if speed.others >= DISTURBED:
        sentence += f" (while other programs used {speed.others:.0%} of the processor)"
        remedy = "end the other programs, and measure again"
    busy = factor + languages * share
    if factor >= 1 or typical >= _BEHIND_MS:
        found = Finding("problem", f"{sentence}: captions fall behind speech", remedy)
    elif busy >= 1 or slow >= FLOWS_MS:
        found = Finding("warning", f"{sentence}: captions come in larger steps", remedy)
    elif busy >= _RESERVE:
        reserve = f"{sentence}: captions keep up, with little in reserve ({busy:.0%} busy)"
        found = Finding("warning", reserve, "close other programs while you caption")
    else:
        found = Finding("ok", f"{sentence}: captions keep up with speech ({busy:.0%} busy)")
    return [found, *[advised(speed.advice)] * bool(speed.advice)]
