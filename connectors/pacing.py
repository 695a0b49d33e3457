"""When a live source is asked again: paced by the monotonic clock, whatever the wall clock does."""

import time
from datetime import UTC, datetime

#: For ``next_awake``: Bytewax compares it with the wall clock, and one that is set back would hold up a time
#: from before by as much. This one has come on any clock.
ALWAYS_DUE = datetime(1970, 1, 1, tzinfo=UTC)
# The other stages of the worker wait as long, so it is short; and long enough to leave the processor alone.
_NAP_S = 0.005


def nap(wait_s: float) -> None:
    """Let a source with nothing to hand over wait before it is asked again, 5 ms at most."""
    time.sleep(max(0.0, min(wait_s, _NAP_S)))
