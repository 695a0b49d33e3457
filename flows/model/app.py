"""The commands of ``surtitle model``; those that train with PyTorch are here, as all they do is run a job."""

import typer

from flows.model.alignment import align, lexicon
from flows.model.files import assemble, prune
from flows.model.jobs import DistillJob, HeadsJob, TrainingJob
from flows.settings.options import asks_for
from operators.errors import UsageError
from operators.extras import needs_extra

model_app = typer.Typer(
    help="Make a captions model: a smaller vocabulary, trained to translate unfinished speech.",
)


@asks_for(DistillJob)
def distill(job: DistillJob) -> None:
    """Replace translations by the model's own, for self-distillation.

    Then run 'surtitle model align' on the result. Answers that do not end or repeat themselves are left out.
    A GPU is used if PyTorch has one. An interrupted run resumes when it is started again.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.distill import run

    run(job)


@asks_for(TrainingJob)
def train(job: TrainingJob) -> None:
    """Train a model to translate unfinished speech (LoRA).

    A record (.json: data, settings, scores) is written next to the adapter. An interrupted run resumes when
    it is started again.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.train import run

    if (job.judged is None) != (job.reference is None):
        raise UsageError("give both --judge-sources and --judge-references, or neither")
    run(job)


@asks_for(HeadsJob)
def heads(job: HeadsJob) -> None:
    """Train proposal heads on a model, for --method heads (Stern et al. 2018).

    They learn from the model's own answers. A record (.json) is written next to them: data, settings, and
    tokens per pass.
    """
    # Imported here because other commands do not need it and should start fast.
    with needs_extra("train", "training"):
        from flows.model.heads import run

    run(job)


for _command in (prune, distill, align, train, assemble, heads, lexicon):
    model_app.command()(_command)
