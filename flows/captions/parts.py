"""The parts of a captions run: each is made from the previous ones, and none is changed afterwards."""

from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from connectors.files.watch import OutputWatch
from connectors.messages import tell
from connectors.rooms.registry import RoomRegistry
from connectors.terminal import Screen, open_screen
from connectors.terminology import read_glossary
from flows.captions.files import check_files
from flows.captions.inputs import Input, given_input, make_input
from flows.captions.shared import MakeShared, Shared, StreamLanguages, TalkLanguages
from flows.engine.recognition import check_recognizer
from flows.observe.observer import Observer
from flows.observe.run_observers import RunObservers
from flows.running.dataflow import Process, this_process
from flows.settings.schema import Settings
from operators.events import AudioChunk
from operators.glossary import Glossary
from operators.replacing import MASKED
from operators.serving.service import AdmissionControl


class Parts(NamedTuple):
    """The parts of a run before it begins: nothing is opened, and no file is changed."""

    settings: Settings
    #: This process of a cluster, or the only one.
    process: Process
    #: Displays the captions; the runner of the flow closes it.
    screen: Screen
    #: The observers of the run.
    observers: RunObservers
    #: Watches the output files.
    outputs: OutputWatch
    shared: Shared
    given: Input
    #: Admits live streams; None if all are admitted.
    admission: AdmissionControl | None
    #: The languages that streams may have, and those of each.
    languages: StreamLanguages
    #: The words that captions have others for; None without such.
    replacing: Glossary | None
    #: Whether a stream, or one of its languages, is known to be over.
    is_over: Callable[[str], bool]


def make_screen(settings: Settings) -> Screen:
    """The display for captions, as wide as the languages need."""
    targets = [one.target for one in settings.translate.directions]
    columns, codes = max(one.columns for one in targets), [one.code for one in targets]
    is_logged = settings.messages.format == "json"
    return open_screen(columns, languages=codes if len(codes) > 1 else (), is_logged=is_logged)


def make_parts(
    settings: Settings,
    make_shared: MakeShared = Shared,
    *,
    screen: Screen | None = None,
    observers: Iterable[Observer] = (),
    reading: Iterable[Path] = (),
) -> Parts:
    """Make the parts of the run that the settings describe.

    Args:
        screen: Displays the captions; chosen by the settings unless given.
        reading: Files that were already read, such as the settings file.

    Raises:
        UsageError: unless exactly one input is given, and a separate file for each output; for an invalid
            address, token or microphone; for a recogniser that cannot recognise what is spoken.
        OutputError: for an output that cannot be written, or is also an input.
        InputError: for a recording or a speech model that cannot be read.
    """
    given_input(settings)
    process = this_process(settings)
    if process.has_files:
        check_files(settings, reading)
    screen = screen or make_screen(settings)
    watching = RunObservers(settings, screen, observers, has_files=process.has_files)
    rooms = None if watching.audience is None else watching.audience.rooms
    languages: StreamLanguages = TalkLanguages(settings.translate.directions) if rooms is None else rooms
    words = settings.display.replace
    shared = make_shared(settings, watching.observe, languages)
    given = make_input(settings, watching.observe, shared.stop, process, rooms)
    if given.event_type is AudioChunk:
        _check_recognizer(settings, rooms)
    return Parts(
        settings,
        process,
        screen,
        watching,
        watching.outputs,
        shared,
        given,
        _admission(settings),
        languages,
        None if words is None else read_glossary(Path(words).expanduser(), MASKED),
        rooms.has_left if rooms is not None else _never,
    )


def _check_recognizer(settings: Settings, rooms: RoomRegistry | None) -> None:
    spoken = [settings.translate.source] if rooms is None else [one.name for one in rooms.spoken]
    for one in spoken:
        check_recognizer(settings.recognize, spoken=one, is_live=settings.is_live)


def _never(_stream: str) -> bool:
    """Streams of other inputs may always come back."""
    return False


def _admission(settings: Settings) -> AdmissionControl | None:
    """The admission of live streams; other streams wait for the model and are never refused."""
    rooms = settings.translate.rooms
    # The server admits the rooms of its speakers itself.
    if rooms is None or not settings.is_live or settings.input.rooms:
        return None
    return AdmissionControl(rooms, monotonic, lambda sentence: tell("room_refused", sentence))
