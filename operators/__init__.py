"""The middle of surtitle: events, and one module per stage that turns one event into the next.

Import the parts of a flow from here: the events, the stages (Bytewax operators), the recogniser protocol, and
the clocks. ``docs/examples/`` shows how to combine them.
"""

from typing import TYPE_CHECKING

from operators.extras import exports

if TYPE_CHECKING:
    from operators.clock import VirtualClock, WallClock
    from operators.events import AudioChunk, Caption, ErasureRecord, Partial, Translation
    from operators.languages import language
    from operators.metrics.erasure import ErasureMeter
    from operators.recognizers.moonshine import moonshine_recognizer
    from operators.recognizers.protocol import Hypothesis, Recognizer
    from operators.sentences.joining import Sentences
    from operators.serving.service import DirectService
    from operators.stages.display import display
    from operators.stages.measure import measure
    from operators.stages.recognize import recognize
    from operators.stages.sentences import join_sentences
    from operators.stages.show import show
    from operators.stages.subtitle import subtitle
    from operators.stages.translate import translate
else:
    __getattr__ = exports(
        __name__,
        {
            **dict.fromkeys(
                ("AudioChunk", "Caption", "ErasureRecord", "Partial", "Translation"), "operators.events"
            ),
            **dict.fromkeys(("Hypothesis", "Recognizer"), "operators.recognizers.protocol"),
            **dict.fromkeys(("VirtualClock", "WallClock"), "operators.clock"),
            "DirectService": "operators.serving.service",
            "ErasureMeter": "operators.metrics.erasure",
            "Sentences": "operators.sentences.joining",
            "join_sentences": "operators.stages.sentences",
            "language": "operators.languages",
            "moonshine_recognizer": "operators.recognizers.moonshine",
            **{
                stage: f"operators.stages.{stage}"
                for stage in ("display", "measure", "recognize", "show", "subtitle", "translate")
            },
        },
    )

__all__ = [
    "AudioChunk",
    "Caption",
    "DirectService",
    "ErasureMeter",
    "ErasureRecord",
    "Hypothesis",
    "Partial",
    "Recognizer",
    "Sentences",
    "Translation",
    "VirtualClock",
    "WallClock",
    "display",
    "join_sentences",
    "language",
    "measure",
    "moonshine_recognizer",
    "recognize",
    "show",
    "subtitle",
    "translate",
]
