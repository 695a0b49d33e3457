"""Runs of an hour or more, watched: ``python -m tests.hours SCENARIO [OPTION …]``.

The program is run as its users run it, with every file that it can write. A scenario fails when a final is
missing or doubled, when a process leaves something behind, or when anything grows by more than
`tests.hours.watch.MAY_GROW` says. ``replay`` replays hours of speech as fast as it goes, ``rooms`` speaks
into a server, and ``microphone`` ends a live run again and again.
"""

import argparse
import os
import secrets
import signal
import sys

from tests.chaos.trial import Trial, heed_signals
from tests.hours import microphone, replay, rooms


def main() -> int:
    """Run a scenario; the exit code says whether all held."""
    heed_signals()
    # So that what was started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = _arguments()
    print(f"seed {given.seed}", flush=True)
    with Trial(given.seed) as trial:
        found = given.run(trial, given)
    print("\n".join(f"OUT OF BOUNDS: {one}" for one in found) or "all of it held")
    return bool(found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hours")
    scenarios = parser.add_subparsers(required=True, metavar="SCENARIO")
    for module in (replay, rooms, microphone):
        scenario = scenarios.add_parser(module.__name__.rpartition(".")[2], help=module.__doc__)
        module.add_options(scenario)
        scenario.add_argument("options", nargs="*", help="more options of surtitle, after --")
        scenario.set_defaults(run=module.run)
        scenario.add_argument(
            "--seed", type=int, default=os.environ.get("SURTITLE_CHAOS_SEED") or secrets.randbelow(10**9)
        )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
