"""Dataflows made of stages, their settings, and the command line.

To build your own flow, get its translator from here: `open_engine` loads the model of `TranslateSettings`.
"""

from typing import TYPE_CHECKING

from operators.extras import exports

if TYPE_CHECKING:
    from flows.engine.translation import open_engine
    from flows.settings.translate import TranslateSettings
else:
    __getattr__ = exports(
        __name__, {"TranslateSettings": "flows.settings.translate", "open_engine": "flows.engine.translation"}
    )

__all__ = ["TranslateSettings", "open_engine"]
