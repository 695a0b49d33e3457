"""The commands of ``surtitle model``."""

import typer

from flows.model.assemble import assemble
from flows.model.prune import prune

model_app = typer.Typer(
    no_args_is_help=True, help="Make a model for captions: a smaller vocabulary, and an adapter."
)
model_app.command()(prune)
model_app.command()(assemble)
