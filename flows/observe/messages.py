"""Messages to the user: events at once, and problems with the input at the end of the run."""

from connectors.messages.log import tell
from operators.observed import (
    MicrophoneChanged,
    ModelAnswered,
    Observed,
    OutputChanged,
    RecognizerChanged,
    RecordingTruncated,
    RoomRefused,
    SessionBegan,
    SpeechCut,
)
from operators.trouble import TroubleWatch


class Messages:
    """Reports events to the user in sentences."""

    takes = frozenset(
        {
            MicrophoneChanged,
            RecognizerChanged,
            SpeechCut,
            OutputChanged,
            ModelAnswered,
            RecordingTruncated,
            RoomRefused,
            SessionBegan,
        }
    )

    def __init__(self) -> None:
        self._model = TroubleWatch()
        self._truncated: list[str] = []
        self._has_told_cut = False

    def observe(self, event: Observed) -> None:
        """Report an event, or keep it for the end."""
        match event:
            case MicrophoneChanged(sentence):
                tell("microphone_changed", sentence)
            case RecognizerChanged(sentence):
                tell("recognizer_changed", sentence)
            case SpeechCut(sentence) if not self._has_told_cut:
                self._has_told_cut = True
                tell("speech_cut", f"{sentence}; further cases are only counted")
            case OutputChanged(path, sentence, is_late):
                tell("write_failed" if is_late else "write_recovered", sentence, output=path)
            case ModelAnswered(trouble, why):
                for sentence in self._model.note(trouble, why):
                    tell("model_trouble", sentence)
            case RoomRefused(sentence):
                tell("room_refused", sentence)
            case SessionBegan(sentence):
                tell("session_began", sentence)
            case RecordingTruncated(sentence):
                self._truncated.append(sentence)

    def complaints(self) -> list[str]:
        """The messages at the end: an input that broke off, a model that failed until the end."""
        broken = self._model.complaint()
        return [*self._truncated, *([broken] if broken else [])]
