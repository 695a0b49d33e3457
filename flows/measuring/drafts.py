"""Runs ``surtitle bench --task drafts``: ways of drafting with a draft model, without a previous output.

The texts are the finals of a corpus, translated from scratch, or utterances, transcribed from scratch by two
Whisper models. Each model predicts only once after a prefix (`Memory`), so that all ways use the same
predictions and give the same output. The tables show figures 11 to 13 and table II of SpecASR (Wei et al.
2025).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from time import perf_counter
from timeit import repeat
from typing import Any, NamedTuple

from msgspec.structs import replace

from connectors.files.distinct import check_distinct
from flows.engine.translation import open_engine
from flows.measuring.corpus import Clip, load_corpus, read_clips, samples
from flows.measuring.plan import BenchJob, Grid
from flows.measuring.results import (
    Results,
    Row,
    files_of,
    of_recordings,
    of_translation,
    publish,
    running,
    sign,
)
from flows.pages.table import Column, Table, tabulated
from flows.settings.schema import Settings
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafter
from operators.decoding.drive import drive
from operators.decoding.forward import Task, output_limit
from operators.decoding.pass_cost import PassCosts
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate
from operators.decoding.tree import MAX_NODES
from operators.errors import InputError, UsageError
from operators.languages import language
from operators.models.pass_times import measure_costs
from operators.prompts.prompt import Prompt
from operators.recognizers.whisper.model import Encoded, WhisperModel, load_model
from operators.recognizers.whisper.recognizer import RULES, speech_task
from operators.recognizers.windowed import Samples, Segmenter, silero
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.trajectory import (
    Memory,
    RememberedSession,
    Trajectory,
    autoregressive,
    record,
    replay,
)
from operators.research.tree_draft import TwoBeams
from operators.text import cleaned

_KEY = "drafts"
_LENGTHS, _THRESHOLDS = (8, 16), (0.2, 0.4, 0.6, 0.8)
# The cost of a pass of the main model in draft steps: the authors' three pairs of models.
_RATIOS = (6.1, 8.8, 11.8)
# Only whole utterances are decoded, and their ends do not depend on this interval.
_INTERVAL_S = 10.0
# How often each utterance's encoder is timed.
_TURNS = 3

#: The ways to draft, by name.
Ways = dict[str, Callable[[Task], Drafter]]


class Costs(NamedTuple):
    name: str
    draft: PassCosts
    target: PassCosts
    #: Additional cost of each text, however it is drafted: the encoders of speech models.
    draft_encoder: float = 0.0
    target_encoder: float = 0.0


def bench_drafts(job: BenchJob, settings: Settings, grid: Grid) -> None:
    """Measure ways of drafting on texts, or on recordings if a speech model is given, and publish the rows.

    Args:
        grid: Values of ``draft_length`` for plain speculative decoding, the first one also with two beams,
            and of ``draft_threshold``, below which adaptive drafts stop or branch.
    """
    translate, folder = settings.translate, settings.recognize.model
    if translate.draft_model is None:
        raise UsageError("--task drafts needs a draft model; add --set translate.draft_model=MODEL")
    models = (Path(translate.draft_model), None if folder is None else Path(folder))
    check_distinct(job.written, [*job.sources, *models, *files_of(translate)])
    adaptive = Prediction(length=translate.draft_length, branches=MAX_NODES)
    ways = _ways(grid.get("draft_length", _LENGTHS), grid.get("draft_threshold", _THRESHOLDS), adaptive)
    trajectories, costs, signature = (
        _on_texts(job, settings, ways) if folder is None else _on_speech(job, settings, Path(folder), ways)
    )
    signature["drafting"] = f"length:{adaptive.length}|nodes:{adaptive.nodes}"
    rows = rows_of(trajectories, [*costs, *map(_at_ratio, _RATIOS)])
    publish(Results(signature, rows, _tables(rows)), json=job.json, markdown=job.markdown)


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


#: The results of a run: trajectories, costs on this machine, and the signature.
_Found = tuple[list[Trajectory], list[Costs], dict[str, Any]]


def _on_texts(job: BenchJob, settings: Settings, ways: Ways) -> _Found:
    if len(job.sources) > 1:
        raise UsageError("one text can be translated at a time; to transcribe recordings, add --speech-model")
    corpus, translate = load_corpus(job.sources[0], lag=None, chosen=job.chosen), settings.translate
    texts = [segment.updates[-1] for segment in corpus.segments if segment.updates[-1].strip()]
    with running() as runner:
        engine = open_engine(translate, runner.doing)
        draft = engine.draft_costs()
        costs = [] if draft is None else [Costs("in milliseconds as measured here", draft, engine.costs())]
        assert engine.drafts is not None, "the settings name a draft model"
        made: list[Trajectory] = []
        for text in runner.each(texts, "drafting", "texts"):
            task = _task(engine.prompt, text)
            with engine.pool.session(_KEY) as session, engine.drafts.session(_KEY) as second:
                made += _compared(task, Memory(session, task.prompt), Memory(second, task.prompt), ways)
        signature = sign(**of_translation(corpus, engine, translate))
    return made, costs, signature


def _task(prompt: Prompt, text: str) -> Task:
    source = prompt.source(cleaned(text))
    limit = output_limit(len(source))
    tokens, piece = prompt.build(source, is_final=True), prompt.vocabulary.piece
    return Task(tokens, (), prompt.stop, limit, is_final=True, source=source, piece=piece)


def _compared(task: Task, first: Memory, second: Memory, ways: Ways) -> list[Trajectory]:
    """The trajectories of one text; raises `RuntimeError` if a way does not give greedy decoding's output."""
    greedy, _ = drive(retranslate(task), RememberedSession(first))
    made = []
    for name, drafter in ways.items():
        method = decode(task, drafter(task))
        decoded, rounds = record(
            method, task, RememberedSession(first), RememberedSession(second), second.prompt
        )
        if decoded.tokens != greedy.tokens:
            raise RuntimeError(f"{name} gave {decoded.tokens}, greedy decoding {greedy.tokens}")
        made.append(Trajectory(name, len(decoded.tokens), rounds))
    return made


def _on_speech(job: BenchJob, settings: Settings, folder: Path, ways: Ways) -> _Found:
    translate = settings.translate
    draft, threads = Path(translate.draft_model or ""), settings.recognize.usual_threads
    with running() as runner:
        runner.doing("loading the models", None)
        models: list[WhisperModel] = [load_model(str(one.absolute()), threads) for one in (folder, draft)]
        vocabularies = [model.files.vocabulary for model in models]
        if not vocabularies[0].spells_like(vocabularies[1]):
            raise UsageError(
                f"{draft} has another vocabulary than {folder}; choose a draft model with the same"
            )
        encoders = [
            partial(model.encode, prompt=vocabulary.prompt(language(translate.source)))
            for model, vocabulary in zip(models, vocabularies, strict=True)
        ]
        clips, chosen = read_clips(job.sources), job.chosen
        utterances = list(islice(_utterances(clips), chosen.start, chosen.stop))
        if not utterances:
            raise InputError(f"{job.sources[0]}: no speech was found; check it, --limit and --skip")
        runner.doing("measuring what a pass costs", None)
        costs = _costs(encoders, utterances)
        made: list[Trajectory] = []
        for audio in runner.each(utterances, "drafting", "utterances"):
            encoded = [encode(audio) for encode in encoders]
            first, second = (Memory(PrefixSession(one), one.prompt) for one in encoded)
            made += _compared(speech_task(encoded[0], (), is_final=True), first, second, ways)
    signature = of_recordings(
        folder,
        clips,
        threads,
        draft_model=draft.name,
        corpus=f"{len(clips)} recordings|utterances:{chosen.start + 1}-{chosen.start + len(utterances)}",
    )
    return made, [costs], signature


def _utterances(clips: Sequence[Clip]) -> Iterator[Samples]:
    for clip in clips:
        segmenter = Segmenter(silero(), _INTERVAL_S, RULES)
        for window in [*segmenter.accept(samples(clip)), *segmenter.finish()]:
            if window.is_final:
                yield window.samples


def _costs(encoders: Sequence[Callable[[Samples], Encoded]], utterances: Sequence[Samples]) -> Costs:
    """The cost of the two models' passes and of an utterance's encoder on this machine, in milliseconds."""
    # The minimum of several times, as a mean over all utterances.
    target_ms, draft_ms = (
        1000 * fmean(min(repeat(partial(encode, audio), number=1, repeat=_TURNS)) for audio in utterances)
        for encode in encoders
    )
    longest = max(utterances, key=len)
    target, draft = (measure_costs(_pass_timer(encode(longest))) for encode in encoders)
    busy = "" if draft.is_steady and target.is_steady else "; the machine was busy"
    name = f"in milliseconds as measured here, encoders included{busy}"
    return Costs(name, draft, target, draft_encoder=draft_ms, target_encoder=target_ms)


def _pass_timer(encoded: Encoded) -> Callable[[int], float]:
    """Make a function that times a pass over a number of tokens after the prompt."""
    encoded.evaluate(encoded.prompt, 0, 1)
    begin = len(encoded.prompt)

    def seconds(tokens: int) -> float:
        encoded.cut(begin)
        began = perf_counter()
        encoded.evaluate([encoded.prompt[-1]] * tokens, begin, tokens)
        return perf_counter() - began

    return seconds


def _at_ratio(ratio: float) -> Costs:
    """The costs on a machine where a pass costs the same whatever it evaluates."""
    name = f"in steps of the draft model, of which a pass costs {ratio:g} whatever it evaluates"
    return Costs(name, PassCosts((1,), (1.0,)), PassCosts((1,), (ratio,)))


def rows_of(trajectories: Sequence[Trajectory], costs: Sequence[Costs]) -> list[Row]:
    """A row for each way of drafting: counts, and for each of ``costs`` the time.

    Tokens are drafted in all branches; ineffective are steps of the draft model without an accepted token.
    The time is that of a text, in the unit of the costs; speedups are over decoding with the main model
    alone, and over the first way.
    """
    by_way: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        by_way.setdefault(trajectory.method, []).append(trajectory)
    rows: list[Row] = []
    for way, own in by_way.items():
        rounds = [one for trajectory in own for one in trajectory.rounds]
        draft_steps = sum(len(one.steps) for one in rounds)
        metrics = {
            "texts": len(own),
            "tokens": sum(trajectory.tokens for trajectory in own),
            "rounds": len(rounds),
            "draft_steps": draft_steps,
            "drafted": sum(one.drafted for one in rounds),
            "accepted": sum(one.accepted for one in rounds),
            "ineffective_steps": draft_steps - sum(one.stepped for one in rounds),
            "times": [_times(own, one) for one in costs],
        }
        rows.append({"settings": {"drafting": way}, "metrics": metrics})
    for row in rows:
        for first, time in zip(rows[0]["metrics"]["times"], row["metrics"]["times"], strict=True):
            total = time["draft"] + time["target"]
            time["speedup_over_first"] = (first["draft"] + first["target"]) / max(1e-9, total)
    return rows


def _times(trajectories: Sequence[Trajectory], costs: Costs) -> dict[str, Any]:
    count = len(trajectories)
    passes = replay(trajectories, costs.draft, costs.target)
    draft = passes.draft / count + costs.draft_encoder
    target = passes.target / count + costs.target_encoder
    alone = autoregressive(trajectories, costs.target) / count + costs.target_encoder
    speedup = alone / max(1e-9, draft + target)
    return {"costs": costs.name, "draft": draft, "target": target, "speedup": speedup}


def _tables(rows: Sequence[Row]) -> list[Table]:
    first = max(1, rows[0]["metrics"]["ineffective_steps"])

    def of_first(row: Row) -> float:
        return float(row["metrics"]["ineffective_steps"] / first)

    steps = [*_STEPS, Column("of the first row's", of_first, 0, "%")]
    made = [tabulated("What was done, means of a text", rows, steps)]
    for number, one in enumerate(rows[0]["metrics"]["times"]):
        times = [{**row["settings"], **row["metrics"]["times"][number]} for row in rows]
        made.append(tabulated(f"What a text costs, {one['costs']}", times, _TIMES))
    return made


def _per(heading: str, name: str, whole: str, digits: int = 1, unit: str = "") -> Column:
    return Column(heading, lambda row: row["metrics"][name] / max(1, row["metrics"][whole]), digits, unit)


_STEPS = (
    Column("drafting", "settings.drafting"),
    _per("rounds", "rounds", "texts"),
    _per("draft steps", "draft_steps", "texts"),
    _per("drafted", "drafted", "texts"),
    _per("accepted", "accepted", "texts"),
    _per("accepted/round", "accepted", "rounds", 2),
    _per("accepted/drafted", "accepted", "drafted", 1, "%"),
    _per("ineffective steps", "ineffective_steps", "texts"),
)
_TIMES = (
    Column("drafting", "drafting"),
    Column("draft", "draft", 0),
    Column("target", "target", 0),
    Column("total", lambda row: row["draft"] + row["target"], 0),
    Column("draft's share", lambda row: row["draft"] / max(1e-9, row["draft"] + row["target"]), 0, "%"),
    Column("speedup", "speedup", 2),
    Column("over the first row", "speedup_over_first", 2),
)
