"""Runs ``surtitle bench --task drafts``: ways of drafting with a draft model, without a previous output.

The texts are the finals of a corpus, translated from scratch. Each model predicts only once after a prefix
(`Memory`), so that all ways use the same predictions and give the same output. The tables show figures 6a and
11 to 13 and table II of SpecASR (Wei et al. 2025), next to the authors' own figures, which are in
``specasr.toml``.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from connectors.files.distinct import check_distinct
from flows.engine.translation import open_engine
from flows.measuring.corpus import load_corpus
from flows.measuring.plan import BenchJob, Grid
from flows.measuring.results import (
    Results,
    files_of,
    of_translation,
    publish,
    running,
    sign,
)
from flows.measuring.specasr import (
    RANKS,
    Costs,
    costs_of_pair,
    published,
    ranks_table,
    rows_of,
    tables,
)
from flows.settings.schema import Settings
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafter
from operators.decoding.drive import drive
from operators.decoding.forward import Task, output_limit
from operators.decoding.ssbd import retranslate
from operators.decoding.tree import MAX_NODES
from operators.errors import UsageError
from operators.prompts.prompt import Prompt
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.trajectory import (
    Memory,
    RememberedSession,
    Trajectory,
    ranks,
    record,
)
from operators.research.tree_draft import TwoBeams
from operators.text import cleaned

_KEY = "drafts"
_LENGTHS, _THRESHOLDS = (8, 16), (0.2, 0.4, 0.6, 0.8)

#: The ways to draft, by name.
Ways = dict[str, Callable[[Task], Drafter]]


class Drafted(NamedTuple):
    """The measurements on all texts."""

    trajectories: list[Trajectory]
    #: The rank of each token of the outputs in the draft model's predictions, from 1.
    ranks: list[int]


def bench_drafts(job: BenchJob, settings: Settings, grid: Grid) -> None:
    """Measure ways of drafting on texts, and publish the rows.

    Args:
        grid: Values of ``draft_length`` for plain speculative decoding, the first one also with two beams,
            and of ``draft_threshold``, below which adaptive drafts stop or branch.
    """
    translate = settings.translate
    if translate.draft_model is None:
        raise UsageError("--task drafts needs a draft model; add --set translate.draft_model=MODEL")
    check_distinct(job.written, [*job.sources, Path(translate.draft_model), *files_of(translate)])
    adaptive = Prediction(length=translate.draft_length, branches=MAX_NODES)
    ways = _ways(grid.get("draft_length", _LENGTHS), grid.get("draft_threshold", _THRESHOLDS), adaptive)
    drafted, costs, signature = _on_texts(job, settings, ways)
    signature["drafting"] = f"length:{adaptive.length}|nodes:{adaptive.nodes}"
    costs += map(costs_of_pair, published()["pairs"])
    rows = rows_of(drafted.trajectories, costs)
    wrong = Counter(rank for rank in drafted.ranks if rank > 1)
    right = {"tokens": len(drafted.ranks), "ranks": {str(rank): wrong[rank] for rank in sorted(wrong)}}
    made = [*tables(rows, costs), ranks_table(right)]
    rows.append({"settings": {"drafting": RANKS}, "metrics": right})
    publish(Results(signature, rows, made), json=job.json, markdown=job.markdown)


def _ways(lengths: Sequence[int], thresholds: Sequence[float], adaptive: Prediction) -> Ways:
    """Plain speculative decoding, then SpecASR's techniques, each combined with the previous ones."""

    def predicting(prediction: Prediction) -> Callable[[Task], Drafter]:
        return lambda task: ModelDrafts(task, prediction)

    ways: Ways = {}
    for length in lengths:
        ways[f"plain, {length}"] = predicting(Prediction(length=length, threshold=0.0, recycles=False))
    ways[f"plain, {lengths[0]}, 2 beams"] = lambda task: TwoBeams(task, lengths[0])
    for threshold in thresholds:
        tree = replace(adaptive, threshold=threshold, recycles=True)
        recycling = replace(tree, branches=0)
        ways[f"adaptive, {threshold:g}"] = predicting(replace(recycling, recycles=False))
        ways[f"+ recycling, {threshold:g}"] = predicting(recycling)
        ways[f"+ sparse tree, {threshold:g}"] = predicting(tree)
    return ways


#: The results of a run, costs on this machine, and the signature.
_Found = tuple[Drafted, list[Costs], dict[str, Any]]


def _on_texts(job: BenchJob, settings: Settings, ways: Ways) -> _Found:
    if len(job.sources) > 1:
        raise UsageError("one text can be translated at a time; give one file")
    corpus, translate = load_corpus(job.sources[0], lag=None, chosen=job.chosen), settings.translate
    texts = [segment.updates[-1] for segment in corpus.segments if segment.updates[-1].strip()]
    with running() as runner:
        engine = open_engine(translate, runner.doing)
        draft = engine.draft_costs()
        costs = [] if draft is None else [Costs("in milliseconds as measured here", draft, engine.costs())]
        assert engine.drafts is not None, "the settings name a draft model"
        made = Drafted([], [])
        for text in runner.each(texts, "drafting", "texts"):
            task = _task(engine.prompt, text)
            with engine.pool.session(_KEY) as session, engine.drafts.session(_KEY) as second:
                memories = Memory(session, task.prompt), Memory(second, task.prompt)
                _compare(_Pair(task, *memories), ways, made)
        signature = sign(**of_translation(corpus, engine, translate))
    return made, costs, signature


def _task(prompt: Prompt, text: str) -> Task:
    source = prompt.source(cleaned(text))
    limit = output_limit(len(source))
    tokens, piece = prompt.build(source, is_final=True), prompt.vocabulary.piece
    return Task(tokens, (), prompt.stop, limit, is_final=True, source=source, piece=piece)


class _Pair(NamedTuple):
    """The predictions of two models for one text; the second model drafts."""

    task: Task
    memory: Memory
    draft: Memory


def _compare(pair: _Pair, ways: Ways, made: Drafted) -> None:
    """Add a text's figures; raises `RuntimeError` if a way does not give greedy decoding's output."""
    greedy, _ = drive(retranslate(pair.task), RememberedSession(pair.memory))
    made.ranks.extend(ranks(greedy.tokens, pair.draft))
    for name, way in ways.items():
        method = decode(pair.task, way(pair.task))
        sessions = RememberedSession(pair.memory), RememberedSession(pair.draft)
        decoded, rounds = record(method, pair.task, *sessions, pair.draft.prompt)
        if decoded.tokens != greedy.tokens:
            raise RuntimeError(f"{name} gave {decoded.tokens}, greedy decoding {greedy.tokens}")
        made.trajectories.append(Trajectory(name, len(decoded.tokens), rounds))
