"""The child process of a check: what is examined there may crash, hang, or be killed for its memory.

The check is a function of a module, as importing some modules can end the process.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TypeVar

import msgspec

from connectors.machine.child_process import Failure, run_child

F = TypeVar("F", bound=msgspec.Struct)


def in_child(
    facts: type[F], check: str, *arguments: str, limit_s: float, failed: str, late: str = "",
    environment: Mapping[str, str] | None = None,
) -> F:  # fmt: skip
    """Run a check in a child process, which is killed when its time is over.

    Args:
        facts: What it finds. Its ``error`` is ``failed`` if it ends without an answer, and ``late``, if that
            is given, after ``limit_s`` seconds; ``{}`` in them is what happened.
        check: A function of a module in this package, such as ``measure.load``, and its arguments.
        environment: Variables to set besides those of this process.
    """
    found = run_child("flows.doctor.child", [check, *arguments], facts, limit_s, environment)
    if isinstance(found, Failure):
        return facts(error=(late if found.is_late and late else failed).format(found.why))
    return found


def main() -> None:
    """Run one check, and print its facts as a line of JSON."""
    check, *arguments = sys.argv[1:]
    module, _, name = check.partition(".")
    facts = getattr(import_module(f"flows.doctor.{module}"), name)(*arguments)
    sys.stdout.buffer.write(b"\n" + msgspec.json.encode(facts) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
