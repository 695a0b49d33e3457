"""Runs ``surtitle bench`` from its files to its results, trial by trial; an interrupted benchmark resumes."""

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from platformdirs import user_cache_path

from connectors.files.distinct import check_distinct
from connectors.files.output import make_folder
from connectors.scoring import Journal, check_comet, comet_scores, tokenizer_on_disk
from flows.engine.translation import Engine, conditioning, open_engine
from flows.measuring.corpus import Corpus, load_corpus
from flows.measuring.methods.command import BenchJob, Plan, columns_of
from flows.measuring.methods.paper import PaperRun, paper_tables
from flows.measuring.methods.scores import MethodRow, Scorer, mean_delay_s
from flows.measuring.methods.tables import plots, tables
from flows.measuring.methods.trials import Likelihood, SegmentTrial, run_trials, warm_up
from flows.measuring.results import Results, Runner, files_of, publish, running
from flows.measuring.signature import of_engine, of_texts, sign
from operators.decoding.translator import Translator
from operators.errors import UsageError
from operators.languages import language
from operators.metrics.tokenizers import tokenizer
from operators.stages.display import mask_tail

# How speed is counted, see docs/measuring.md, and how erasure is aggregated.
_SPEED = "speedup:wall-time-of-all-updates,paired,median-over-repeats|tps:output-tokens/(model-s - prompt-s)"
_AGGREGATION = "ne:pooled|ne_mean:mean-over-segments"


def benchmark(job: BenchJob, plan: Plan) -> None:
    """Run the missing trials, compute the rows, and publish them.

    The trials are deleted only after that, so a failed write does not require new measurements.
    Raises `InterruptedRunError`.
    """
    corpus = load_corpus(job.source, job.reference, lag=job.lag, skip=job.skip, limit=job.limit)
    comet = None if job.comet is None else _check_comet(job.comet, corpus)
    asked, common = plan.engine, plan.variants[0]
    check_distinct(
        [("--json", job.json), ("--markdown", job.markdown)],
        [job.source, job.reference, job.comet, *files_of(asked)],
        [("--plots", job.plots)],
    )
    if job.plots is not None:
        make_folder(job.plots)
    name = tokenizer_on_disk(language(common.target).tokenizer)
    with running() as runner:
        engine = open_engine(asked, runner.doing)
        signature = _sign(corpus, engine, job, plan, tokenizer=name, comet=comet)
        judge = Likelihood(engine.prompt, engine.pool, common.max_source) if job.likelihood else None
        key = mixing_key(signature, *plan)
        place = user_cache_path("surtitle") / "bench" / f"{key}.jsonl"
        with Journal(place, SegmentTrial, fresh=job.fresh) as journal:
            translators = [engine.translator(variant) for variant in plan.variants]
            trials = _measure(corpus, translators, job, plan, journal, runner, judge)
            runner.doing("computing the scores", None)
            results = _results(trials, corpus, job, plan, signature, engine)
            runner.end()
            drawn = {} if job.plots is None else plots(results.rows["rows"], _caption(results.signature))
            folder = job.plots or Path()
            publish(
                results,
                json=job.json,
                markdown=job.markdown,
                others=[(folder / name, partial(str.encode, picture)) for name, picture in drawn.items()],
            )
            journal.remove()


def _check_comet(checkpoint: Path, corpus: Corpus) -> str:
    if corpus.references is None:
        raise UsageError("--comet needs references; give them with --reference")
    return check_comet(checkpoint)


def _sign(
    corpus: Corpus, engine: Engine, job: BenchJob, plan: Plan, *, tokenizer: str, comet: str | None
) -> dict[str, Any]:
    """The signature, still without the signatures of the scores."""
    return sign(
        **of_engine(engine, plan.engine),
        **of_texts(corpus, engine, plan.variants)
        | {"comet": comet, "likelihood": Likelihood.signature if job.likelihood else None},
        tokenizer=tokenizer,
        aggregation=_AGGREGATION,
        speed=_SPEED,
        repeats=job.repeat,
        order="rotating",
    )


def mixing_key(signature: dict[str, Any], variants: Sequence[object], masks: Sequence[int]) -> str:
    """Hash of everything that the trials of one benchmark have in common, except the number of repeats."""
    same = {**signature, "repeats": 0, "comet": None}
    return hashlib.sha256(msgspec.json.encode([same, list(variants), list(masks)])).hexdigest()[:24]


def _measure(
    corpus: Corpus,
    translators: Sequence[Translator],
    job: BenchJob,
    plan: Plan,
    journal: Journal[SegmentTrial],
    runner: Runner,
    judge: Likelihood | None,
) -> list[SegmentTrial]:
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
    masks = [partial(_shown, mask_k) for mask_k in plan.masks]
    for trial in run_trials(corpus, translators, job.repeat, masks, done, go_on, judge):
        journal.append(trial)
        trials.append(trial)
        runner.done(len(trials), wanted)
    return trials


def _shown(mask_k: int, pieces: tuple[str, ...]) -> str:
    return "".join(pieces)[: mask_tail(pieces, mask_k)]


def _results(
    trials: list[SegmentTrial],
    corpus: Corpus,
    job: BenchJob,
    plan: Plan,
    signature: dict[str, Any],
    engine: Engine,
) -> Results:
    target = language(plan.variants[0].target)
    sources, terms = [segment.updates[-1] for segment in corpus.segments], None
    if (glossary := engine.terms(plan.engine)) is not None:
        terms = [glossary.occurring(source) for source in sources]
    words = tokenizer(signature["tokenizer"])
    scorer = Scorer(trials, corpus.references, words, target.tokenizer, terms=terms)
    comet: list[float | None] = [None] * len(plan.variants)
    if job.comet is not None and corpus.references is not None:
        systems = [scorer.finals(which) for which in range(len(plan.variants))]
        comet = [*comet_scores(job.comet, sources, corpus.references, systems)]
    rows: list[MethodRow] = []
    for which, variant in enumerate(plan.variants):
        columns = {
            **columns_of(variant, knows_unfinished=signature["knows_unfinished"]),
            "comet": comet[which],
            "delay_s": mean_delay_s(corpus.segments, conditioning(variant, signature["close_unfinished"])),
        }
        rows += [scorer.row(which, number, {**columns, "mask_k": k}) for number, k in enumerate(plan.masks)]
    signature, plain = {**signature, **scorer.signatures}, tables(rows)
    if not job.paper:
        return Results(signature, {"rows": rows}, plain)
    run = PaperRun(rows, signature, plan.variants[0].source, plan.variants[0].target)
    return Results(signature, {"rows": rows}, paper_tables(run), run.closing(), more=plain)


def _caption(signature: dict[str, Any]) -> str:
    """The line below the plots."""
    parts = (signature["model"]["file"], signature["corpus"], signature["cpu"])
    return ", ".join((*parts, f"{signature['threads']} threads", f"surtitle {signature['surtitle']}"))
