"""Runs ``surtitle bench`` on texts: all methods on each segment in turn; an interrupted run resumes."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from platformdirs import user_cache_path

from connectors.files.contents import sha256_of
from connectors.files.distinct import check_distinct, named_files
from connectors.scoring import Comet, Journal, find_comet, tokenizer_file
from flows.engine.translation import Engine, open_engine
from flows.measuring.corpus import BenchSegment, Corpus, load_corpus, load_named
from flows.measuring.paper import PaperRun, paper_tables
from flows.measuring.plan import BenchJob, Plan, row_settings
from flows.measuring.results import Results, Runner, files_of, of_translation, publish, running, sign
from flows.measuring.scores import MethodUpdate, Scorer, SegmentTrial
from flows.measuring.tables import tables
from operators.decoding.forward import Forward
from operators.decoding.translator import SegmentState, SegmentTranslator
from operators.errors import InputError, UsageError
from operators.languages import language
from operators.metrics.tokenizers import tokenizer
from operators.models.pool import SessionPool
from operators.prompts.prompt import Prompt
from operators.stages.display import mask_tail, still_shown

#: The visible text of an unfinished output, given its pieces and the previously visible text.
Mask = Callable[[tuple[str, ...], str], str]
# The session of the scoring model.
_JUDGED = "likelihood"


class Likelihood:
    """Scores outputs with the model that made them: quality without a reference.

    Greedy decoding with a small model has many near ties, and one flipped tie changes everything after it;
    chrF against re-translation then shows a difference of a third. The log-likelihood does not: it is the
    same for two equally good wordings, and it penalises a word that the source no longer supports by how
    improbable it is.
    """

    #: How it is counted.
    signature = "nats:-log P(token|source,output before),pooled over tokens,the end left out"

    def __init__(self, prompt: Prompt, pool: SessionPool, max_source: int) -> None:
        """Texts with more than ``max_source`` tokens are not scored, because they are translated in parts."""
        self._prompt = prompt
        self._pool = pool
        self._max_source = max_source

    def nats(self, text: str, output: Sequence[int], *, is_final: bool) -> float | None:
        """-log P of the tokens ``output`` as a translation of ``text``; None if it cannot be computed."""
        source = self._prompt.source(text)
        if not output or not text.strip() or len(source) > self._max_source:
            return None
        prompt = self._prompt.build(source, is_final=is_final)
        with self._pool.session(_JUDGED) as session:
            rows = session.forward(Forward([*prompt, *output[:-1]], len(prompt) - 1))
            total = 0.0
            for row, token in zip(rows, output, strict=True):
                total += float(np.log(np.exp(row - row.max()).sum(dtype=np.float64)) + row.max() - row[token])
        return total

    def judged(
        self, segment: BenchSegment, updates: Sequence[MethodUpdate], outputs: Sequence[Sequence[int]]
    ) -> list[MethodUpdate]:
        """The updates of a segment with their nats; ``outputs`` are their tokens."""
        last = len(updates) - 1
        made = [
            replace(update, nats=self.nats(text, output, is_final=number == last))
            for number, (update, text, output) in enumerate(
                zip(updates, segment.updates, outputs, strict=True)
            )
        ]
        self._pool.release(_JUDGED)
        return made


def run_trials(
    corpus: Corpus,
    translators: Sequence[SegmentTranslator],
    repeats: int,
    masks: Sequence[Mask],
    done: set[tuple[int, int]],
    go_on: Callable[[], None] = lambda: None,
    likelihood: Likelihood | None = None,
) -> Iterator[SegmentTrial]:
    """Yield a trial for each repeat and segment that is not in ``done``.

    ``go_on`` is called before each update, outside the timed part; it may raise to end the run. With
    ``likelihood``, outputs are scored after their segment, also outside the timed part.
    The order of the methods rotates from trial to trial, so that none always comes first.
    """
    for repeat in range(repeats):
        judge = likelihood if repeat == 0 else None  # texts differ between repeats only by noise
        for number, segment in enumerate(corpus.segments):
            if (repeat, number) in done:
                continue
            results: list[tuple[MethodUpdate, ...]] = [()] * len(translators)
            for turn in range(len(translators)):
                which = (turn + number + repeat) % len(translators)
                # Methods that look up earlier outputs of a stream must not find those of the last repeat.
                own = segment._replace(key=f"{repeat}/{segment.key}")
                results[which] = _translate(own, translators[which], masks, go_on, judge)
            yield SegmentTrial(repeat, number, tuple(results))


def warm_up(corpus: Corpus, translators: Sequence[SegmentTranslator]) -> None:
    """Run the first update with each method, unmeasured: the first passes read the weights from disk."""
    segment = corpus.segments[0]
    for translator in translators:
        first = segment._replace(key=f"warm-up/{segment.key}", updates=segment.updates[:1])
        _translate(first, translator, ())


def _translate(
    segment: BenchSegment,
    translator: SegmentTranslator,
    masks: Sequence[Mask],
    go_on: Callable[[], None] = lambda: None,
    likelihood: Likelihood | None = None,
) -> tuple[MethodUpdate, ...]:
    state, updates, outputs = SegmentState(), [], []
    shown = ("",) * len(masks)
    for number, text in enumerate(segment.updates):
        go_on()
        is_final = number == len(segment.updates) - 1
        began = perf_counter()
        state, output = translator.update(segment.key, state, text, is_final=is_final)
        total_s = perf_counter() - began
        if output.trouble is not None and output.trouble.is_failure:
            raise InputError(f"the model failed at {text[:40]!r}, {output.why}: use another model")
        full = "".join(output.pieces)
        shown = tuple(
            full if is_final else mask(output.pieces, before)
            for mask, before in zip(masks, shown, strict=True)
        )
        effort = output.effort.with_total(total_s)
        updates.append(MethodUpdate(len(output.tokens), full, shown, effort, trouble=output.trouble))
        outputs.append(output.tokens)
    translator.release(segment.key, state)
    return tuple(updates if likelihood is None else likelihood.judged(segment, updates, outputs))


# The definition of speed (docs/measuring.md), and the aggregation of erasure.
_SPEED = "speedup:wall-time-of-all-updates,paired,median-over-repeats|tps:output-tokens/(model-s - prompt-s)"
_AGGREGATION = "ne:pooled|ne_mean:mean-over-segments"


def bench_texts(job: BenchJob, plan: Plan) -> None:
    """Run the missing trials, compute the rows, and publish them.

    The trials are deleted only after that, so a failed write does not require new measurements.
    Raises `InterruptedRunError`.
    """
    if len(job.sources) > 1:
        raise UsageError("one text can be measured at a time; give one file")
    if job.data is not None:
        if job.reference is not None:
            raise UsageError("--data has references of its own; leave out --reference")
        direction, recorded = plan.engine.direction, next(iter(job.sources), None)
        corpus = load_named(job.data, direction, recorded, lag=job.lag, chosen=job.chosen)
    else:
        corpus = load_corpus(job.sources[0], job.reference, lag=job.lag, chosen=job.chosen)
    if job.comet is not None and corpus.references is None:
        raise UsageError("--comet needs references; give them with --reference")
    comet = None if job.comet is None else find_comet(job.comet)
    read = [*job.sources, job.reference, *named_files(job.comet), *files_of(plan.engine)]
    check_distinct(job.written, read)
    words = job.tokenizer or language(plan.variants[0].target).tokenizer
    with running() as runner:
        spm = tokenizer_file(words, runner.doing)
        tokenizer(words)  # an unknown one is refused before the model is loaded
        engine = open_engine(plan.engine, runner.doing)
        if job.likelihood and engine.first is not None:
            raise UsageError(
                "no model knows how likely a translation over English is: leave out --likelihood"
            )
        likelihood = None
        if job.likelihood:
            likelihood = Likelihood(engine.prompt, engine.pool, plan.variants[0].max_source)
        signature = sign(
            **of_translation(corpus, engine, plan.engine),
            **dict.fromkeys(("chrf", "bleu")),
            comet=comet and comet.signature,
            likelihood=Likelihood.signature if job.likelihood else None,
            tokenizer=words,
            tokenizer_sha256=spm and sha256_of(spm)[:16],
            # The paper's mask also withholds words that were shown and still stand.
            aggregation=f"{_AGGREGATION}|mask:{'plain' if job.paper else 'steady'}",
            speed=_SPEED,
            repeats=job.repeat,
            order="rotating",
        )
        place = user_cache_path("surtitle") / "bench" / f"{mixing_key(signature, *plan)}.jsonl"
        with Journal(place, SegmentTrial, fresh=job.fresh) as journal:
            trials = _measure(corpus, engine, job, plan, journal, runner, likelihood)
            runner.doing("computing the scores", None)
            results = _results(trials, corpus, job, plan, signature, engine, comet)
            runner.end()
            publish(results, json=job.json, markdown=job.markdown)
            journal.remove()


def mixing_key(signature: dict[str, Any], variants: Sequence[object], masks: Sequence[int]) -> str:
    """Hash of what all trials of a benchmark have in common, except the number of repeats."""
    same = {**signature, "repeats": 0, "comet": None}
    return hashlib.sha256(msgspec.json.encode([same, list(variants), list(masks)])).hexdigest()[:24]


def _measure(
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
    masks = [partial(masked, mask_k, steady=not job.paper) for mask_k in plan.masks]
    for trial in run_trials(corpus, translators, job.repeat, masks, done, go_on, likelihood):
        journal.append(trial)
        trials.append(trial)
        runner.done(len(trials), wanted)
    return trials


def masked(mask_k: int, pieces: tuple[str, ...], before: str, *, steady: bool) -> str:
    """The visible text; ``steady`` as in the display stage, otherwise the mask alone, as in the paper."""
    text, visible = "".join(pieces), mask_tail(pieces, mask_k)
    return text[: max(visible, still_shown(before, text)) if steady else visible]


def _results(
    trials: list[SegmentTrial],
    corpus: Corpus,
    job: BenchJob,
    plan: Plan,
    signature: dict[str, Any],
    engine: Engine,
    judge: Comet | None,
) -> Results:
    target = language(plan.variants[0].target)
    sources, terms = [segment.updates[-1] for segment in corpus.segments], None
    if (glossary := engine.terms(plan.engine)) is not None:
        terms = [glossary.occurring(source) for source in sources]
    words = tokenizer(signature["tokenizer"])
    scorer = Scorer(trials, corpus.references, words, target.tokenizer, terms=terms)
    comet: list[float | None] = [None] * len(plan.variants)
    if judge is not None and corpus.references is not None:
        systems = [scorer.finals(which) for which in range(len(plan.variants))]
        comet = [*judge.scores(sources, corpus.references, systems)]
    rows = []
    for which, variant in enumerate(plan.variants):
        settings = row_settings(variant, knows_unfinished=signature["knows_unfinished"])
        metrics = {**scorer.metrics(which), "comet": comet[which]}
        for number, mask_k in enumerate(plan.masks):
            own, shown = {**settings, "mask_k": mask_k}, scorer.shown(which, number)
            rows.append({"settings": own, "metrics": {**metrics, **shown}})
    signature, plain = {**signature, **scorer.signatures}, tables(rows)
    if not job.paper:
        return Results(signature, rows, plain)
    run = PaperRun(rows, signature, plan.variants[0].source, plan.variants[0].target)
    return Results(signature, rows, paper_tables(run), more=plain)
