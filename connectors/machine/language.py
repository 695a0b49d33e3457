"""The language of the system, from its locale."""

import locale
import os
import sys

from operators.languages import Language, is_language, language


def system_language() -> Language | None:
    """The language of the locale; None if the locale names no known language, as with C and POSIX.

    The region is dropped: the usual models do not distinguish regions, and the user can name one.
    """
    # In the order of precedence of POSIX.
    given = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), None)
    if given is None and sys.platform in ("win32", "darwin"):
        given = locale.getlocale()[0]
    # pt_BR.UTF-8, sr_RS@latin; Windows also has German_Germany.
    tag = (given or "").partition(".")[0].partition("@")[0]
    known = next(filter(is_language, (tag, tag.partition("_")[0])), None)
    return None if known is None else language(known).general
