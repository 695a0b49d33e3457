"""Which of some names somebody probably meant by a name that does not exist."""

import difflib
from collections.abc import Iterable

# Longer names are compared by their beginnings: comparing takes the product of the lengths.
_MAX_CHARACTERS = 64
#: Similarity from which a name is taken for a misspelling of another one, as in difflib.
SIMILAR = 0.6


def nearest(given: str, names: Iterable[str], cutoff: float = SIMILAR) -> str | None:
    """The name that is most similar to the given one, whatever the case; None if none is similar.

    Args:
        given: A name of any length.
        names: The names that exist.
        cutoff: Minimum similarity, from 0 (every name is similar) to 1 (only the same one is).
    """
    by_folded = {name.casefold()[:_MAX_CHARACTERS]: name for name in names}
    wanted = given[:_MAX_CHARACTERS].casefold()
    found = difflib.get_close_matches(wanted, by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None
