"""A run's files: each its own, none that is read, and no other run's, from its first moment on."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.distinct_files import check_distinct, named_files
from connectors.output_watch import OutputWatch
from flows.settings import OutputSettings, Settings
from operators.subtitles.formats import VTT_HEADER

_OUTPUTS = ("log", "partials", "translations", "captions", "srt", "vtt", "summary", "audio")
_INPUTS = ("audio", "partials", "translations", "captions")


def check_files(settings: Settings, reading: Iterable[Path] = ()) -> None:
    """See that each file that a run writes can be written, is read by nobody and written once.

    Raises as `check_distinct` does.

    :arg reading: Files that were read already, such as the one of the settings.
    """
    folder = settings.recovery.folder
    folders = [("recovery.folder", Path(folder))] if folder else []
    check_distinct(_written(settings), _read(settings, reading), folders)


@contextmanager
def held_outputs(output: OutputSettings, watch: OutputWatch, *, is_resumed: bool) -> Iterator[None]:
    """Keep other runs from the files until it is over, as `begin_outputs` does."""
    try:
        begin_outputs(output, watch, is_resumed=is_resumed)
        yield
    finally:
        watch.close()


def begin_outputs(output: OutputSettings, watch: OutputWatch, *, is_resumed: bool) -> None:
    """Take the files for this run, and leave nothing of an earlier one in them unless that one goes on.

    Bytewax opens a sink with its first item, which may never come: a run that has nothing to say leaves valid
    files that say nothing. Pipes, devices and standard output are left alone.

    :raises OutputError: when a file cannot be written, or another run is writing it.
    """
    paths = (output.log, output.partials, output.translations, output.captions, output.srt)
    begun = {Path(path): "" for path in paths if path}
    if output.vtt:
        begun[Path(output.vtt)] = VTT_HEADER
    # A recording that has not begun is no valid one when it is empty: it is made with its first sound.
    recorded = [Path(output.audio)] if output.audio and Path(output.audio).exists() else []
    # All of them before one is emptied: where one is refused the others stay as they are.
    for path in (*begun, *recorded):
        if not is_resumed or path.exists():
            watch.hold(path)
    if not is_resumed:
        for path, text in begun.items():
            watch.begin(path, text)


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
    yield from named_files(translate.model, translate.template, translate.draft_model)
    for path in (settings.recognize.model, settings.recovery.folder):
        if path:
            yield Path(path)
