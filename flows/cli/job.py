"""``surtitle job``: runs a pipeline as a settings file describes it, alone or as a process of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from flows.captions.runner import caption
from flows.cli.refusals import check_command
from flows.settings.loading import begin_settings
from flows.settings.options import CLUSTER, RECOVERY, WATCHING, WORKERS, Overrides, takes


@takes(RECOVERY, WORKERS, CLUSTER, WATCHING)
def job(
    overrides: Overrides,
    settings: Annotated[Path, typer.Argument(help="TOML file that names input and output.")],
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Nothing on the terminal but errors and the web page's address.")
    ] = False,
) -> None:
    """Run a pipeline that a settings file describes, from Kafka or files to Kafka or files, until it ends."""
    check_command(settings, "job")
    if quiet:
        overrides.setdefault("output", {})["terminal"] = False
    caption(begin_settings(settings, overrides), quiet=quiet, profile=False, settings_file=settings)
