"""When a live source is polled again: paced by the monotonic clock, independent of the wall clock."""

import time
from datetime import UTC, datetime

#: For ``next_awake``: Bytewax compares it with the wall clock. If that clock is set back, any recent time
#: would delay the source by as much; this time is in the past on any clock.
ALWAYS_DUE = datetime(1970, 1, 1, tzinfo=UTC)
# The worker's other stages wait this long too, so it is short, but long enough to leave the processor idle.
_NAP_S = 0.005


def nap(wait_s: float) -> None:
    """Make a source with nothing to deliver wait before it is polled again, 5 ms at most."""
    time.sleep(max(0.0, min(wait_s, _NAP_S)))
