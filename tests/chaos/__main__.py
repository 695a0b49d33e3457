"""Tries to break a run: ``python -m tests.chaos [PART...]``, all parts unless some are named.

Seeds are printed. ``SURTITLE_CHAOS_SEED`` is the first of them, so that one that failed is tried again by
itself with ``SURTITLE_CHAOS_SEED=SEED python -m tests.chaos PART 0``. ``SURTITLE_CHAOS_S`` are the seconds
that the parts share, and a number behind a part is its own, 0 for one trial.
"""

import os
import secrets
import sys
import time
import traceback
from collections.abc import Callable
from itertools import count

from tests.chaos import changes, rooms, signals, twice
from tests.chaos.trial import Broken, Trial, heed_signals

#: What is tried by each part, and its share of the time.
PARTS: dict[str, tuple[Callable[[Trial], None], float]] = {
    "signals": (signals.attempt, 0.25),
    "changes": (changes.attempt, 0.25),
    "rooms": (rooms.attempt, 0.45),
    "twice": (twice.attempt, 0.05),
}
_TOTAL_S = 570.0


def main(arguments: list[str]) -> int:
    """Try; the exit code says whether all held."""
    heed_signals()
    first = int(os.environ.get("SURTITLE_CHAOS_SEED") or secrets.randbelow(10**9))
    total_s = float(os.environ.get("SURTITLE_CHAOS_S") or _TOTAL_S)
    broken: list[str] = []
    for name, seconds in _asked(arguments, total_s).items():
        broken += _part(name, first, seconds)
    print("\n".join(broken) or "all of it held", flush=True)
    return 1 if broken else 0


def _asked(arguments: list[str], total_s: float) -> dict[str, float]:
    asked: dict[str, float] = {}
    for one in arguments:
        if one in PARTS:
            asked[one] = PARTS[one][1] * total_s
        elif asked and one.replace(".", "", 1).isdigit():
            asked[list(asked)[-1]] = float(one)
        else:
            raise SystemExit(f"chaos: there is no part {one}; there are {', '.join(PARTS)}")
    return asked or {name: share * total_s for name, (_, share) in PARTS.items()}


def _part(name: str, first: int, seconds: float) -> list[str]:
    broken: list[str] = []
    deadline = time.monotonic() + seconds
    print(f"{name}: {seconds:.0f} s from seed {first} on", flush=True)
    for number in count():
        if number and time.monotonic() >= deadline:
            break
        seed = first + number
        with Trial(seed) as trial:
            try:
                PARTS[name][0](trial)
            except Exception as error:  # noqa: BLE001 - whatever it is, the other trials go on
                again = f"SURTITLE_CHAOS_SEED={seed} python -m tests.chaos {name} 0"
                broken.append(f"BROKEN: {again}")
                how = str(error) if isinstance(error, Broken) else traceback.format_exc()
                done = "".join(f"\n    {note}" for note in trial.notes)
                print(f"{name} {seed}: BROKEN: {how}{done}\n  again: {again}", flush=True)
    print(f"{name}: {number} trials, {len(broken)} broken", flush=True)
    return broken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
