"""What an update costs besides the language model, for ``--profile``."""

from threading import Lock
from time import perf_counter

from operators.metrics.quantiles import Quantiles
from operators.observed import Observed, UpdateMeasured


class Profile:
    """Measures the seconds between two updates that no forward pass accounts for."""

    takes = frozenset({UpdateMeasured})

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_s: float | None = None
        #: The seconds of each update but the first.
        self.overheads_s = Quantiles()

    def observe(self, event: Observed) -> None:
        """Record the time of an update."""
        if not isinstance(event, UpdateMeasured):
            return
        with self._lock:
            now_s = perf_counter()
            if self._last_s is not None:
                self.overheads_s.add(now_s - self._last_s - event.record.effort.model_s)
            self._last_s = now_s
