"""Events of the input that are left out, as their captions are in other languages than those of the run."""

from collections import Counter
from threading import Lock

from connectors.messages import tell
from operators.languages import is_language, language
from operators.notifications import MessageSkipped, Observed, RunEnded
from operators.text import cleaned


class LeftOut:
    """Counts them, and tells their number at the end."""

    takes = frozenset({MessageSkipped, RunEnded})

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = Counter[str]()

    def observe(self, event: Observed) -> None:
        """Count an event, or tell how many there were since this was last told."""
        match event:
            case MessageSkipped("language", code):
                with self._lock:
                    self._counts[code] += 1
            case RunEnded():
                with self._lock:
                    counts, self._counts = self._counts, Counter()
                if counts:
                    each = ", ".join(f"{count} in {_name(code)}" for code, count in sorted(counts.items()))
                    tell("languages_left_out", f"events left out: {each}; --to names the languages of a run")


def _name(code: str) -> str:
    return language(code).name if is_language(code) else cleaned(code)
