"""Sees to the files of a run: whoever runs it learns when one is late, and what each lacks in the end."""

from collections.abc import Callable

from operators.missing import Missing


class OutputWatch:
    """Tells when a file cannot be written, and when it is again, and knows what each lacks.

    :arg tell: Told on the worker's thread: the path of a file, a sentence, and whether the file is late now.
    """

    def __init__(self, tell: Callable[[str, str, bool], None]) -> None:
        self.tell = tell
        self._backlogs: dict[str, Callable[[], Missing | None]] = {}

    def watch(self, path: str, missing: Callable[[], Missing | None]) -> None:
        """Ask for what this file lacks when the run is over."""
        self._backlogs[path] = missing

    def missing(self) -> list[Missing]:
        """What files lack by now."""
        return [missing for ask in self._backlogs.values() if (missing := ask()) is not None]
