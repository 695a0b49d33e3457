"""The speech models that the benchmark can run: those of the recognisers that decode growing windows."""

from pathlib import Path

from flows.engine.recognition import check_recognizer, make_recognizer
from flows.measuring.speech.command import MEASURED
from operators.errors import UsageError
from operators.recognizers.part import RecognizerSettings, unobserved
from operators.recognizers.windowed.drafting import DraftingTranscriber
from operators.recognizers.windowed.recognizer import WindowedRecognizer


def open_engine(name: str, folder: Path | None, spoken: str, threads: int) -> DraftingTranscriber:
    """What decodes the windows of that recogniser. Raises `SurtitleError` if it or its model is missing."""
    if name not in MEASURED:
        raise UsageError(f"--recognizer: {name!r} cannot be measured; choose {' or '.join(MEASURED)}")
    model = None if folder is None else str(folder)
    settings = RecognizerSettings(engine=name, model=model, threads=threads)
    check_recognizer(settings, spoken=spoken, is_live=False)
    recognizer = make_recognizer(settings, spoken=spoken, observe=unobserved)
    assert isinstance(recognizer, WindowedRecognizer), "it says so"
    assert isinstance(recognizer.transcriber, DraftingTranscriber), "it decodes with drafts"
    return recognizer.transcriber
