"""The summary of a run, accumulated while it runs."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from connectors.files.output import inherited
from connectors.jsonl.files import read_events
from flows.settings.schema import Settings
from operators.events import ErasureRecord
from operators.losses import Losses, Missing
from operators.metrics.summary import Summary, SummaryMeter
from operators.observed import Observed, SoundLost, SpeechCut, UpdateMeasured
from operators.secret import to_plain


class RunSummary:
    """Accumulates updates and losses for the closing summary."""

    takes = frozenset({UpdateMeasured, SoundLost, SpeechCut})

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._meter = SummaryMeter()
        self._losses = Losses()
        self._cut = 0

    def observe(self, event: Observed) -> None:
        """Add an update, or record a loss."""
        match event:
            case UpdateMeasured(record):
                with self._lock:
                    self._meter.add(record)
            case SoundLost(losses):
                self._losses = losses
            case SpeechCut():
                with self._lock:
                    self._cut += 1

    def summary(self, missing: Sequence[Missing] = (), log: str | None = None) -> Summary:
        """The summary so far; if the erasure log can be read back, the summary of the whole log.

        ``missing`` lists what the files of the run lack.
        """
        meter = self._meter
        # A pipe, a device or standard output cannot be read back.
        can_read = log is not None and Path(log).is_file() and inherited(Path(log)) is None
        if log is not None and can_read and log not in (one.path for one in missing):
            meter = SummaryMeter()
            for record in read_events(Path(log), ErasureRecord):
                meter.add(record)
        settings = to_plain(self._settings)
        lost_s, absent_s = self._losses.lost_s, self._losses.absent_s
        with self._lock:
            return meter.summary(settings, lost_s=lost_s, absent_s=absent_s, cut=self._cut, missing=missing)
