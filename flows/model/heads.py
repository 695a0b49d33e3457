"""``surtitle model heads``."""

from flows.model.asking import asks_for
from flows.model.jobs import HeadsJob
from operators.extras import needs_extra


@asks_for(HeadsJob)
def heads(job: HeadsJob) -> None:
    """Train proposal heads on a model, for --method heads (Stern et al. 2018).

    They learn from the model's own answers. A record (.json) is written next to them: data, settings, and
    tokens per pass.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.heads_training import run

    run(job)
