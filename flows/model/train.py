"""``surtitle model train``."""

from flows.model.asking import asks_for
from flows.model.jobs import TrainingJob
from operators.errors import UsageError
from operators.extras import needs_extra


@asks_for(TrainingJob)
def train(job: TrainingJob) -> None:
    """Train a model to translate unfinished speech (LoRA).

    A record (.json: data, settings, scores) is written next to the adapter. An interrupted run resumes when
    it is started again.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.training import run

    if (job.judged is None) != (job.reference is None):
        raise UsageError("give both --judge-sources and --judge-references, or neither")
    run(job)
