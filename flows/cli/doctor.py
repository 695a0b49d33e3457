"""``surtitle doctor``: checks whether captions will work on this machine, and suggests remedies."""

from typing import Annotated

import typer

from flows.running.loading import loading
from flows.settings.options import (
    CaptionsOnly,
    Device,
    From,
    Model,
    Recognizer,
    Set,
    SettingsFile,
    SpeechModel,
    To,
    given_in,
)


def doctor(
    context: typer.Context,
    to: To = None,
    source: From = None,
    model: Model = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    device: Device = None,
    settings: SettingsFile = None,
    set_: Set = None,
    quick: Annotated[bool, typer.Option("--quick", help="Skip the measurement of speed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
) -> None:
    """Check microphone, models and speed on this machine, and suggest remedies.

    Nothing is downloaded. The exit code is 0 if captions will work, and 1 otherwise.
    """
    with loading():
        from flows.cli.language import suggestion_for
        from flows.doctor.report import works
        from flows.settings.loading import load_settings

    wanted = load_settings(settings, given_in(context), takes_several=True, choose=suggestion_for)
    raise typer.Exit(0 if works(wanted, is_quick=quick, as_json=json) else 1)
