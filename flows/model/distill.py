"""``surtitle model distill``."""

from flows.model.asking import asks_for
from flows.model.jobs import DistillJob
from operators.extras import needs_extra


@asks_for(DistillJob)
def distill(job: DistillJob) -> None:
    """Replace each translation by the model's own. Started again, it goes on where it was.

    'surtitle model align' then cuts them by what each prefix of the source supports (self-distillation). What
    did not end, or repeats itself, is left out. It computes on a GPU where PyTorch has one.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.distilling import run

    run(job)
