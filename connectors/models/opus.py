"""OPUS-MT by language: the repository with the model for a direction, and its folder in the cache.

The exports for ONNX Runtime are those that transformers.js lists (``scripts/extra/marian.py``). Pairs without
a model of their own use a multilingual one if its authors report a BLEU of 15 or more on Tatoeba from
English, or 30 into English (Tatoeba Challenge, ``models/eng-mul``, ``models/mul-eng``). ``en-jap`` is left
out: others who tried it rejected it.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from connectors.models.hub import fetch_folder, fetched_folder
from operators.errors import UsageError
from operators.languages import Direction
from operators.notifications import Progress, silent

OPUS_MT = "opus-mt"
_OWNER = "Xenova"
_PAIRS = """
af-en ar-en cs-en da-de da-en de-en de-es de-fr en-af en-ar en-cs en-da en-de en-es en-fi en-fr en-hi en-hu
en-id en-it en-nl en-ro en-ru en-sv en-uk en-vi en-xh en-zh es-de es-en es-fr es-it es-ru et-en fi-de fi-en
fr-de fr-en fr-es fr-ro fr-ru hi-en hu-en id-en it-en it-es it-fr ja-en ko-en nl-en nl-fr no-de pl-en ro-fr
ru-en ru-es ru-fr ru-uk sv-en th-en tr-en uk-en uk-ru vi-en xh-en zh-en"""
#: Models of several languages from or into English.
_GROUPS = {
    "en-ROMANCE": "ca gl pt",
    "ROMANCE-en": "ca gl pt ro",
    "bat-en": "lt lv",
    "en-mul": "bg el eo et ga he lb lv mk pl sq tr",
    "mul-en": "az be bg bn el eo eu ga he hy is lb mk ml mt sl sq",
}
_FILES = (
    "config.json",
    "vocab.json",
    "source.spm",
    "target.spm",
    "onnx/encoder_model_quantized.onnx",
    "onnx/decoder_model_merged_quantized.onnx",
)
_OPTIONAL = ("generation_config.json", "tokenizer_config.json")


@cache
def _models() -> Mapping[tuple[str, str], str]:
    """The end of the repository's name by the codes of both languages."""
    found = {(one[:2], one[3:]): one for one in _PAIRS.split()}
    for name, codes in _GROUPS.items():
        for code in codes.split():
            found.setdefault((code, "en") if name.endswith("-en") else ("en", code), name)
    return found


def opus_languages() -> list[str]:
    """Codes of all languages that a model translates from or into, in order."""
    return sorted({code for pair in _models() for code in pair})


def _pair(direction: Direction) -> tuple[str, str]:
    return direction.source.general.code, direction.target.general.code


def opus_repository(direction: Direction) -> str | None:
    """``OWNER/REPO`` of the model for a direction; None if there is none."""
    name = _models().get(_pair(direction))
    return name and f"{_OWNER}/{OPUS_MT}-{name}"


def is_opus_here(direction: Direction | None) -> bool:
    """Whether the cache has the model for a direction; for None, whether it has any."""
    pairs = _models().keys() if direction is None else [_pair(direction)]
    wanted = {_models()[one] for one in pairs if one in _models()}
    return any(fetched_folder(f"{_OWNER}/{OPUS_MT}-{name}", _FILES, _OPTIONAL) is not None for name in wanted)


def fetch_opus(direction: Direction, progress: Progress = silent) -> Path:
    """The folder of the model for a direction, fetched if the cache lacks it.

    Raises:
        UsageError: there is none for the direction.
        InputError, OutputError: those of `fetch_folder`.
    """
    repo = opus_repository(direction)
    if repo is None:
        pair = f"--from {direction.source.code} --to {direction.target.code}"
        raise UsageError(
            f"{OPUS_MT} does not translate {direction}; `surtitle models {pair}` lists the models that do"
        )
    folder = fetch_folder(repo, _FILES, _OPTIONAL, progress)
    # If possible, a link with the model's name, because the folder's own name is that of a revision.
    link = user_cache_path("surtitle") / "models" / repo.partition("/")[2]
    with suppress(OSError):
        if not (link.exists() and link.samefile(folder)):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(folder, target_is_directory=True)
        return link
    return folder
