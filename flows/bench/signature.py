"""The signature of a benchmark: everything needed to reproduce its figures."""

import hashlib
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import msgspec

from connectors.files.checksum import sha256_of
from connectors.machine.cpu import cpu_name
from flows.bench.corpus import Corpus
from flows.bench.plan import Plan
from flows.engine.translation import Engine, closes_unfinished
from flows.settings.schema import TranslateSettings

#: How speed is counted; see docs/measuring.md.
SPEED = "speedup:wall-time-of-all-updates,paired,median-over-repeats|tps:output-tokens/(model-s - prompt-s)"
#: How erasure is aggregated.
AGGREGATION = "ne:pooled|ne_mean:mean-over-segments"


class ModelIdentity(msgspec.Struct, frozen=True):
    """The identity of a model's weights."""

    file: str
    bytes: int
    sha256: str


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that must be equal for two benchmarks to be comparable, except the rows' own settings."""

    surtitle: str
    #: Hash of the sources that translate and measure, because code changes within a version.
    code: str
    llama_cpp_python: str
    model: ModelIdentity
    #: The draft model, if there is one.
    draft_model: ModelIdentity | None = None
    #: The proposal heads, if there are any.
    heads: ModelIdentity | None = None
    #: The glossary's file and its hash, if there is one.
    glossary: str | None = None
    #: The dictionaries, each with the hashes of its lexicons.
    dictionary: str | None = None
    #: Languages, and a hash of the prompt's tokens around the source.
    prompt: str
    corpus: str
    corpus_sha256: str
    #: The tokenizer for erasure.
    tokenizer: str
    aggregation: str
    speed: str
    chrf: str | None = None
    bleu: str | None = None
    comet: str | None = None
    likelihood: str | None = None
    threads: int
    ubatch: int
    row_step: int
    cells: int
    #: Fewer tokens of a draft are not kept when the source grows; None if none are ever.
    least_kept: int | None = None
    repeats: int
    order: str
    max_source: int
    #: Whether the model saw unfinished text with a full stop after it.
    close_unfinished: bool
    #: Whether the model was trained on unfinished text.
    knows_unfinished: bool
    python: str
    numpy: str
    sacrebleu: str
    #: OpenMP's wait policy: it determines the cost of a busy machine.
    omp: str
    cpu: str
    platform: str


def sign(
    corpus: Corpus, engine: Engine, plan: Plan, tokenizer: str, repeats: int, comet: str | None
) -> Signature:
    """The signature of a benchmark, still without the signatures of its scores."""
    common = plan.variants[0]
    return Signature(
        surtitle=version("surtitle"),
        code=_hash_of_code()[:12],
        llama_cpp_python=version("llama-cpp-python"),
        model=identify(engine.path),
        draft_model=None if engine.draft is None else identify(engine.draft.path),
        heads=None if plan.engine.heads is None else identify(Path(plan.engine.heads).expanduser()),
        glossary=None if plan.engine.glossary is None else _name_glossary(Path(plan.engine.glossary)),
        dictionary=_name_dictionaries(engine, plan),
        prompt=f"{common.source}-{common.target}|{_hash_of_prompt(engine)[:12]}",
        corpus=corpus.name,
        corpus_sha256=corpus.sha256[:12],
        tokenizer=tokenizer,
        aggregation=AGGREGATION,
        speed=SPEED,
        comet=comet,
        threads=engine.context.threads,
        ubatch=engine.context.ubatch,
        row_step=engine.context.row_step,
        cells=engine.context.cells,
        least_kept=engine.pool.sessions.least_kept,
        repeats=repeats,
        order="rotating",
        max_source=common.max_source,
        close_unfinished=closes_unfinished(common, engine.prompt),
        knows_unfinished=engine.prompt.knows_unfinished,
        python=platform.python_version(),
        numpy=version("numpy"),
        sacrebleu=version("sacrebleu"),
        omp="|".join(f"{name}:{os.environ.get(name, '')}" for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")),
        cpu=cpu_name(),
        platform=platform.platform(terse=True),
    )


def mixing_key(signature: Signature, variants: Sequence[TranslateSettings], masks: Sequence[int]) -> str:
    """Hash of everything that the trials of one benchmark have in common, except the number of repeats."""
    same = msgspec.structs.replace(signature, repeats=0, comet=None)
    return hashlib.sha256(msgspec.json.encode([same, list(variants), list(masks)])).hexdigest()[:24]


def identify(path: Path) -> ModelIdentity:
    """Identify the weights in a file. Raises `InputError`."""
    digest = sha256_of(path)
    return ModelIdentity(path.name, path.stat().st_size, digest[:16])


def _name_glossary(path: Path) -> str:
    return f"{path.name}|{sha256_of(path.expanduser())[:12]}"


def _name_dictionaries(engine: Engine, plan: Plan) -> str | None:
    opened = {one.dictionary: engine.dictionary(one) for one in plan.variants}
    named = [
        "|".join([Path(name).name, *(lexicon.sha256[:12] for lexicon in each.lexicons)])
        for name, each in opened.items()
        if each is not None
    ]
    return " ".join(named) or None


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
