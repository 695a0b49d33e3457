"""Decodes a corpus with a pair of models in all ways, and measures the cost of their passes here."""

from threading import Event as Flag

import msgspec

from flows.bench.corpus import Corpus
from flows.bench.plan import Plan
from flows.bench.signature import sign
from flows.bench_drafts.publish import Drafts
from flows.bench_drafts.tables import Costs
from flows.bench_drafts.ways import Sweep, trajectories, ways
from flows.engine.translation import Engine, open_engine
from flows.running.interrupts import interrupt_sets
from flows.running.waiting import Waiting
from flows.settings.schema import TranslateSettings
from operators.decoding.trajectory import Trajectory
from operators.errors import InterruptedRunError

# Fields of a benchmark's signature that do not affect trajectories.
_IDLE = {"aggregation", "order", "repeats", "speed", "tokenizer"}


def run_drafts(corpus: Corpus, settings: TranslateSettings, sweep: Sweep) -> Drafts:
    """Decode the finals of ``corpus`` with the model and the draft model of the settings.

    Raises `InputError` if the models cannot be used together.
    """
    texts = [segment.updates[-1] for segment in corpus.segments if segment.updates[-1].strip()]
    stop = Flag()
    with interrupt_sets(stop), Waiting(quiet=False, captions=False) as waiting:
        engine = open_engine(settings, waiting.doing)
        costs = _costs(engine)
        made: list[Trajectory] = []
        for number, some in enumerate(trajectories(engine, texts, ways(sweep))):
            made += some
            waiting.doing("drafting", (number + 1) / len(texts))
            if stop.is_set():
                raise InterruptedRunError(f"interrupted after {number + 1} of {len(texts)} texts")
        signature = sign(corpus, engine, Plan((settings,), ()), "none", 1, None)
        waiting.end()
    signed = {name: value for name, value in msgspec.to_builtins(signature).items() if name not in _IDLE}
    prediction = sweep.prediction
    signed["drafting"] = f"length:{prediction.length}|branches:{prediction.branches}|reach:{prediction.reach}"
    return Drafts(signed, costs, made)


def _costs(engine: Engine) -> list[Costs]:
    """The cost of passes of the two models on this machine."""
    draft = engine.draft_costs()
    return [] if draft is None else [Costs("in milliseconds as measured here", draft, engine.costs())]
