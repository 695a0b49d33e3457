"""The parts of a captions run: each is made from the previous ones, and none is changed afterwards."""

from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from msgspec.structs import replace

from connectors.files.watch import OutputWatch
from connectors.messages import log_event
from connectors.terminal import Screen, open_screen
from connectors.terminology import read_glossary
from flows.captions.files import check_files
from flows.captions.inputs import Input, given_input, make_input
from flows.captions.resources import MakeResources, RunResources, StreamLanguages, TalkLanguages
from flows.engine.choice import with_expected
from flows.engine.recognition import check_recognizer
from flows.engine.voices import check_speakers
from flows.observe.run_observers import Observer, RunObservers
from flows.running.dataflow import Process, this_process
from flows.settings.schema import Settings
from operators.events import AudioChunk
from operators.glossary import Glossary
from operators.replacing import MASKED
from operators.serving.admission import AdmissionControl


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
    resources: RunResources
    given: Input
    #: Admits live streams; None if all are admitted.
    admission: AdmissionControl | None
    #: The languages of streams.
    languages: StreamLanguages
    #: Words to replace in captions; None if there are none.
    replacing: Glossary | None
    #: Whether a stream, or one of its languages, has ended.
    is_over: Callable[[str], bool]


def make_parts(
    settings: Settings,
    make_resources: MakeResources = RunResources,
    *,
    observers: Iterable[Observer] = (),
    reading: Iterable[Path] = (),
) -> Parts:
    """Make the parts of the run that the settings describe.

    Args:
        reading: Files that were already read, such as the settings file.

    Raises:
        UsageError: unless exactly one input is given, and a separate file for each output; for an invalid
            address, token or microphone; for a recogniser that does not support the spoken language.
        OutputError: for an output that cannot be written, or is also an input.
        InputError: for a recording or a speech model that cannot be read.
    """
    given_input(settings)
    settings = replace(settings, translate=with_expected(settings.translate))
    process = this_process(settings)
    if process.has_files:
        check_files(settings, reading)
    targets = settings.translate.written
    # The screen is as wide as the scripts need.
    screen = open_screen(
        max(one.script.columns for one in targets),
        languages=[one.code for one in targets] if len(targets) > 1 else (),
        viewer=targets[0],
        is_logged=settings.messages.format == "json",
    )
    watching = RunObservers(settings, screen, observers, has_files=process.has_files)
    rooms = None if watching.audience is None else watching.audience.rooms
    languages: StreamLanguages = TalkLanguages(settings.translate.directions) if rooms is None else rooms
    words = settings.display.replace
    resources = make_resources(settings, watching.observe, languages)
    given = make_input(settings, watching.observe, resources.stop, process, rooms)
    if given.event_type is AudioChunk:
        check_speakers(settings.speakers)
        spoken = [settings.translate.spoken]
        if rooms is not None:
            spoken = [*((one,) for one in rooms.spoken), *([rooms.spoken] if rooms.mixes else [])]
        for one in spoken:
            check_recognizer(settings.recognize, spoken=one, is_live=settings.is_live)
    places, admission = settings.translate.rooms, None
    # The server admits the rooms of its speakers itself, and streams that are not live wait for the model.
    if places is not None and settings.is_live and rooms is None:
        admission = AdmissionControl(places, monotonic, lambda sentence: log_event("room_refused", sentence))
    return Parts(
        settings=settings,
        process=process,
        screen=screen,
        observers=watching,
        outputs=watching.outputs,
        resources=resources,
        given=given,
        admission=admission,
        languages=languages,
        replacing=None if words is None else read_glossary(Path(words).expanduser(), MASKED),
        is_over=(lambda _stream: False) if rooms is None else rooms.has_left,
    )
