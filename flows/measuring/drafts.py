"""Runs ``surtitle bench --task drafts``: ways of drafting with a draft model, without a previous output.

The texts are the finals of a corpus, translated from scratch, or utterances, transcribed from scratch by two
Whisper models. Each model predicts only once after a prefix (`Memory`), so that all ways use the same
predictions and give the same output. The tables show figures 6a and 11 to 13 and table II of SpecASR (Wei et
al. 2025), beside the authors' own figures, which are in ``specasr.toml``.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
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
from operators.research.respelled import Respelled, Spelling, spelled
from operators.research.trajectory import (
    Memory,
    RememberedSession,
    Trajectory,
    autoregressive,
    ranks,
    record,
    replay,
)
from operators.research.tree_draft import TwoBeams
from operators.text import cleaned

_KEY = "drafts"
_LENGTHS, _THRESHOLDS = (8, 16), (0.2, 0.4, 0.6, 0.8)
# Only whole utterances are decoded, and their ends do not depend on this interval.
_INTERVAL_S = 10.0
# How often each utterance's encoder is timed.
_TURNS = 3

#: The ways to draft, by name.
Ways = dict[str, Callable[[Task], Drafter]]


@cache
def printed() -> dict[str, Any]:
    """The figures of the paper."""
    return tomllib.loads(Path(__file__).with_name("specasr.toml").read_text(encoding="utf-8"))


class Costs(NamedTuple):
    name: str
    draft: PassCosts
    target: PassCosts
    #: Additional cost of each text, however it is drafted: the encoders of speech models.
    draft_encoder: float = 0.0
    target_encoder: float = 0.0
    #: The figures that the authors printed for such costs, in a sentence; or whether they are table II's.
    note: str = ""
    is_table: bool = False


class Drafted(NamedTuple):
    """What was measured on all texts."""

    trajectories: list[Trajectory]
    #: The rank of each token of the outputs in the draft model's predictions, from 1.
    ranks: list[int]


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
    drafted, costs, signature = (
        _on_texts(job, settings, ways) if folder is None else _on_speech(job, settings, Path(folder), ways)
    )
    signature["drafting"] = f"length:{adaptive.length}|nodes:{adaptive.nodes}"
    costs += map(_of_pair, printed()["pairs"])
    rows = rows_of(drafted.trajectories, costs)
    wrong = Counter(rank for rank in drafted.ranks if rank > 1)
    right = {"tokens": len(drafted.ranks), "ranks": {str(rank): wrong[rank] for rank in sorted(wrong)}}
    tables = [*_tables(rows, costs), _ranks(right)]
    rows.append({"settings": {"drafting": _RANKS}, "metrics": right})
    publish(Results(signature, rows, tables), json=job.json, markdown=job.markdown)


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
        raise UsageError("one text can be translated at a time; to transcribe recordings, add --speech-model")
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
                _compare(_Pair(task, memories[0], task, memories[1]), ways, made)
        signature = sign(**of_translation(corpus, engine, translate))
    return made, costs, signature


def _task(prompt: Prompt, text: str) -> Task:
    source = prompt.source(cleaned(text))
    limit = output_limit(len(source))
    tokens, piece = prompt.build(source, is_final=True), prompt.vocabulary.piece
    return Task(tokens, (), prompt.stop, limit, is_final=True, source=source, piece=piece)


class _Pair(NamedTuple):
    """What the two models of a pair make of one text or utterance: the second one drafts."""

    task: Task
    memory: Memory
    #: The draft model's own task, memory, and vocabulary if it is another one, after the main model's.
    draft_task: Task
    draft: Memory
    vocabularies: tuple[Spelling, Spelling] | None = None

    def drafter(self, way: Callable[[Task], Drafter]) -> Drafter:
        drafter = way(self.draft_task)
        if self.vocabularies is None:
            return drafter
        model, own = self.vocabularies
        return Respelled(drafter, own, model)

    def in_own_tokens(self, output: Sequence[int]) -> Sequence[int]:
        if self.vocabularies is None:
            return output
        model, own = self.vocabularies
        return own.tokenize(spelled(model, output))


def _compare(pair: _Pair, ways: Ways, made: Drafted) -> None:
    """Add a text's figures; raises `RuntimeError` if a way does not give greedy decoding's output."""
    greedy, _ = drive(retranslate(pair.task), RememberedSession(pair.memory))
    made.ranks.extend(ranks(pair.in_own_tokens(greedy.tokens), pair.draft))
    for name, way in ways.items():
        method = decode(pair.task, pair.drafter(way))
        sessions = RememberedSession(pair.memory), RememberedSession(pair.draft)
        decoded, rounds = record(method, pair.task, *sessions, pair.draft.prompt)
        if decoded.tokens != greedy.tokens:
            raise RuntimeError(f"{name} gave {decoded.tokens}, greedy decoding {greedy.tokens}")
        made.trajectories.append(Trajectory(name, len(decoded.tokens), rounds))


def _on_speech(job: BenchJob, settings: Settings, folder: Path, ways: Ways) -> _Found:
    translate = settings.translate
    draft, threads = Path(translate.draft_model or ""), settings.recognize.usual_threads
    with running() as runner:
        runner.doing("loading the models", None)
        models: list[WhisperModel] = [load_model(str(one.absolute()), threads) for one in (folder, draft)]
        vocabularies = (models[0].files.vocabulary, models[1].files.vocabulary)
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
        made = Drafted([], [])
        for audio in runner.each(utterances, "drafting", "utterances"):
            encoded = [encode(audio) for encode in encoders]
            tasks = [speech_task(one, (), is_final=True) for one in encoded]
            first, second = (Memory(PrefixSession(one), one.prompt) for one in encoded)
            spellings = None if vocabularies[0].spells_like(vocabularies[1]) else vocabularies
            _compare(_Pair(tasks[0], first, tasks[1], second, spellings), ways, made)
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


def _of_pair(pair: dict[str, Any]) -> Costs:
    """The costs on a machine where a pass costs the same whatever it evaluates."""
    ratio, is_table = pair["ratio"], "over_plain" not in pair
    name = f"{pair['name']}: in steps of the draft model, of which a pass costs {ratio:g}"
    speeds = "SpecASR, figure 11: speedup {over_autoregressive}, over plain decoding {over_plain}"
    note = "" if is_table else speeds.format(**pair)
    return Costs(name, PassCosts((1,), (1.0,)), PassCosts((1,), (ratio,)), note=note, is_table=is_table)


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
        metrics: dict[str, Any] = {
            "texts": len(own),
            "tokens": sum(trajectory.tokens for trajectory in own),
            "rounds": len(rounds),
            "draft_steps": draft_steps,
            "drafted": sum(one.drafted for one in rounds),
            "accepted": sum(one.accepted for one in rounds),
            "accepted_lengths": _histogram(one.accepted for one in rounds),
            "ineffective_steps": draft_steps - sum(one.stepped for one in rounds),
            "times": [_times(own, one) for one in costs],
        }
        metrics["accepted_over_drafted"] = metrics["accepted"] / max(1, metrics["drafted"])
        rows.append({"settings": {"drafting": way}, "metrics": metrics})
    first = rows[0]["metrics"]
    for metrics in (row["metrics"] for row in rows):
        metrics["accepted_per_round_of_first"] = _ratio(metrics, first, "accepted", "rounds")
        metrics["ineffective_steps_of_first"] = _ratio(metrics, first, "ineffective_steps", "texts")
        for before, time in zip(first["times"], metrics["times"], strict=True):
            total = time["draft"] + time["target"]
            time["speedup_over_first"] = (before["draft"] + before["target"]) / max(1e-9, total)
    return rows


def _ratio(metrics: dict[str, Any], first: dict[str, Any], name: str, per: str) -> float:
    """How large a mean is, as a multiple of that of the first row."""
    return float(metrics[name] / max(1, metrics[per]) / max(1e-9, first[name] / max(1, first[per])))


def _times(trajectories: Sequence[Trajectory], costs: Costs) -> dict[str, Any]:
    count = len(trajectories)
    passes = replay(trajectories, costs.draft, costs.target)
    draft = passes.draft / count + costs.draft_encoder
    target = passes.target / count + costs.target_encoder
    alone = autoregressive(trajectories, costs.target) / count + costs.target_encoder
    speedup = alone / max(1e-9, draft + target)
    return {"costs": costs.name, "draft": draft, "target": target, "speedup": speedup}


def _histogram(values: Iterable[int]) -> list[int]:
    """How often each value occurs, from 0 on."""
    counts = Counter(values)
    return [counts[value] for value in range(max(counts, default=0) + 1)]


_RANKS = "where the draft model's most probable token is wrong"


def _tables(rows: Sequence[Row], costs: Sequence[Costs]) -> list[Table]:
    made = [
        tabulated("What was done, means of a text", rows, _STEPS),
        tabulated("The same, relative", rows, _RELATIVE),
        tabulated("How many tokens of a round are accepted, share of the rounds", rows, _LENGTHS_ACCEPTED),
    ]
    for number, one in enumerate(costs):
        times = [{**row, **row["metrics"]["times"][number]} for row in rows]
        notes = (one.note,) if one.note else ()
        columns = [*_TIMES, *(_TABLE if one.is_table else ())]
        made.append(tabulated(f"What a text costs, {one.name}", times, columns, notes=notes))
    return made


def _ranks(right: dict[str, Any]) -> Table:
    """Figure 13b."""
    counts = {int(rank): count for rank, count in right["ranks"].items()}
    wrong = sum(counts.values())
    shares = [counts.get(rank, 0) / max(1, wrong) for rank in range(2, _LAST_RANK + 1)]
    own = [f"{100 * share:.1f} %" for share in (*shares, max(0.0, 1 - sum(shares)) if wrong else 0.0)]
    columns = ("", *(f"rank {rank}" for rank in range(2, _LAST_RANK + 1)), "later")
    rows = (
        (f"{wrong} of {right['tokens']} tokens", *own),
        ("SpecASR, figure 13b", printed()["ranks"]["second"], *[""] * (len(own) - 1)),
    )
    return Table(f"Rank of the true token {_RANKS}", columns, rows)


def _per(heading: str, name: str, whole: str, digits: int = 1, unit: str = "") -> Column:
    return Column(heading, lambda row: row["metrics"][name] / max(1, row["metrics"][whole]), digits, unit)


def _printed(
    figure: Callable[[dict[str, Any]], float | None], heading: str, digits: int, unit: str
) -> Column:
    """A figure of the paper for a technique."""

    def value(row: Row) -> float | None:
        own = printed()["ways"].get(row["settings"]["drafting"])
        return None if own is None else figure(own)

    return Column(heading, value, digits, unit)


def _beside(heading: str, name: str, digits: int) -> list[Column]:
    """A share, and the same in the paper."""
    own = Column(heading, f"metrics.{name}", digits, "%")
    return [own, _printed(lambda figures: figures.get(name), "SpecASR", digits, "%")]


def _between(least: int, most: int | None) -> Column:
    """The share of rounds in which so many tokens are accepted."""

    def share(row: Row) -> float:
        return float(sum(row["metrics"]["accepted_lengths"][least:most]) / max(1, row["metrics"]["rounds"]))

    heading = f"{least}+" if most is None else str(least) if most == least + 1 else f"{least}–{most - 1}"
    return Column(heading, share, 0, "%")


def _share(times: dict[str, Any]) -> float:
    return float(times["draft"] / max(1e-9, times["draft"] + times["target"]))


_LAST_RANK = 5
_STEPS = (
    Column("drafting", "settings.drafting"),
    _per("rounds", "rounds", "texts"),
    _per("draft steps", "draft_steps", "texts"),
    _per("drafted", "drafted", "texts"),
    _per("accepted", "accepted", "texts"),
    _per("accepted/round", "accepted", "rounds", 2),
    _per("ineffective steps", "ineffective_steps", "texts"),
)
_RELATIVE = (
    _STEPS[0],
    *_beside("accepted/drafted", "accepted_over_drafted", 1),
    *_beside("accepted/round of the first row's", "accepted_per_round_of_first", 0),
    *_beside("ineffective steps of the first row's", "ineffective_steps_of_first", 0),
)
_BOUNDS = (0, 1, 3, 5, 9, 13, 17, 25)
_LENGTHS_ACCEPTED = (_STEPS[0], *map(_between, _BOUNDS, (*_BOUNDS[1:], None)))
_TIMES = (
    _STEPS[0],
    Column("draft", "draft", 0),
    Column("target", "target", 0),
    Column("total", lambda row: row["draft"] + row["target"], 0),
    Column("draft's share", _share, 0, "%"),
    Column("speedup", "speedup", 2),
    Column("over the first row", "speedup_over_first", 2),
)
#: Table II.
_TABLE = (
    _printed(_share, "SpecASR: share", 0, "%"),
    _printed(
        lambda own: float(printed()["ways"]["plain, 8"]["total"] / own["total"]), "over its first", 2, ""
    ),
)
