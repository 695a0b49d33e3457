"""Runs ``surtitle bench`` on texts: all methods on each segment in turn; an interrupted run resumes."""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from platformdirs import user_cache_path

from connectors.files.atomic import write_atomically
from connectors.files.contents import sha256_of
from connectors.files.distinct import check_distinct, named_files
from connectors.scoring import Comet, Journal, find_comet, tokenizer_file
from flows.engine.translation import Engine, open_engine
from flows.measuring.corpus import Corpus, load_corpus, load_named
from flows.measuring.measured import MeasuredRun, Paper
from flows.measuring.plan import BenchJob, BenchRun, DisplayMask, Plan, row_settings
from flows.measuring.results import Results, Runner, files_of, of_translation, publish, running, sign
from flows.measuring.scores import Scorer, SegmentTrial
from flows.measuring.tables import tables
from flows.measuring.trials import Likelihood, run_trials, warm_up
from operators.errors import UsageError
from operators.languages import language
from operators.masking import visible_length
from operators.metrics.tokenizers import tokenizer

# The definition of speed (docs/measuring.md), and the aggregation of erasure.
_SPEED = "speedup:wall-time-of-all-updates,paired,median-over-repeats|tps:output-tokens/(model-s - prompt-s)"
_AGGREGATION = "ne:pooled|ne_mean:mean-over-segments"


class _Measured(NamedTuple):
    run: MeasuredRun
    corpus: Corpus
    #: The signature of each score.
    scores: dict[str, str]
    journal: Journal


def bench_texts(job: BenchJob, runs: Sequence[BenchRun], paper: Paper | None = None) -> None:
    """Run the missing trials of each run, compute the rows, and publish them together.

    The trials are deleted only after that, so a failed write does not require new measurements.
    Raises `InterruptedRunError`.
    """
    corpora = [_corpus(one, job) for one in runs]
    if job.comet is not None and any(corpus.references is None for corpus in corpora):
        raise UsageError("--comet needs references; give them with --reference")
    comet = None if job.comet is None else find_comet(job.comet)
    given = [*job.sources, *(one.reference for one in runs), *named_files(job.comet)]
    check_distinct(job.written, [*given, *(file for one in runs for file in files_of(one.plan.engine))])
    with running() as runner, ExitStack() as journals:
        measured: list[_Measured] = []
        for one, corpus in zip(runs, corpora, strict=True):
            measured.append(_measured(one.plan, corpus, job, runner, comet, paper, journals))
        runner.end()
        if job.outputs is not None:
            _write_outputs(job.outputs, measured)
        results = joined([one.run for one in measured], [one.scores for one in measured], paper)
        publish(results, json=job.json, markdown=job.markdown)
        if job.trials is None:
            for each in measured:
                each.journal.remove()


def _corpus(run: BenchRun, job: BenchJob) -> Corpus:
    if job.data is not None:
        if run.reference is not None:
            raise UsageError("--data has references of its own; leave out --reference")
        return load_named(job.data, run.plan.engine.direction, run.source, lag=job.lag, chosen=job.chosen)
    assert run.source is not None, "the command requires it"
    return load_corpus(run.source, run.reference, lag=job.lag, chosen=job.chosen)


def _measured(
    plan: Plan,
    corpus: Corpus,
    job: BenchJob,
    runner: Runner,
    comet: Comet | None,
    paper: Paper | None,
    journals: ExitStack,
) -> _Measured:
    words = job.tokenizer or language(plan.variants[0].target).tokenizer
    spm = tokenizer_file(words, runner.doing)
    tokenizer(words)  # an unknown one is refused before the model is loaded
    engine = open_engine(plan.engine, runner.doing)
    if job.likelihood and engine.first is not None:
        raise UsageError("--likelihood needs one model, not two via English: leave it out")
    likelihood = None
    if job.likelihood:
        likelihood = Likelihood(engine.prompt, engine.pool, plan.variants[0].max_source)
    signature = sign(
        **of_translation(corpus, engine, plan.engine),
        **dict.fromkeys(("chrf", "bleu")),
        comet=comet and comet.signature,
        likelihood=Likelihood.signature if job.likelihood else None,
        protocol=None if paper is None else paper.protocol,
        tokenizer=words,
        tokenizer_sha256=spm and sha256_of(spm)[:16],
        aggregation=_AGGREGATION,
        speed=_SPEED,
        repeats=job.repeat,
        order="rotating",
    )
    folder = job.trials or user_cache_path("surtitle") / "bench"
    journal = Journal(folder / f"{mixing_key(signature, plan)}.jsonl", SegmentTrial, fresh=job.fresh)
    journals.enter_context(journal)
    trials = _trials(corpus, engine, job, plan, journal, runner, likelihood)
    runner.doing("computing the scores", None)
    run, scores = _scored(trials, corpus, plan, signature, engine, comet)
    return _Measured(run, corpus, scores, journal)


def mixing_key(signature: dict[str, Any], plan: Plan) -> str:
    """Hash of what all trials of a benchmark have in common, except the number of repeats."""
    same = {**signature, "repeats": 0, "comet": None}
    return hashlib.sha256(msgspec.json.encode([same, plan.variants, plan.masks])).hexdigest()[:24]


def _trials(
    corpus: Corpus,
    engine: Engine,
    job: BenchJob,
    plan: Plan,
    journal: Journal,
    runner: Runner,
    likelihood: Likelihood | None,
) -> list[SegmentTrial]:
    translators = [engine.translator(variant) for variant in plan.variants]
    wanted = job.repeat * len(corpus.segments)
    trials = [trial for trial in journal.results if trial.repeat < job.repeat]
    runner.done(len(trials), wanted)

    def go_on() -> None:
        runner.go_on(
            f"interrupted after {len(trials)} of {wanted} trials; the same command continues from there"
        )

    if len(trials) < wanted:
        go_on()
        warm_up(corpus, translators)
    done = {(trial.repeat, trial.segment) for trial in trials}
    masks = [partial(masked, mask) for mask in plan.masks]
    for trial in run_trials(corpus, translators, job.repeat, masks, done, go_on, likelihood):
        journal.append(trial)
        trials.append(trial)
        runner.done(len(trials), wanted)
    return trials


def masked(mask: DisplayMask, pieces: tuple[str, ...], before: str) -> str:
    """The visible text of an unfinished output; ``before`` is that of the previous one."""
    return "".join(pieces)[: visible_length(pieces, mask.mask_k, before, mask.mask)]


def _scored(
    trials: list[SegmentTrial],
    corpus: Corpus,
    plan: Plan,
    signature: dict[str, Any],
    engine: Engine,
    comet_model: Comet | None,
) -> tuple[MeasuredRun, dict[str, str]]:
    source, target = plan.variants[0].direction
    sources, terms = [segment.updates[-1] for segment in corpus.segments], None
    if (glossary := engine.terms(plan.engine)) is not None:
        terms = [glossary.occurring(source) for source in sources]
    words = tokenizer(signature["tokenizer"])
    transcripts = sources if source == target else None
    scorer = Scorer(trials, corpus.references, words, target.tokenizer, terms=terms, transcripts=transcripts)
    comet: list[float | None] = [None] * len(plan.variants)
    if comet_model is not None and corpus.references is not None:
        systems = [scorer.finals(which) for which in range(len(plan.variants))]
        comet = [*comet_model.scores(sources, corpus.references, systems)]
    rows = []
    for which, variant in enumerate(plan.variants):
        settings = row_settings(variant, knows_unfinished=signature["knows_unfinished"])
        metrics = {**scorer.metrics(which), "comet": comet[which]}
        for number, mask in enumerate(plan.masks):
            own, shown = {**settings, **mask._asdict()}, scorer.shown(which, number)
            rows.append({"settings": own, "metrics": {**metrics, **shown}})
    first = [trial for trial in trials if trial.repeat == 0]
    updates = [segment.updates for segment in corpus.segments]
    return MeasuredRun(plan, rows, signature, first, updates), scorer.signatures


def joined(measured: Sequence[MeasuredRun], scores: Sequence[dict[str, str]], paper: Paper | None) -> Results:
    """The rows of all runs. With several runs, rows name model and language; the signature lists differences.

    ``scores`` are the signatures of each run's scores.
    """
    signatures = [{**one.signature, **own} for one, own in zip(measured, scores, strict=True)]
    signature, rows = signatures[0], [*measured[0].rows]
    if len(measured) > 1:
        same = {
            key: value for key, value in signature.items() if all(one.get(key) == value for one in signatures)
        }
        names = [{"to": one.target, "model": one.model} for one in measured]
        runs = [
            {**name, **{key: value for key, value in own.items() if key not in same}}
            for name, own in zip(names, signatures, strict=True)
        ]
        signature = {**same, "runs": runs}
        rows = [
            {**row, "settings": {**name, **row["settings"]}}
            for name, one in zip(names, measured, strict=True)
            for row in one.rows
        ]
    plain = tables(rows)
    if paper is None:
        return Results(signature, rows, plain)
    papers = paper.tables(measured, paper.wanted)
    return Results(signature, rows, papers, more=plain)


class Outputs(msgspec.Struct, frozen=True):
    """The outputs of one translator for one segment in the first repeat: a line of ``--outputs``."""

    model: str
    to: str
    settings: dict[str, Any]
    segment: str
    #: For each update: the speech so far, and its translation.
    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    reference: str | None


def _write_outputs(path: Path, measured: Sequence[_Measured]) -> None:
    lines = [
        Outputs(
            one.run.model, one.run.target, row["settings"], segment.key,
            segment.updates, tuple(update.text for update in trial.updates[which]), segment.reference,
        )
        for one in measured
        for which, row in enumerate(one.run.translators)
        for trial in one.run.trials
        for segment in (one.corpus.segments[trial.segment],)
    ]  # fmt: skip
    write_atomically(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
