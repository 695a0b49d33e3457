"""The named models in ``catalog.toml``: the values of ``--model`` that are not files.

Among them are the captions models: shipped files turn the base model into one for each direction.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated

import msgspec

from connectors.models.firefox import FIREFOX, firefox_languages, has_firefox, is_firefox_here
from connectors.models.hub import HUB_PREFIX, is_fetched
from connectors.models.opus import OPUS_MT, is_opus_here, opus_languages, opus_repository
from operators.errors import InputError, UsageError
from operators.extras import EXTRAS, missing
from operators.languages import Direction, language
from operators.prompts.template import few_shot_templates

#: The files of a captions model in the folder of its direction.
ADAPTER, VOCABULARY = "adapter.gguf", "vocabulary.gguf"
#: Megabytes of a run besides the model's file: recogniser, libraries, cells of the cache. With the default
#: models `surtitle file` takes 386 MB at its peak on two cores.
BESIDES_MB = 400
#: Milliseconds of an update up to which captions flow: the interval between two hypotheses of the recogniser.
FLOWS_MS = 500.0


class NamedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    #: A short description.
    what: str
    #: Codes of the languages that it translates, with spaces between; empty for one model per pair.
    languages: str = ""
    #: ``OWNER/REPO`` on the hub, and its file; absent for a model that comes with surtitle.
    repository: Annotated[str, msgspec.Meta(pattern=r"^[\w.-]+/[\w.-]+$")] | None = None
    file: Annotated[str, msgspec.Meta(pattern=r"^[\w.-]+\.gguf$")] | None = None
    #: Checksum of the file; absent where it is not known.
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")] | None = None
    megabytes: Annotated[int, msgspec.Meta(gt=0)]
    #: Weights that a pass reads, in billions.
    weights: Annotated[float, msgspec.Meta(gt=0)]
    #: The prompt that ``auto`` selects for it; absent for one that was trained on prompts of its own.
    template: str | None = None
    licence: str
    #: Whether the licence allows commercial use, and under which terms.
    commercial: bool
    terms: str = ""
    #: Other obligations of the licence, which do not restrict the use.
    asks: str = ""
    #: Whether it was trained to translate unfinished speech.
    is_for_captions: bool = False

    @property
    def is_per_pair(self) -> bool:
        """Whether it is an encoder-decoder model for each pair of languages, in a folder."""
        return self.name in (FIREFOX, OPUS_MT)

    @property
    def comes_with_surtitle(self) -> bool:
        return self.repository is None and not self.is_per_pair

    @property
    def hub_name(self) -> str | None:
        """Its file on the hub; None for a model that comes with surtitle, and for one model per pair."""
        return None if self.repository is None else f"{HUB_PREFIX}{self.repository}:{self.file}"

    def is_here(self, direction: Direction | None) -> bool:
        """Whether it can be used without a download, for a direction or for any."""
        if self.is_per_pair:
            return is_firefox_here(direction) if self.name == FIREFOX else is_opus_here(direction)
        return not missing(EXTRAS["llm"]) if self.hub_name is None else is_fetched(self.hub_name)

    def translates(self, direction: Direction) -> bool:
        """Whether it supports a direction; most models support all pairs of their languages."""
        if self.is_for_captions:
            return has_captions(direction)
        if self.name == FIREFOX:
            return has_firefox(direction)
        if self.name == OPUS_MT:
            return opus_repository(direction) is not None
        if self.template == "few-shot":
            names = direction.general.source.name, direction.general.target.name
            return any((one.source_language, one.language) == names for one in few_shot_templates())
        return {one.general.code for one in direction} <= set(self.languages.split())


class _Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: tuple[NamedModel, ...]


@cache
def catalog() -> Mapping[str, NamedModel]:
    """All named models by name, the best translations first."""
    content = (files("connectors.models") / "catalog.toml").read_bytes()
    return {one.name: one for one in msgspec.toml.decode(content, type=_Catalog).models}


def hub_name(model: str) -> str:
    """The hub's name for the file of a named model; any other name is returned unchanged."""
    named = catalog().get(model)
    return (named and named.hub_name) or model


def languages_of(model: NamedModel) -> list[str]:
    """The English names of its languages, in order."""
    if model.is_per_pair:
        codes = firefox_languages() if model.name == FIREFOX else opus_languages()
    else:
        codes = model.languages.split()
    return sorted(language(code).name for code in codes)


def captions_folder() -> Traversable:
    """The parent of the captions models' folders, which are named by direction, such as ``en-de``."""
    return files("operators.models") / "captions"


def has_captions(direction: Direction) -> bool:
    return (captions_folder() / direction.general.code / ADAPTER).is_file()


def captions_directions() -> list[Direction]:
    folder = captions_folder()
    names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    return [Direction.of(*name.split("-", 1)) for name in names if (folder / name / ADAPTER).is_file()]


def captions_files(direction: Direction | None) -> Traversable:
    """The folder of the captions model of this direction. Raises `UsageError` or `InputError`."""
    if direction is not None and has_captions(direction):
        return captions_folder() / direction.general.code
    known = ", ".join(map(str, captions_directions()))
    if not known:
        raise InputError("the captions models are not part of this installation; choose --model base")
    if direction is None:
        raise UsageError(
            f"there is a captions model for each of {known}, and no direction is given here; "
            "choose base, or give a file"
        )
    raise UsageError(f"there is no captions model for {direction}, only for {known}; choose --model base")
