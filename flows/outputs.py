"""A run's files from its first moment on: Bytewax opens a sink with its first item, which may never come."""

from pathlib import Path

from flows.settings import OutputSettings
from operators.errors import OutputError
from operators.subtitles.formats import VTT_HEADER


def begin_outputs(output: OutputSettings) -> None:
    """Leave nothing of an earlier run in the files that this one will write.

    So a run that has nothing to say leaves valid files that say nothing. Pipes and devices are left alone.

    :raises OutputError: when a file cannot be written.
    """
    paths = (output.log, output.partials, output.translations, output.captions, output.srt)
    for name, text in [*((path, "") for path in paths), (output.vtt, VTT_HEADER)]:
        path = Path(name) if name else None
        if path is None or (path.exists() and not path.is_file()):
            continue
        try:
            path.write_text(text)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}") from None
