"""Decodes a corpus with a pair of models in all ways, and measures the cost of their passes here."""

from flows.engine.translation import open_engine
from flows.measuring.drafts.files import Drafts
from flows.measuring.drafts.tables import Costs
from flows.measuring.drafts.ways import Sweep, trajectories, ways
from flows.measuring.runner import running
from flows.measuring.signature import of_engine, of_texts, sign
from flows.measuring.texts import Corpus
from flows.settings.schema import TranslateSettings
from operators.decoding.trajectory import Trajectory


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
