"""``surtitle model distill``."""

from flows.model.asking import asks_for
from flows.model.jobs import DistillJob
from operators.extras import needs_extra


@asks_for(DistillJob)
def distill(job: DistillJob) -> None:
    """Replace translations by the model's own, for self-distillation.

    Then run 'surtitle model align' on the result. Answers that do not end or repeat themselves are left out.
    A GPU is used if PyTorch has one. An interrupted run resumes when it is started again.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.distilling import run

    run(job)
