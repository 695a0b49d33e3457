"""Audio that was lost before it reached the flow."""

import msgspec


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """Sound that was lost since the run began, by cause."""

    #: How often the device reported lost samples, and how many seconds were lost.
    overflows: int = 0
    overflow_s: float = 0.0
    #: Seconds that were dropped, oldest first, because the flow did not fetch them in time.
    dropped_s: float = 0.0
    #: Missing seconds that the device did not report.
    unreported_s: float = 0.0
    #: Seconds during which there was no device.
    absent_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All missing seconds."""
        return self.lost_s + self.absent_s

    @property
    def lost_s(self) -> float:
        """The seconds that were lost while there was a device."""
        return self.overflow_s + self.dropped_s + self.unreported_s
