"""What the user is told of a run: at once what happens, at its end what was wrong with what came in."""

from connectors.messages.log import tell
from operators.observed import (
    MicrophoneChanged,
    ModelAnswered,
    Observed,
    OutputChanged,
    RecognizerChanged,
    RecordingTruncated,
    RoomRefused,
)
from operators.trouble import TroubleWatch


class Messages:
    """Tells the user in sentences."""

    takes = frozenset(
        {MicrophoneChanged, RecognizerChanged, OutputChanged, ModelAnswered, RecordingTruncated, RoomRefused}
    )

    def __init__(self) -> None:
        self._model = TroubleWatch()
        self._truncated: list[str] = []

    def observe(self, event: Observed) -> None:
        """Tell of an event, or keep it for the end."""
        match event:
            case MicrophoneChanged(sentence):
                tell("microphone_changed", sentence)
            case RecognizerChanged(sentence):
                tell("recognizer_changed", sentence)
            case OutputChanged(path, sentence, is_late):
                tell("write_failed" if is_late else "write_recovered", sentence, output=path)
            case ModelAnswered(trouble, why):
                for sentence in self._model.note(trouble, why):
                    tell("model_trouble", sentence)
            case RoomRefused(sentence):
                tell("room_refused", sentence)
            case RecordingTruncated(sentence):
                self._truncated.append(sentence)

    def complaints(self) -> list[str]:
        """What is to be said at the end: an input that broke off, a model that failed to the last."""
        broken = self._model.complaint()
        return [*self._truncated, *([broken] if broken else [])]
