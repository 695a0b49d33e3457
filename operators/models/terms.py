"""Whether a model is not licensed for every use, by what its file says."""

import re
from collections.abc import Callable
from typing import NamedTuple

# CC BY-NC and its kin, as the hub spells licences, and licences of their own name.
_NON_COMMERCIAL = re.compile(r"(?<![a-z])nc(?![a-z])|non-?commercial", re.IGNORECASE)
_LICENCE = ("general.license", "general.license.name")
_NAME = ("general.name", "general.basename")
# Unbabel's models, whose converted files may name no licence: Tower+, TowerBase, TowerInstruct, …
_TOWER = re.compile(r"\btower(\+|[-_ ]*(plus|base|instruct|mistral))", re.IGNORECASE)


# Tencent's HY-MT1.5 and its other Hunyuan models; Hy-MT2 has another licence.
_HUNYUAN = re.compile(r"\b(hy[-_ ]*mt[-_ ]*1|hunyuan[-_ ]*mt)", re.IGNORECASE)


class Limit(NamedTuple):
    """What a model is not licensed for."""

    #: ``is for non-commercial use``, or another predicate of the model.
    what: str
    #: Name of the licence.
    licence: str


NON_COMMERCIAL = "is for non-commercial use"
_OUTSIDE = "may not be used in the European Union, the United Kingdom and South Korea"


def licence_limit(metadata: Callable[[str], str | None], file_name: str) -> Limit | None:
    """What a model is not licensed for; None if nothing is known.

    Args:
        metadata: A value of the GGUF's header.
        file_name: That of the model, which may tell what a header without a licence does not.
    """
    said = [licence for key in _LICENCE if (licence := metadata(key))]
    for licence in said:
        if _NON_COMMERCIAL.search(licence):
            return Limit(NON_COMMERCIAL, licence)
    names = [file_name, *(metadata(key) or "" for key in _NAME)]
    if any(map(_HUNYUAN.search, names)):
        return Limit(_OUTSIDE, "Tencent HY Community License")
    return Limit(NON_COMMERCIAL, "CC BY-NC") if not said and any(map(_TOWER.search, names)) else None
