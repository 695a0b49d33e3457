"""The files of a run: its outputs, and the recovery folder with surtitle's own runner and with Bytewax'.

Outputs are checked for conflicts, locked against other runs, and initialised.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from bytewax.recovery import RecoveryConfig

from connectors.audio.recording import is_file, shown
from connectors.files.distinct import check_distinct, named_files
from connectors.files.output import inherited
from connectors.files.watch import OutputWatch
from connectors.recovery import RecoveryFolder
from connectors.sinks.part import SinkPart
from flows.engine.choice import chosen_model, fetch_chosen
from flows.running.dataflow import Process, Recovery
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.extras import require_extra
from operators.languages import Direction
from operators.notifications import silent
from operators.secret import to_plain

_EVENTS = ("partials", "translations", "captions")


def check_files(settings: Settings, reading: Iterable[Path] = ()) -> None:
    """Check that a run can write its files, each only once, and that it writes no file that it reads.

    Raises the errors of `check_distinct`, and `UsageError` if an extra is missing.

    Args:
        reading: Files that were already read, such as the settings file.
    """
    for one, path in settings.output.files():
        require_extra(one.extra, f"--{one.name}")
        is_device = path.parent == Path("/dev") or inherited(path) is not None
        if is_device and one.is_of_language and settings.translate.targets[1:]:
            raise UsageError(
                f"output.{one.name}: {path} cannot take several languages; name a file such as talk.srt: "
                "it becomes talk.de.srt, talk.fr.srt …"
            )
    folder = settings.recovery.folder
    folders = [("recovery.folder", Path(folder))] if folder else []
    if settings.input.rooms and settings.rooms.folder:
        folders.append(("rooms.folder", Path(settings.rooms.folder)))
    check_distinct(_written(settings), _read(settings, reading), folders)


@contextmanager
def held_outputs(settings: Settings, watch: OutputWatch) -> Iterator[None]:
    """Lock the files inside the block, if they are here, without changing them.

    Files that it creates are removed unless the run begins.

    Raises:
        OutputError: when a file cannot be written, or another run is writing to it.
    """
    try:
        for one, path in settings.files() if watch.is_here else ():
            if one.header is not None or path.exists():
                watch.hold(path)
        yield
    finally:
        watch.close()


def begin_outputs(settings: Settings, watch: OutputWatch, *, is_resumed: bool) -> None:
    """Clear the locked files of an earlier run's content, unless that run is resumed.

    Bytewax opens a sink with its first item, which may never come. With this, a run without results still
    leaves valid, empty files. Pipes, devices and inherited file descriptors are left alone.

    Raises:
        OutputError: when a file cannot be written.
    """
    if not watch.is_here:
        return
    for one, path in settings.files():
        if one.header is not None and not is_resumed:
            watch.begin(path, one.header)
    watch.begun()


def _written(settings: Settings) -> Iterator[tuple[str, Path]]:
    yield from ((f"output.{_plain(one)}", path) for one, path in settings.files())
    if settings.output.summary:
        yield "output.summary", Path(settings.output.summary)
    if settings.input.rooms and settings.rooms.keys:
        yield "rooms.keys", Path(settings.rooms.keys)
    if settings.input.skip_bad:
        for name in _EVENTS:
            path = getattr(settings.input, name)
            if path:
                yield f"the rejected lines of input.{name}", Path(f"{path}.rejected")


def _read(settings: Settings, reading: Iterable[Path]) -> Iterator[Path]:
    yield from reading
    given = settings.input
    for path in (*given.recordings, *(getattr(given, name) for name in _EVENTS)):
        if path and is_file(path):
            yield Path(path)
    translate = settings.translate
    yield from named_files(
        translate.model,
        translate.template,
        *translate.terminology,
        translate.draft_model,
        translate.heads,
        settings.display.replace,
    )
    for path in (settings.recognize.model, settings.recovery.folder):
        if path:
            yield Path(path)


def _told_apart(address: str) -> str:
    """An address without its secrets, which differs where they do: a query may name the recording."""
    return f"{shown(address)} ({sha256(address.encode()).hexdigest()[:8]})"


def _plain(one: SinkPart) -> str:
    """The name of a sink, whichever language its file is of."""
    return one.name.removesuffix(f"-{one.language}")


@contextmanager
def recovery(settings: Settings, process: Process) -> Iterator[Recovery | None]:
    """The recovery that the settings ask for; the folder is locked for this process inside the block.

    Of a cluster, the first process has the folder. The others send their snapshots to it, and Bytewax wants
    an empty folder of them.
    """
    if settings.recovery.folder is None:
        yield None
        return
    if not process.has_files:
        with tempfile.TemporaryDirectory(prefix="surtitle-") as empty:
            config = RecoveryConfig(Path(empty))  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
            yield Recovery(config, settings.recovery.interval_s, is_resumed=False)
        return
    with RecoveryFolder(Path(settings.recovery.folder), _identity(settings)) as folder:
        yield Recovery(folder.config, settings.recovery.interval_s, folder.is_resumed)


def take_bytewax_folder(settings: Settings) -> bool:
    """Prepare the folder given to ``python -m bytewax.run`` with ``-r``, and lock it for this process.

    Returns whether it holds a run that was interrupted or has ended.

    Bytewax reads the folder once the flow is built, so stale content is deleted here.

    Raises:
        UsageError: if the settings ask for a folder and Bytewax was given none or another one; if a cluster
            of processes was given one.
    """
    program, given = sys.modules["__main__"], bytewax_folder()
    asked = settings.recovery.folder
    if asked is not None and (given is None or given.resolve() != Path(asked).resolve()):
        raise UsageError(
            f"recovery.folder is {asked}, but Bytewax's runner uses only its own options: "
            f"add -r {asked} -s 1 -b 0"
        )
    if given is not None and getattr(program, "addresses", None) is not None:
        raise UsageError(
            f"{given} can be the folder of one process only: leave out -a, or start each process of the "
            "cluster with: surtitle job SETTINGS --set run.addresses=… --set run.process=…"
        )
    if given is None:
        return False
    if settings.translates:
        fetch_chosen(settings.translate, _translated(settings), silent)
    return RecoveryFolder(given, _identity(settings)).is_resumed


def bytewax_folder() -> Path | None:
    """The folder given to ``python -m bytewax.run`` with ``-r``."""
    # Bytewax parses its command line before it builds a flow, and keeps the results as module variables.
    folder: Path | None = getattr(sys.modules["__main__"], "recovery_directory", None)
    return folder


def _translated(settings: Settings) -> list[Direction]:
    return [one for one in settings.translate.directions if one.translates]


def _identity(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings that must not change when a run resumes; others, such as for display or speed, may."""
    same: dict[str, dict[str, Any]] = to_plain(settings, hidden=None, address=_told_apart)
    del same["recovery"], same["run"], same["web"], same["output"]["terminal"], same["output"]["summary"]
    # The default model of a later run may be another one, which knows other tokens.
    if settings.translates:
        models = [chosen_model(settings.translate, one) for one in _translated(settings)]
        same["translate"]["model"] = models
    del same["translate"]["registry"], same["translate"]["threads"], same["recognize"]["threads"]
    del same["translate"]["rooms"]
    # Rooms are not resumed.
    del same["metrics"], same["messages"], same["rooms"], same["output"]["kafka"]
    # Nor do parts matter that are not used, and may not be installed next time.
    used = same["recognize"]["engine"]
    same["recognize"] = {k: v for k, v in same["recognize"].items() if not isinstance(v, dict) or k == used}
    same["output"] = {key: value for key, value in same["output"].items() if value is not None}
    # Lists, as they are read back.
    for stage in ("input", "output", "translate"):
        same[stage] = {k: list(v) if isinstance(v, tuple) else v for k, v in same[stage].items()}
    kafka = same["input"].pop("kafka")
    if kafka["topic"] is not None:
        same["input"] |= {"topic": kafka["topic"], "events": kafka["events"]}
    return same
