"""``surtitle models --speech``: the named speech models, and which of them keep up on this machine."""

import sys

import msgspec
from rich.console import Console
from rich.table import Table

from connectors.models.speech import BASE, SpeechModel, similar_to, speech_models
from connectors.models.voices import LICENCE, MEGABYTES, VOICES, fetch_voices, voices_file
from flows.doctor.speed import DISTURBED, Speed, measure
from flows.running.progress import ProgressLine
from flows.settings.translate import TranslateSettings
from operators.errors import UsageError, printable
from operators.extras import missing
from operators.languages import language
from operators.recognizers.part import RECOGNIZERS, USUAL

#: Real-time factor from which captions come in larger steps.
_KEEPS_UP = 0.8
_MAX_LANGUAGES = 6


class Listed(msgspec.Struct, frozen=True):
    """A speech model, and its state on this machine."""

    name: str
    engine: str
    what: str
    languages: list[str]
    megabytes: int
    licence: str
    commercial: bool
    is_here: bool
    #: Seconds that recognising a second of speech takes; None if nothing was measured here.
    pace: float | None
    is_measured: bool


def list_speech(spoken: str | None, *, as_json: bool) -> None:
    """Print the models, or only those for the ``spoken`` language."""
    wanted = None if spoken is None else language(spoken)
    with ProgressLine(quiet=as_json, captions=False) as line:
        line.doing("measuring Whisper base", None)
        speed = _of_base()
    base_pace = None if speed is None else speed.real_time_factor
    found = [
        _listed(one, base_pace)
        for one in speech_models().values()
        if wanted is None or one.recognises(wanted)
    ]
    voices = {"licence": LICENCE, "megabytes": MEGABYTES, "is_here": voices_file() is not None}
    if as_json:
        sys.stdout.buffer.write(
            msgspec.json.format(msgspec.json.encode({"models": found, VOICES: voices})) + b"\n"
        )
        return
    console = Console(highlight=False)
    console.print(_table(found))
    console.print("\ns: for one second of speech, measured here, or ~ estimated from Whisper base by size")
    if speed is not None and speed.others >= DISTURBED:
        console.print(
            f"Other programs used {speed.others:.0%} of the processor meanwhile; repeat this without them."
        )
    console.print("surtitle models get --speech NAME downloads one; --speech-model NAME uses it.")
    where = "is here" if voices["is_here"] else f"surtitle models get {VOICES} downloads it"
    console.print(f"\nThe model of voices (--speakers): {LICENCE}, {MEGABYTES} MB; {where}.")


def get_speech(name: str) -> None:
    """Download a speech model, or the model of voices, into the cache, and print its path."""
    named = speech_models().get(name)
    if named is None and name != VOICES:
        raise UsageError(f"there is no speech model {name}; {similar_to(name)}")
    with ProgressLine(quiet=False, captions=False) as line:
        place = fetch_voices(line.doing) if named is None else named.fetch(line.doing)
    print(printable(str(place)))


def _of_base() -> Speed | None:
    base = speech_models()[BASE]
    extra = RECOGNIZERS[base.engine].extra
    if not base.is_here or (extra is not None and missing(extra)):
        return None
    return measure(None, TranslateSettings(), msgspec.structs.replace(USUAL, engine=base.engine, model=BASE))


def _listed(one: SpeechModel, base_pace: float | None) -> Listed:
    base = speech_models()[BASE]
    is_known = base_pace is not None and one.engine == base.engine and one.parameters > 0
    return Listed(
        name=one.name,
        engine=one.engine,
        what=one.what,
        languages=sorted(language(code).name for code in one.codes),
        megabytes=one.megabytes,
        licence=one.licence,
        commercial=one.commercial,
        is_here=one.is_here,
        pace=round((base_pace or 0.0) * one.parameters / base.parameters, 2) if is_known else None,
        is_measured=is_known and one == base,
    )


def _table(found: list[Listed]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    for heading in ("what it is", "languages", "licence"):
        table.add_column(heading)
    for heading in ("MB", "s", "keeps up", "here"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        many = len(one.languages) > _MAX_LANGUAGES
        table.add_row(
            one.name,
            one.what,
            str(len(one.languages)) if many else ", ".join(one.languages),
            one.licence + ("" if one.commercial else ", no commercial use"),
            f"{one.megabytes:,}",
            "" if one.pace is None else f"{'' if one.is_measured else '~'}{one.pace:.2f}",
            "" if one.pace is None else ("yes" if one.pace < _KEEPS_UP else "no"),
            "yes" if one.is_here else "",
        )
    return table
