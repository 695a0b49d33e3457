"""How commands ask for a setting: the type of a struct's field is ``Annotated`` with an `Option`."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Option(NamedTuple):
    """An option of the command line that overrides a setting."""

    help: str
    #: Its flags, with spaces between; empty for ``--KEY``, or ``--KEY/--no-KEY`` of a switch.
    flags: str = ""
    #: The default as the help shows it, if the setting's own does not tell.
    default: str = ""
    #: Parses the typed text, given the flag to name in an error; absent if the text itself is the value.
    parse: Callable[[str, Any], Any] | None = None
    #: What the settings' page says instead of the help; a comment above the setting says it as well.
    about: str = ""
