"""The output files of a run: checked for conflicts, locked against other runs, and initialised."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.files.distinct import check_distinct, named_files
from connectors.files.watch import OutputWatch
from flows.settings.schema import OutputSettings, Settings
from operators.errors import OutputError
from operators.extras import require_extra

_INPUTS = ("audio", "partials", "translations", "captions")


def check_files(settings: Settings, reading: Iterable[Path] = ()) -> None:
    """Check that a run can write its files, each only once, and that it writes no file that it reads.

    Raises the errors of `check_distinct`, and `UsageError` if an extra is missing.

    Args:
        reading: Files that were already read, such as the settings file.
    """
    for one, _path in settings.output.files():
        require_extra(one.extra, f"--{one.name}")
    folder = settings.recovery.folder
    folders = [("recovery.folder", Path(folder))] if folder else []
    if settings.input.rooms and settings.rooms.folder:
        folders.append(("rooms.folder", Path(settings.rooms.folder)))
    check_distinct(_written(settings), _read(settings, reading), folders)


@contextmanager
def held_outputs(output: OutputSettings, watch: OutputWatch) -> Iterator[None]:
    """Lock the files against other runs inside the block, as `hold_outputs` does, if they are here."""
    try:
        if watch.is_here:
            hold_outputs(output, watch)
        yield
    finally:
        watch.close()


def hold_outputs(output: OutputSettings, watch: OutputWatch) -> None:
    """Lock the files for this run without changing them; files it creates are removed unless the run begins.

    Raises:
        OutputError: when a file cannot be written, or another run is writing to it.
    """
    try:
        for one, path in output.files():
            if one.header is not None or path.exists():
                watch.hold(path)
    except OutputError:
        watch.close()
        raise


def begin_outputs(output: OutputSettings, watch: OutputWatch, *, is_resumed: bool) -> None:
    """Clear the locked files of an earlier run's content, unless that run is resumed.

    Bytewax opens a sink with its first item, which may never come. With this, a run without results still
    leaves valid, empty files. Pipes, devices and inherited file descriptors are left alone.

    Raises:
        OutputError: when a file cannot be written.
    """
    if not watch.is_here:
        return
    if is_resumed:
        # The resumed run may never write to a file that it has not written yet.
        watch.remove_created()
        return
    for one, path in output.files():
        if one.header is not None:
            watch.begin(path, one.header)
    watch.begun()


def _written(settings: Settings) -> Iterator[tuple[str, Path]]:
    yield from ((f"output.{one.name}", path) for one, path in settings.output.files())
    if settings.output.summary:
        yield "output.summary", Path(settings.output.summary)
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
    yield from named_files(
        translate.model,
        translate.template,
        translate.glossary,
        translate.dictionary,
        translate.draft_model,
        translate.heads,
    )
    for path in (settings.recognize.model, settings.recovery.folder):
        if path:
            yield Path(path)
