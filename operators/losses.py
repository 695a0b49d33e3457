"""What was said and never reached the flow."""

import msgspec


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """Sound that was lost since the run began, by what took it."""

    #: How often the device reported that samples were lost, and the seconds that this took away.
    overflows: int = 0
    overflow_s: float = 0.0
    #: Seconds that were thrown away because the flow did not fetch them in time, the oldest first.
    dropped_s: float = 0.0
    #: Seconds without samples that nobody reported: lost on the way, or the device's clock is slow.
    unreported_s: float = 0.0
    #: Seconds during which there was no device.
    absent_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All seconds that are missing."""
        return self.lost_s + self.absent_s

    @property
    def lost_s(self) -> float:
        """The seconds that were said and not heard: those during which there was a device."""
        return self.overflow_s + self.dropped_s + self.unreported_s
