"""Converts published weights to GGUF files, with llama.cpp's own conversion program.

The wheel of llama-cpp-python does not contain the program. pip downloads it once, with the source of the
installed release. It runs in this environment, and the extra ``train`` installs what it imports. So the same
release converts and reads a file, and nobody has to trust an uploaded conversion.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import msgspec
from platformdirs import user_cache_path

from connectors.files.contents import DAMAGED
from connectors.models.hub import fetch_folder
from operators.errors import InputError, OutputError, is_folder
from operators.models.quantize import quantize_file
from operators.notifications import Progress

#: The source of the installed release, as in requirements.lock.
RELEASE = "llama-cpp-python==0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
_PROGRAM = "convert_hf_to_gguf.py"
_NEEDED = re.compile(
    rf"[^/]+/vendor/llama\.cpp/({re.escape(_PROGRAM)}|(?:conversion|gguf-py/gguf)/[\w.]+\.py)"
)
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_INDEX, _ONE = "model.safetensors.index.json", "model.safetensors"
_BESIDES = (
    *("README.md", "generation_config.json", "chat_template.jinja", "special_tokens_map.json"),
    *("added_tokens.json", "merges.txt", "tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    *("vocab.json", _INDEX),
)


def convert(weights: str, target: Path, kind: str | None, progress: Progress) -> str:
    """Write a GGUF file, and return the name of the revision (or folder) that it was made from.

    Args:
        weights: A folder with ``config.json`` and safetensors, or ``OWNER/REPO`` on the hub.
        target: Replaced when it is complete; needs free space of twice its size in 16 bits.
        kind: llama.cpp's name of the types to store, such as ``q4_k_m``; None for 16 bits, as published.

    Raises:
        InputError: the weights or the program cannot be fetched, or llama.cpp does not support the model.
        OutputError: ``target`` or the cache cannot be written.
    """
    folder = Path(weights).expanduser()
    name = weights.rpartition("/")[2]
    if not is_folder(folder):
        if not _REPOSITORY.fullmatch(weights):
            raise InputError(f"there is no folder {weights}; give one with config.json, or OWNER/REPO")
        folder = _fetched(weights, progress)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} has no config.json: give a folder in the format of transformers")
    program = _program(progress)
    with _beside(target) as place:
        whole, made = place / "whole.gguf", place / "made.gguf"
        progress("converting the weights", None)
        arguments = [str(program), str(folder), "--outfile", str(whole), "--model-name", name]
        _run(arguments, f"{weights} cannot be converted", "choose weights that this llama.cpp supports")
        if kind is not None:
            progress(f"quantising to {kind}", None)
            quantize_file(whole, made, kind)
        (whole if kind is None else made).replace(target)
    return folder.name


def _fetched(repo: str, progress: Progress) -> Path:
    folder = fetch_folder(repo, ["config.json"], _BESIDES, progress)
    shards = {_ONE}
    if (index := folder / _INDEX).is_file():
        try:
            shards = set(msgspec.json.decode(index.read_bytes(), type=_Index).weight_map.values())
        except DAMAGED as error:
            raise InputError(f"{repo}: its {_INDEX} is damaged ({error}); name another repository") from error
    return fetch_folder(repo, ["config.json", *sorted(shards)], _BESIDES, progress)


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


def _program(progress: Progress) -> Path:
    """llama.cpp's program in the cache, from the source of `RELEASE`."""
    home = user_cache_path("surtitle") / f"convert-{SHA256[:12]}"
    if (program := home / _PROGRAM).is_file():
        return program
    if find_spec("pip") is None:
        raise InputError(f"the source of {RELEASE} is fetched by pip, which is not installed: install pip")
    progress(f"fetching the source of {RELEASE}", None)
    with _beside(home) as place:
        (wanted := place / "wanted.txt").write_text(f"{RELEASE} --hash=sha256:{SHA256}\n")
        pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes"]
        arguments = [*pip, "-r", str(wanted), "-d", str(place)]
        _run(arguments, f"the source of {RELEASE} cannot be fetched", "check the network, and pip's settings")
        (archive,) = place.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            for member in packed:
                if found := _NEEDED.fullmatch(member.name):
                    member.name = found[1]
                    packed.extract(member, place / "program", filter="data")
        (place / "program").replace(home)
    return program


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A temporary folder on the same file system."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name[:50]}.", dir=target.parent) as place:
            yield Path(place)
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written ({error.strerror or error}): free space, or choose another place"
        ) from error


def _run(arguments: list[str], what: str, remedy: str) -> None:
    """Run Python; if it fails, raise `InputError` with the last line of its errors."""
    own = {"PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=os.environ | own
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200]
        raise InputError(f"{what} ({reason}); {remedy}")
