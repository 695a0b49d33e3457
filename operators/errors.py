"""The errors that a user can cause and fix, each one sentence: what, where, what to do.

They are raised once, at the edge. The program that runs a flow prints the sentence and exits with the
class's ``exit_code``; any other exception is a bug in surtitle and exits with 70.
"""

from typing import ClassVar

from typing_extensions import override

from operators.printable import printable

#: Exit code after Ctrl-C: 128 and the number of SIGINT, as shells count.
INTERRUPTED_EXIT_CODE = 130

# Maximum characters of a sentence, because it may quote a file.
_MAX_CHARACTERS, _HEAD, _TAIL = 2000, 1500, 400


class SurtitleError(Exception):
    """Something outside surtitle is wrong; the message is the sentence that the user reads."""

    exit_code: ClassVar[int] = 1
    #: The name of the error among the messages in JSON.
    event: ClassVar[str] = "error"

    @override
    def __str__(self) -> str:
        """The sentence on one line without control sequences: a terminal must not obey the name of a file."""
        sentence = super().__str__()
        if len(sentence) > _MAX_CHARACTERS:
            sentence = f"{sentence[:_HEAD]} … {sentence[-_TAIL:]}"
        return printable(sentence)


class UsageError(SurtitleError):
    """The command line or the settings request something impossible."""

    exit_code = 2
    event = "usage_error"


class InputError(SurtitleError):
    """An input file, model or event is not valid."""

    exit_code = 3
    event = "input_error"


class OutputError(SurtitleError):
    """A destination for results cannot be written."""

    exit_code = 4
    event = "output_error"


class InterruptedRunError(SurtitleError):
    """Ctrl-C ended a benchmark before it was finished; the message says what was kept."""

    exit_code = INTERRUPTED_EXIT_CODE
    event = "bench_interrupted"


class ClusterError(SurtitleError):
    """Another process of the cluster was lost (``EX_TEMPFAIL`` of sysexits.h)."""

    exit_code = 75
    event = "cluster_error"


#: Exit code for a bug in surtitle (``EX_SOFTWARE`` of sysexits.h).
INTERNAL_EXIT_CODE = 70


class InternalError(SurtitleError):
    """A part of surtitle that captions do not need has failed; its traceback was reported at that time."""

    exit_code = INTERNAL_EXIT_CODE
    event = "internal_error"
