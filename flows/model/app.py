"""The commands of ``surtitle model``."""

import typer

from flows.model.align import align
from flows.model.assemble import assemble
from flows.model.distill import distill
from flows.model.heads import heads
from flows.model.prune import prune
from flows.model.train import train

model_app = typer.Typer(
    no_args_is_help=True,
    help="Make a captions model: a smaller vocabulary, trained to translate unfinished speech.",
)
model_app.command()(prune)
model_app.command()(distill)
model_app.command()(align)
model_app.command()(train)
model_app.command()(assemble)
model_app.command()(heads)
