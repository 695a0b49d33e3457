"""Sees to the files of a run: whoever runs it learns when one is late, and what each lacks in the end."""

from collections.abc import Callable

from operators.missing import Missing


class OutputWatch:
    """Tells when a file cannot be written, and when it is again, and knows what each lacks.

    :arg tell: Told on the worker's thread: the path of a file, a sentence, and whether the file is late now.
    """

    def __init__(self, tell: Callable[[str, str, bool], None]) -> None:
        self.tell = tell
        self._files: list[Callable[[], Missing | None]] = []

    def watch(self, missing: Callable[[], Missing | None]) -> None:
        """Ask this for what a file lacks when the run is over."""
        self._files.append(missing)

    def missing(self) -> list[Missing]:
        """What files lack by now."""
        return [missing for ask in self._files if (missing := ask()) is not None]
