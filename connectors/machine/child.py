"""The child process of `connectors.machine.trial`, called with threads and ``--timed`` and ``--without-amx``.

Prints one line of JSON, or a sentence about an unrelated problem. A signal may kill it at any moment.
"""

import sys

import msgspec

from connectors.models.resolve import resolve_model
from operators.errors import SurtitleError


def main() -> None:
    """Run the trial with the base model."""
    threads = int(sys.argv[1])
    from operators.models.trial import refuse_amx, run_trial

    if "--without-amx" in sys.argv[2:]:
        refuse_amx()  # before the check of the model's file loads llama.cpp
    try:
        model = resolve_model("base")
    except SurtitleError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    trial = run_trial(model, threads, timed="--timed" in sys.argv[2:])
    sys.stdout.buffer.write(msgspec.json.encode(trial) + b"\n")


if __name__ == "__main__":
    main()
