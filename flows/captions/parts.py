"""What a captions run is made of: each part is made from those before it, and none is changed afterwards."""

from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from connectors.files.watch import OutputWatch
from connectors.terminal.drawing import open_screen
from connectors.terminal.screen import Screen
from flows.captions.inputs import Input, given_input, make_input
from flows.captions.outputs import check_files
from flows.captions.shared import Shared
from flows.observe.observer import Observe, Observer
from flows.observe.run_observers import RunObservers
from flows.settings.schema import Settings
from operators.languages import language
from operators.observed import RoomRefused
from operators.serving.admission import Door


class Parts(NamedTuple):
    """The parts of a run that has not begun: nothing is opened, and no file changed."""

    settings: Settings
    #: Where captions are seen; whoever runs the flow closes it.
    screen: Screen
    #: Those who look on.
    observers: RunObservers
    #: Sees to the files that are written.
    outputs: OutputWatch
    shared: Shared
    given: Input
    #: Which live streams have a place; None if all have.
    door: Door | None


def make_screen(settings: Settings) -> Screen:
    """Where captions are seen, as wide as the language needs."""
    columns = language(settings.translate.target).columns
    return open_screen(columns, is_logged=settings.messages.format == "json")


def make_parts(
    settings: Settings,
    make_shared: Callable[[Settings, Observe], Shared] = Shared,
    *,
    screen: Screen | None = None,
    observers: Iterable[Observer] = (),
    reading: Iterable[Path] = (),
) -> Parts:
    """Make the parts of the run that the settings describe.

    Args:
        make_shared: Makes what the workers share.
        screen: Where captions are seen; as the settings say unless given.
        observers: Look on besides those that the settings ask for.
        reading: Files that were read already, such as the one of the settings.

    Raises:
        UsageError: unless exactly one input is given, and a file of its own for each output; for an address,
            token or microphone that cannot be.
        OutputError: for an output that cannot be written, or is read.
        InputError: for a recording that cannot be read.
    """
    given_input(settings)
    check_files(settings, reading)
    screen = screen or make_screen(settings)
    watching = RunObservers(settings, screen, observers)
    shared = make_shared(settings, watching.observe)
    return Parts(
        settings,
        screen,
        watching,
        OutputWatch(watching.observe),
        shared,
        make_input(settings, watching.observe, shared.stop),
        _door(settings, watching.observe),
    )


def _door(settings: Settings, observe: Observe) -> Door | None:
    """Only live streams are refused; others wait until the model can take them."""
    rooms = settings.translate.rooms
    if rooms is None or not settings.is_live:
        return None
    return Door(rooms, monotonic, lambda sentence: observe(RoomRefused(sentence)))
