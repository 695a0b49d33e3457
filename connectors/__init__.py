"""The edges of surtitle: where events enter and leave a dataflow.

The sources and sinks of a flow can be imported from here. Each states its delivery guarantee.
"""

from typing import TYPE_CHECKING

from operators.extras import exports

if TYPE_CHECKING:
    from connectors.audio.source import AudioFileSource
    from connectors.callback import CallbackSink
    from connectors.files.sink import FileSink
    from connectors.jsonl.source import JsonlSource
    from connectors.microphone.source import MicrophoneSource
    from connectors.sinks.jsonl import JsonlSink
    from connectors.sinks.subtitles import SubtitleSink
    from connectors.sinks.wav import WavSink
    from connectors.terminal import open_screen
else:
    __getattr__ = exports(
        __name__,
        {
            "AudioFileSource": "connectors.audio.source",
            "CallbackSink": "connectors.callback",
            "FileSink": "connectors.files.sink",
            "JsonlSink": "connectors.sinks.jsonl",
            "JsonlSource": "connectors.jsonl.source",
            "MicrophoneSource": "connectors.microphone.source",
            "SubtitleSink": "connectors.sinks.subtitles",
            "WavSink": "connectors.sinks.wav",
            "open_screen": "connectors.terminal",
        },
    )

__all__ = [
    "AudioFileSource",
    "CallbackSink",
    "FileSink",
    "JsonlSink",
    "JsonlSource",
    "MicrophoneSource",
    "SubtitleSink",
    "WavSink",
    "open_screen",
]
