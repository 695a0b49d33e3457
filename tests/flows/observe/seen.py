"""A screen that remembers what status it was shown."""

from io import StringIO

from typing_extensions import override

from connectors.terminal.screen import Lines
from connectors.view import Status


class SeenStatus(Lines):
    """Remembers each status, in order."""

    def __init__(self) -> None:
        super().__init__(StringIO())
        self.seen: list[Status] = []

    @override
    def status(self, status: Status) -> None:
        self.seen.append(status)
