"""The position in a recording, shown where its captions are displayed."""

from connectors.terminal.screen import Screen
from connectors.view.status import Status
from operators.observed import Observed, RecordingAt


class RecordingProgress:
    """Shows the position in a recording as the status of a screen."""

    takes = frozenset({RecordingAt})

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def observe(self, event: Observed) -> None:
        """Show the position."""
        if isinstance(event, RecordingAt):
            state, duration_s = "translating the recording", event.duration_s or None
            self._screen.status(Status(state=state, elapsed_s=event.position_s, duration_s=duration_s))
