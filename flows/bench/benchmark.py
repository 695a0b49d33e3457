"""Runs one benchmark from its files to its rows, trial by trial; an interrupted benchmark resumes."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event as Flag

import msgspec
from platformdirs import user_cache_path

from connectors.files.distinct import check_distinct, named_files
from connectors.files.output import make_folder
from connectors.messages.log import tell
from connectors.scoring.comet import check_comet, comet_scores
from connectors.scoring.journal import Journal
from connectors.scoring.tokenizers import tokenizer_on_disk
from flows.bench.corpus import Corpus, load_corpus
from flows.bench.delay import mean_delay_s
from flows.bench.likelihood import SIGNATURE, Likelihood
from flows.bench.plan import Plan, columns_of
from flows.bench.row import MethodRow
from flows.bench.runner import SegmentTrial, run_trials, warm_up
from flows.bench.scores import Scorer
from flows.bench.signature import Signature, mixing_key, sign
from flows.engine.translation import conditioning, open_engine
from flows.running.interrupts import interrupt_sets
from flows.running.waiting import Waiting
from operators.decoding.translator import Translator
from operators.errors import InterruptedRunError, UsageError
from operators.extras import needs_extra
from operators.glossary import Glossary
from operators.languages import language
from operators.metrics.tokenizers import tokenizer
from operators.stages.display import mask_tail


class BenchJob(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure, and where the results go."""

    source: Path
    reference: Path | None
    #: Number of words that a text grows by at each update.
    lag: int
    skip: int
    limit: int | None
    plan: Plan
    repeats: int
    #: Start from the beginning even if an earlier run was interrupted.
    fresh: bool = False
    json: Path | None = None
    markdown: Path | None = None
    #: Folder for the plots.
    plots: Path | None = None
    #: Print the paper's tables.
    paper: bool = False
    #: A COMET checkpoint.
    comet: Path | None = None
    #: Let the model judge the outputs.
    likelihood: bool = False


class BenchResults(msgspec.Struct, frozen=True):
    """The content of the ``--json`` file."""

    signature: Signature
    rows: list[MethodRow]


def benchmark(job: BenchJob, publish: Callable[[BenchResults], None]) -> None:
    """Run the missing trials, compute the rows, and publish them.

    The trials are deleted only after that, so a failed write does not require new measurements.
    Raises `InterruptedRunError`.
    """
    corpus = load_corpus(job.source, job.reference, lag=job.lag, skip=job.skip, limit=job.limit)
    comet = None if job.comet is None else _check_comet(job.comet, corpus)
    asked = job.plan.engine
    check_distinct(
        [("--json", job.json), ("--markdown", job.markdown)],
        [
            job.source,
            job.reference,
            job.comet,
            *named_files(
                asked.model, asked.template, asked.glossary, asked.dictionary, asked.draft_model, asked.heads
            ),
        ],
        [("--plots", job.plots)],
    )
    if job.plots is not None:
        with needs_extra("bench", "--plots"):
            import matplotlib  # noqa: F401 - missing packages are reported before anything is measured
        make_folder(job.plots)
    common = job.plan.variants[0]
    name = tokenizer_on_disk(language(common.target).tokenizer)
    stop = Flag()
    with interrupt_sets(stop), Waiting(quiet=False, captions=False) as waiting:
        engine = open_engine(job.plan.engine, waiting.doing)
        signature = sign(corpus, engine, job.plan, name, job.repeats, comet)
        judge = None
        if job.likelihood:
            signature = msgspec.structs.replace(signature, likelihood=SIGNATURE)
            judge = Likelihood(engine.prompt, engine.pool, common.max_source)
        with Journal(_journal_path(signature, job.plan), SegmentTrial, fresh=job.fresh) as journal:
            translators = [engine.translator(variant) for variant in job.plan.variants]
            trials = _measure(corpus, translators, job, journal, waiting, stop, judge)
            waiting.doing("computing the scores", None)
            results = _score(trials, corpus, job, signature, engine.terms(job.plan.engine))
            waiting.end()
            publish(results)
            journal.remove()


def _measure(
    corpus: Corpus,
    translators: Sequence[Translator],
    job: BenchJob,
    journal: Journal[SegmentTrial],
    waiting: Waiting,
    stop: Flag,
    judge: Likelihood | None,
) -> list[SegmentTrial]:
    wanted = job.repeats * len(corpus.segments)
    trials = [trial for trial in journal.results if trial.repeat < job.repeats]
    progress = _Progress(wanted, waiting)
    progress.done(len(trials))

    def go_on() -> None:
        if stop.is_set():
            raise InterruptedRunError(
                f"interrupted after {len(trials)} of {wanted} trials; the same command continues from there"
            )

    if len(trials) < wanted:
        go_on()
        warm_up(corpus, translators)
    done = {(trial.repeat, trial.segment) for trial in trials}
    masks = [partial(_shown, mask_k) for mask_k in job.plan.masks]
    for trial in run_trials(corpus, translators, job.repeats, masks, done, go_on, judge):
        journal.append(trial)
        trials.append(trial)
        progress.done(len(trials))
    return trials


def _check_comet(checkpoint: Path, corpus: Corpus) -> str:
    if corpus.references is None:
        raise UsageError("--comet needs references; give them with --reference")
    return check_comet(checkpoint)


def _score(
    trials: list[SegmentTrial],
    corpus: Corpus,
    job: BenchJob,
    signature: Signature,
    glossary: Glossary | None,
) -> BenchResults:
    plan, target = job.plan, language(job.plan.variants[0].target)
    terms = None
    if glossary is not None:
        terms = [glossary.occurring(segment.updates[-1]) for segment in corpus.segments]
    scorer = Scorer(trials, corpus.references, tokenizer(signature.tokenizer), target.tokenizer, terms=terms)
    comet: list[float | None] = [None] * len(plan.variants)
    if job.comet is not None and corpus.references is not None:
        sources = [segment.updates[-1] for segment in corpus.segments]
        systems = [scorer.finals(which) for which in range(len(plan.variants))]
        comet = [*comet_scores(job.comet, sources, corpus.references, systems)]
    rows: list[MethodRow] = []
    for which, variant in enumerate(plan.variants):
        delay_s = mean_delay_s(corpus.segments, conditioning(variant, signature.close_unfinished))
        columns = {
            **columns_of(variant, knows_unfinished=signature.knows_unfinished),
            "comet": comet[which],
            "delay_s": delay_s,
        }
        for number, mask_k in enumerate(plan.masks):
            rows.append(scorer.row(which, number, {**columns, "mask_k": mask_k}))
    return BenchResults(msgspec.structs.replace(signature, **scorer.signatures), rows)


def _shown(mask_k: int, pieces: tuple[str, ...]) -> str:
    return "".join(pieces)[: mask_tail(pieces, mask_k)]


def _journal_path(signature: Signature, plan: Plan) -> Path:
    return user_cache_path("surtitle") / "bench" / f"{mixing_key(signature, *plan)}.jsonl"


class _Progress:
    """Shows the progress: a moving line on a terminal, otherwise one line for each tenth."""

    def __init__(self, wanted: int, waiting: Waiting) -> None:
        self._wanted = wanted
        self._waiting = waiting
        self._tenths: int | None = None

    def done(self, trials: int) -> None:
        """Report the number of finished trials."""
        fraction = trials / self._wanted
        self._waiting.doing("measuring", fraction)
        tenths = int(10 * fraction)
        if tenths != self._tenths and not sys.stderr.isatty():
            if self._tenths is not None or trials:
                tell("bench_progress", f"{trials} of {self._wanted} trials done", trials=trials)
            self._tenths = tenths
