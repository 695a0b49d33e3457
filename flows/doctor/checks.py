"""The checks of ``surtitle doctor``: each returns findings with remedies."""

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from connectors.machine.resources import available_mb, core_quota, cpu_name, usable_cores
from connectors.microphone.devices import abandon, find_device, list_devices, record
from connectors.models.catalog import catalog
from connectors.models.firefox import FIREFOX, has_firefox
from connectors.models.hub import HUB_PREFIX, is_fetched
from connectors.models.voices import MEGABYTES, VOICES, voices_file
from connectors.sinks.part import SINKS
from flows.settings.schema import Settings
from flows.settings.translate import TranslateSettings
from operators.errors import SurtitleError, UsageError
from operators.extras import EXTRAS, Extra, installing, missing
from operators.languages import Direction
from operators.notifications import Progress
from operators.recognizers.part import RECOGNIZERS, USUAL, RecognizerSettings, unobserved
from operators.sound import peak_dbfs
from operators.voices.settings import SpeakersSettings

if TYPE_CHECKING:
    from flows.engine.translation import Engine
    from operators.models.devices import Device

#: warning: captions work, but not as well as they could; problem: captions will not work.
Verdict = Literal["ok", "warning", "problem"]


class Finding(msgspec.Struct, frozen=True):
    verdict: Verdict
    #: What was found, phrased like an error.
    sentence: str
    #: What to do; empty if nothing has to be done.
    remedy: str = ""


class Result(msgspec.Struct, frozen=True):
    subject: str
    findings: list[Finding]

    @property
    def verdict(self) -> Verdict:
        order: tuple[Verdict, ...] = ("ok", "warning", "problem")
        return max((one.verdict for one in self.findings), key=order.index, default="ok")


def examine(settings: Settings, doing: Progress, *, is_quick: bool) -> Iterator[Result]:
    """Check all subjects of a run with these settings; nothing is downloaded."""

    def check(subject: str, look: Callable[[], list[Finding]]) -> Result:
        doing(f"examining: {subject}", None)
        try:
            return Result(subject, look())
        except SurtitleError as error:
            return Result(subject, [Finding("problem", str(error))])

    yield check("processor", processor)
    yield from _models(settings, doing, check, is_quick=is_quick)
    yield check("microphone", lambda: microphone(settings.input.microphone))
    yield check("extras", extras)


def _models(
    settings: Settings, doing: Progress, check: Callable[..., Result], *, is_quick: bool
) -> Iterator[Result]:
    from flows.doctor.speed import judge, measure

    asked = settings.translate
    template = asked.template if asked.corrects else "auto"
    wanted = [
        TranslateSettings(model=asked.model, template=template, source=one.source.name, to=one.target.name)
        for one in asked.by_model(asked.directions)
    ]
    engines: list[Engine] = []
    for own in wanted:
        name = "model" if own == wanted[0] else own.target
        yield check(name, partial(model, own, doing, engines))
    yield check("recogniser", partial(recognizer, settings))
    yield check("speakers", partial(speakers, settings.speakers))
    for sink, path in settings.output.files():
        if sink.examine:
            yield check(sink.name, lambda examine=sink.examine, path=path: [Finding("ok", examine(path))])
    # The speed of a run needs the first language's model.
    if not is_quick and len(engines) == len(wanted):
        own, engine = (wanted or [settings.translate])[0], next(iter(engines), None)
        yield check("speed", lambda: judge(measure(engine, own, _measured(settings)), len(wanted)))


def processor() -> list[Finding]:
    cores, usable = os.cpu_count() or 1, usable_cores()
    share = min(usable, core_quota() or usable)
    of = f" of {cores}" if share < cores else ""
    sentence = f"{cpu_name().rpartition(',')[0]}: {share:g}{of} core{'' if share == 1 else 's'} can be used"
    remedy = "give surtitle two cores: the recogniser and the translator would share this one"
    own = Finding("warning", sentence, remedy) if share < 2 else Finding("ok", sentence)
    if missing(EXTRAS["llm"]):
        return [own]
    from operators.models.devices import devices  # which loads llama.cpp

    return [own, graphics(devices(), has_nvidia=_NVIDIA.exists())]


#: The device file that NVIDIA's driver creates for the first GPU.
_NVIDIA = Path("/dev/nvidia0")


def graphics(found: Iterable["Device"], *, has_nvidia: bool) -> Finding:
    """The device of language models; other models run on the processor."""
    gpus = [f"{one}, {one.megabytes:,} MB" for one in found if one.is_gpu]
    if gpus:
        return Finding("ok", f"llama.cpp computes on {' and '.join(gpus)}")
    if has_nvidia:
        remedy = "compile it for the GPU: CMAKE_ARGS=-DGGML_CUDA=on make clean setup"
        return Finding("warning", "llama.cpp does not use the NVIDIA GPU that is here", remedy)
    return Finding("ok", "llama.cpp computes on the processor: it finds no GPU")


def model(settings: TranslateSettings, doing: Progress, engines: list["Engine"]) -> list[Finding]:
    """Load a model, and append its engine to ``engines``."""
    from flows.engine.choice import advice, candidates, chosen_model
    from flows.engine.costs import measured_here
    from flows.engine.translation import open_engine

    direction = settings.direction
    meant = chosen_model(settings, direction)
    can_download = settings.model == "default" and has_firefox(direction) and meant != FIREFOX
    if can_download and (missing(EXTRAS["llm"]) or not catalog()[meant].translates(direction)):
        meant = FIREFOX
    if _is_absent(meant, direction):
        remedy = "start a run with it: the first run downloads it"
        return [Finding("warning", f"{meant} was not downloaded yet", remedy)]
    try:
        engine = open_engine(replace(settings, model=meant), doing)
    except UsageError as error:
        # The model does not translate this direction.
        found = candidates(direction, *measured_here(direction))
        return [Finding("problem", str(error)), advised(advice(found, available_mb()))]
    engines.append(engine)
    does = "was trained for captions," if engine.prompt.knows_unfinished else "translates"
    own, layers = engine.language_model, ""
    if own is not None:
        from operators.models.devices import placement  # which loads llama.cpp

        if (place := placement(own)).gpu_layers:
            layers = f", {place.gpu_layers} of {place.layers} layers on the GPU"
    size = f"{megabytes(engine):,.0f} MB{layers}"
    results = [Finding("ok", f"{_name(engine)} ({size}) can be loaded; it {does} {direction}")]
    if can_download:
        better = f"a run with a network downloads Firefox's model for {direction} once, and uses it"
        results.append(Finding("ok", better))
    return results


def advised(advice: str) -> Finding:
    return Finding("ok", f"`surtitle models` for these languages: {advice}")


def _is_absent(name: str, direction: Direction) -> bool:
    if named := catalog().get(name):
        return named.translates(direction) and not named.is_here(direction)
    return name.startswith(HUB_PREFIX) and not is_fetched(name)


def _name(engine: "Engine") -> str:
    behind = f"{_name(engine.first)} and " if engine.first else ""
    own = engine.language_model and engine.language_model.metadata("general.name")
    return f"{behind}{own or engine.path.name}"


def megabytes(engine: "Engine") -> float:
    """The size of a model's files; with a pivot through English, of both models."""
    files: Iterable[Path] = getattr(engine.model, "files", [engine.path])
    own = sum(file.stat().st_size for file in files) / 1e6
    return own + (megabytes(engine.first) if engine.first else 0.0)


def recognizer(settings: Settings) -> list[Finding]:
    """Raises `SurtitleError` if the recogniser cannot be used."""
    from flows.engine.recognition import check_recognizer, chosen, make_recognizer, named_model

    spoken = settings.translate.spoken
    check_recognizer(settings.recognize, spoken=spoken, is_live=True)
    wanted = chosen(settings.recognize, spoken)
    if (named := named_model(wanted)) is not None and not named.is_here:
        remedy = f"surtitle models get --speech {named.name}"
        return [Finding("warning", f"the speech model {named.name} was not downloaded yet", remedy)]
    make_recognizer(wanted, spoken=spoken, observe=unobserved).close()
    languages = ", ".join(one.name for one in spoken) or "whatever language is spoken"
    return [Finding("ok", f"{wanted.engine} can be loaded; it recognises {languages}")]


def speakers(settings: SpeakersSettings) -> list[Finding]:
    """Whether speakers can be distinguished. Raises `SurtitleError` if a named model cannot be used."""
    from flows.engine.voices import own_encoder

    if own_encoder(settings) is None and voices_file() is None:
        get, size = f"surtitle models get {VOICES}", f"{MEGABYTES} MB"
        if settings.tells_apart:
            return [Finding("warning", f"the model of voices ({size}) was not downloaded yet", get)]
        return [Finding("ok", f"To distinguish speakers (--speakers), `{get}` downloads a model of {size}")]
    return [Finding("ok", "Speakers can be distinguished with --speakers")]


def _measured(settings: Settings) -> RecognizerSettings:
    """The recogniser to measure: Whisper if it may be used and is installed, because it is the slowest."""
    from flows.engine.recognition import chosen, named_model

    wanted = chosen(settings.recognize, settings.translate.spoken)
    named = named_model(wanted)
    is_here = named is None or (named.is_here and not missing(EXTRAS["whisper"]))
    return replace(wanted, engine="whisper") if wanted.engine in ("auto", "whisper") and is_here else USUAL


# Seconds to record; until that much sound must have come; and until the sound system counts as hung.
_LISTEN_S, _FIRST_S, _HANGS_S = 2.0, 5.0, 15.0
#: Peaks in dBFS: below the first, it is silent; below the second, nobody spoke; above the third, too loud.
_MUTED, _QUIET, _LOUD = -60.0, -40.0, -1.0


def microphone(wanted: str | None) -> list[Finding]:
    """Record two seconds. Without a named microphone, failure is a warning: recordings need none."""
    answers: list[Finding | SurtitleError] = []

    def look() -> None:
        try:
            answers.append(_heard(wanted))
        except SurtitleError as error:
            answers.append(error)

    listener = threading.Thread(target=look, name="doctor's microphone", daemon=True)
    listener.start()
    listener.join(_HANGS_S)
    if not answers:
        with suppress(SurtitleError):
            abandon()
        remedy = "restart it, or connect the microphone again"
        return [Finding("warning", f"the sound system gave no answer within {_HANGS_S:g} s", remedy)]
    (answer,) = answers
    if isinstance(answer, Finding):
        return [answer]
    return [Finding("warning" if wanted is None else "problem", str(answer))]


def _heard(wanted: str | None) -> Finding:
    device = find_device(wanted)
    others = len(list_devices()) - 1
    sound, has_sound, bytes_per_second = bytearray(), threading.Event(), 1

    def prepare(rate: int, channels: int) -> None:
        nonlocal bytes_per_second
        bytes_per_second = rate * channels * 2

    def take(data: bytes, _frames: int) -> None:
        sound.extend(data)
        if len(sound) >= _LISTEN_S * bytes_per_second:
            has_sound.set()

    stream = record(device, prepare, take)
    has_sound.wait(_FIRST_S)
    stream.close()
    name = f"{device.name}, one of {others + 1}" if others else device.name
    return judge_sound(name, len(sound) / bytes_per_second, peak_dbfs(bytes(sound)))


def judge_sound(name: str, seconds: float, peak_dbfs: float) -> Finding:
    if seconds <= 0:
        remedy = "allow this program to use the microphone in the system's settings, or connect it again"
        return Finding("warning", f"{name}: it was opened, but gave no sound", remedy)
    choose = "unmute it, or choose another one of `surtitle devices` with --device"
    if not math.isfinite(peak_dbfs):
        # macOS gives zeros to a program that may not use the microphone.
        allow = f"allow this program to use the microphone in the system's settings, {choose}"
        return Finding("warning", f"{name}: it gives complete silence", allow)
    sentence = f"{name}: the loudest sound in {seconds:.0f} s had {peak_dbfs:.0f} dBFS"
    if peak_dbfs < _MUTED:
        return Finding("warning", f"{sentence}, which is silence", choose)
    if peak_dbfs > _LOUD:
        remedy = "lower its level in the system's settings"
        return Finding("warning", f"{sentence}, which is too loud", remedy)
    return Finding("ok", f"{sentence}; nobody seems to have spoken" if peak_dbfs < _QUIET else sentence)


def all_extras() -> dict[str, Extra]:
    own = [*(one.extra for one in RECOGNIZERS.values()), *(one.extra for one in SINKS.values())]
    return {extra.name: extra for extra in own if extra is not None} | EXTRAS


def extras() -> list[Finding]:
    """Absent extras are no defect: only some runs need one."""
    known = all_extras()
    absent = [name for name, extra in known.items() if missing(extra) is not None]
    installed = [name for name in known if name not in absent]
    found = [Finding("ok", f"Installed: {', '.join(installed)}")] if installed else []
    if absent:
        listed = ", ".join(f"{name} ({known[name].purpose})" for name in absent)
        found.append(Finding("ok", f"Not installed: {listed}. To add one: {installing(absent[0])}"))
    return found
