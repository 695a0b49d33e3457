"""Disturbs runs by signals, again and again: ``python -m tests.chaos``.

Seeds are printed. ``SURTITLE_CHAOS_SEED`` is the first of them, and ``SURTITLE_CHAOS_S`` are the seconds that
it takes: a seed that failed is tried again with 0.
"""

import os
import secrets
import sys
import time
import traceback
from itertools import count

from tests.chaos.signals import attempt
from tests.chaos.trial import Broken, Trial, heed_signals


def main() -> int:
    """Try; the exit code says whether all held."""
    heed_signals()
    first = int(os.environ.get("SURTITLE_CHAOS_SEED") or secrets.randbelow(10**9))
    deadline = time.monotonic() + float(os.environ.get("SURTITLE_CHAOS_S") or 600)
    broken = []
    for seed in count(first):
        if not _holds(seed):
            broken.append(seed)
        if time.monotonic() >= deadline:
            break
    print(f"{seed + 1 - first} trials from seed {first} on, broken: {broken or 'none'}")
    return 1 if broken else 0


def _holds(seed: int) -> bool:
    with Trial(seed) as trial:
        try:
            attempt(trial)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other trials go on
            how = str(error) if isinstance(error, Broken) else traceback.format_exc()
            again = f"SURTITLE_CHAOS_SEED={seed} SURTITLE_CHAOS_S=0 python -m tests.chaos"
            print(f"BROKEN: {how}", *trial.notes, f"again: {again}", sep="\n    ", flush=True)
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
