"""Drafting with a draft model, without a last output: trajectories of all ways, on the same texts.

The texts are the finals of a corpus, translated from scratch, or utterances, transcribed from scratch. Each
model is asked only once for its prediction after a prefix (`Memory`), so that all ways meet the same two
models and give the same output.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from flows.engine.translation import Engine, open_engine
from flows.measuring.drafts.results import Costs, Drafts
from flows.measuring.results import running
from flows.measuring.signature import of_engine, of_texts, sign
from flows.measuring.texts import Corpus
from flows.settings.schema import TranslateSettings
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafter
from operators.decoding.drive import drive
from operators.decoding.forward import Task, output_limit
from operators.decoding.greedy import retranslate
from operators.prompts.prompt import Prompt
from operators.research.draft_model import ModelDrafts, TwoBeams
from operators.research.prediction import Prediction
from operators.research.trajectory import Memory, Remembered, Trajectory, record
from operators.text import cleaned

_KEY = "drafts"


class Way(NamedTuple):
    """One way to draft."""

    name: str
    drafter: Callable[[Task], Drafter]


class Sweep(NamedTuple):
    """The ways to compare."""

    #: Draft lengths of plain speculative decoding, with one and with two beams.
    lengths: Sequence[int] = (8, 16)
    beamed: Sequence[int] = (8,)
    #: Probabilities below which adaptive prediction stops or branches.
    thresholds: Sequence[float] = (0.4,)
    #: Settings of the adaptive ways.
    prediction: Prediction = Prediction(branches=2)

    @property
    def signature(self) -> str:
        """The settings of the adaptive ways, for a signature."""
        one = self.prediction
        return f"length:{one.length}|branches:{one.branches}|reach:{one.reach}"


def ways(sweep: Sweep) -> list[Way]:
    """Plain speculative decoding, then SpecASR's techniques, each combined with the previous ones."""
    plain = [
        _predicting(f"plain, {length}", Prediction(length=length, threshold=0.0, recycles=False))
        for length in sweep.lengths
    ]
    beams = [Way(f"plain, {length}, 2 beams", _beams(length)) for length in sweep.beamed]
    adaptive = []
    for threshold in sweep.thresholds:
        tree = msgspec.structs.replace(sweep.prediction, threshold=threshold, recycles=True)
        recycling = msgspec.structs.replace(tree, branches=0)
        single = msgspec.structs.replace(recycling, recycles=False)
        adaptive += [
            _predicting(f"adaptive, {threshold:g}", single),
            _predicting(f"+ recycling, {threshold:g}", recycling),
            _predicting(f"+ sparse tree, {threshold:g}", tree),
        ]
    return [*plain, *beams, *adaptive]


def _beams(length: int) -> Callable[[Task], Drafter]:
    return lambda task: TwoBeams(task, length)


def _predicting(name: str, prediction: Prediction) -> Way:
    return Way(name, lambda task: ModelDrafts(task, prediction))


def trajectories(engine: Engine, text: str, compared: Sequence[Way]) -> list[Trajectory]:
    """The trajectories of a text, one for each way.

    Raises `RuntimeError` if a way does not give the output of greedy decoding.
    """
    if engine.drafts is None:
        raise ValueError("there is no draft model")
    task = _task(engine.prompt, text)
    with engine.pool.session(_KEY) as session, engine.drafts.session(_KEY) as draft:
        return compared_on(text, task, Memory(session, task.prompt), Memory(draft, task.prompt), compared)


def run_drafts(corpus: Corpus, settings: TranslateSettings, sweep: Sweep) -> Drafts:
    """Decode the finals of ``corpus`` with the model and the draft model of the settings.

    Raises `InputError` if the models cannot be used together.
    """
    texts = [segment.updates[-1] for segment in corpus.segments if segment.updates[-1].strip()]
    with running() as runner:
        engine = open_engine(settings, runner.doing)
        draft = engine.draft_costs()
        costs = [] if draft is None else [Costs("in milliseconds as measured here", draft, engine.costs())]
        made: list[Trajectory] = []
        for text in runner.each(texts, "drafting", "texts"):
            made += trajectories(engine, text, ways(sweep))
        signature = sign(
            **of_engine(engine, settings), **of_texts(corpus, engine, [settings]), drafting=sweep.signature
        )
        runner.end()
    return Drafts(signature, costs, made)


def _task(prompt: Prompt, text: str) -> Task:
    source = prompt.source(cleaned(text))
    limit = output_limit(len(source))
    tokens, piece = prompt.build(source, is_final=True), prompt.vocabulary.piece
    return Task(tokens, (), prompt.stop, limit, is_final=True, source=source, piece=piece)


def compared_on(
    text: str, task: Task, memory: Memory, second: Memory, compared: Sequence[Way]
) -> list[Trajectory]:
    """The trajectories of one text, given as the ``task`` of the two models.

    Raises the `RuntimeError` of `trajectories`.
    """
    greedy, _ = drive(retranslate(task), Remembered(memory))
    made = []
    for way in compared:
        decoded, rounds = record(
            decode(task, way.drafter(task)), task, Remembered(memory), Remembered(second), second.prompt
        )
        if decoded.tokens != greedy.tokens:
            raise RuntimeError(f"{way.name} gave another output than greedy decoding of {text[:40]!r}")
        made.append(Trajectory(text=text, method=way.name, tokens=len(decoded.tokens), rounds=rounds))
    return made
