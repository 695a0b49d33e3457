"""A run's files: each its own, none that is read, and no other run's, from its first moment on."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.files.distinct import check_distinct, named_files
from connectors.files.watch import OutputWatch
from flows.settings.schema import OutputSettings, Settings
from operators.errors import OutputError
from operators.subtitles.formats import VTT_HEADER

_OUTPUTS = ("log", "partials", "translations", "captions", "srt", "vtt", "summary", "audio")
_INPUTS = ("audio", "partials", "translations", "captions")


def check_files(settings: Settings, reading: Iterable[Path] = ()) -> None:
    """See that each file that a run writes can be written, is read by nobody and written once.

    Raises as `check_distinct` does.

    Args:
        reading: Files that were read already, such as the one of the settings.
    """
    folder = settings.recovery.folder
    folders = [("recovery.folder", Path(folder))] if folder else []
    check_distinct(_written(settings), _read(settings, reading), folders)


@contextmanager
def held_outputs(output: OutputSettings, watch: OutputWatch) -> Iterator[None]:
    """Keep other runs from the files until it is over, as `hold_outputs` does."""
    try:
        hold_outputs(output, watch)
        yield
    finally:
        watch.close()


def hold_outputs(output: OutputSettings, watch: OutputWatch) -> None:
    """Take the files for this run, and change none; those that it makes go again unless it begins.

    Raises:
        OutputError: when a file cannot be written, or another run is writing it.
    """
    try:
        for path in _begun(output):
            watch.hold(path)
        # A recording that has not begun is no valid one when it is empty: it is made with its first sound.
        if output.audio and Path(output.audio).exists():
            watch.hold(Path(output.audio))
    except OutputError:
        watch.close()
        raise


def begin_outputs(output: OutputSettings, watch: OutputWatch, *, is_resumed: bool) -> None:
    """Leave nothing of an earlier run in the files that are held, unless that one goes on.

    Bytewax opens a sink with its first item, which may never come: a run that has nothing to say leaves valid
    files that say nothing. Pipes, devices and what this process was started with are left alone.

    Raises:
        OutputError: when a file cannot be written.
    """
    if is_resumed:
        # What the run that goes on has not written it may never write.
        watch.unmake()
        return
    for path, text in _begun(output).items():
        watch.begin(path, text)
    watch.begun()


def _begun(output: OutputSettings) -> dict[Path, str]:
    """The files that are there from the beginning, and what they begin with."""
    paths = (output.log, output.partials, output.translations, output.captions, output.srt)
    begun = {Path(path): "" for path in paths if path}
    if output.vtt:
        begun[Path(output.vtt)] = VTT_HEADER
    return begun


def _written(settings: Settings) -> Iterator[tuple[str, Path]]:
    for name in _OUTPUTS:
        path = getattr(settings.output, name)
        if path:
            yield f"output.{name}", Path(path)
    if settings.input.skip_bad:
        for name in _INPUTS:
            path = getattr(settings.input, name)
            if path:
                yield f"the rejected lines of input.{name}", Path(f"{path}.rejected")


def _read(settings: Settings, reading: Iterable[Path]) -> Iterator[Path]:
    yield from reading
    for name in _INPUTS:
        path = getattr(settings.input, name)
        if path:
            yield Path(path)
    translate = settings.translate
    yield from named_files(translate.model, translate.template, translate.draft_model, translate.heads)
    for path in (settings.recognize.model, settings.recovery.folder):
        if path:
            yield Path(path)
