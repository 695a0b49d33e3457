"""A run's files: each its own, none that is read, and no other run's, from its first moment on."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from connectors.output_file import check_writable, inherited
from connectors.output_watch import OutputWatch
from flows.settings import OutputSettings, Settings
from operators.errors import OutputError, UsageError
from operators.subtitles.formats import VTT_HEADER

_OUTPUTS = ("log", "partials", "translations", "captions", "srt", "vtt", "summary", "audio")
_INPUTS = ("audio", "partials", "translations", "captions")
# Files of a folder that are looked at: a speech model has ten.
_MOST_FILES = 1000

#: What a file is known by: its device and inode or, before it is made, its path without links.
_Identity = tuple[int, int] | str


def check_files(settings: Settings, reading: Iterable[Path] = ()) -> None:
    """See that each file that a run writes can be written, is read by nobody and written once.

    Files are compared by inode, so that no link hides anything. Pipes, devices and what this process was
    started with, such as standard output, may be written by many.

    :arg reading: Files that were read already, such as the one of the settings.
    :raises UsageError: when two outputs are one file.
    :raises OutputError: when a file cannot be written, or the run reads it.
    """
    read = {identity for path in _read(settings, reading) if (identity := _identity(path)) is not None}
    written: dict[_Identity, str] = {}
    for name, path in _written(settings):
        check_writable(path)
        identity = _identity(path)
        if identity is None:
            continue
        if identity in read:
            raise OutputError(f"{path} cannot be written: the same run reads it; choose another file")
        other = written.setdefault(identity, name)
        if other != name:
            raise UsageError(f"{other} and {name} are both {path}; give each a file of its own")


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
    files that say nothing. Pipes, devices and what this process was started with are left alone.

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
    for path in (translate.model, translate.template, translate.draft_model, translate.heads):
        # Models and templates that go by a name are no files here.
        if path and Path(path).is_file():
            yield Path(path)
    for path in (settings.recognize.model, settings.recovery.folder):
        if path:
            yield from islice(Path(path).rglob("*"), _MOST_FILES)


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except OSError:
        return os.path.realpath(path)
    if not stat.S_ISREG(status.st_mode) or inherited(path) is not None:
        return None
    return status.st_dev, status.st_ino
