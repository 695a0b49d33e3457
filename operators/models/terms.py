"""Whether a model is licensed for non-commercial use only, by what its file says."""

import re
from collections.abc import Callable

# CC BY-NC and its kin, as the hub spells licences, and licences of their own name.
_NON_COMMERCIAL = re.compile(r"(?<![a-z])nc(?![a-z])|non-?commercial", re.IGNORECASE)
_LICENCE = ("general.license", "general.license.name")
_NAME = ("general.name", "general.basename")
# Unbabel's models, whose converted files may name no licence: Tower+, TowerBase, TowerInstruct, …
_TOWER = re.compile(r"\btower(\+|[-_ ]*(plus|base|instruct|mistral))", re.IGNORECASE)


def non_commercial_licence(metadata: Callable[[str], str | None], file_name: str) -> str | None:
    """The licence of a model that is for non-commercial use only; None for any other model.

    Args:
        metadata: A value of the GGUF's header.
        file_name: That of the model, which may tell what a header without a licence does not.
    """
    said = [licence for key in _LICENCE if (licence := metadata(key))]
    for licence in said:
        if _NON_COMMERCIAL.search(licence):
            return licence
    names = [file_name, *(metadata(key) or "" for key in _NAME)]
    return "CC BY-NC" if not said and any(map(_TOWER.search, names)) else None
