"""The files of a run: its outputs, and the recovery folder with surtitle's runner or Bytewax'.

Outputs are checked for conflicts, locked against other runs, and initialised.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from bytewax.recovery import RecoveryConfig

from connectors.audio.recording import is_file, shown
from connectors.files.distinct import check_distinct, named_files
from connectors.files.output import inherited
from connectors.files.watch import OutputWatch
from connectors.messages import log_event
from connectors.recovery import RecoveryFolder
from flows.engine.choice import chosen_model, fetch_chosen
from flows.running.dataflow import Process, Recovery, is_bytewax_job
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.extras import require_extra
from operators.languages import Direction
from operators.notifications import silent
from operators.secret import to_plain

_EVENTS = ("partials", "translations", "captions")


def check_files(settings: Settings, reading: Iterable[Path] = ()) -> None:
    """Check that output files are distinct from each other and from the files that the run reads.

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
    """Lock this process's output files inside the block, without changing their content.

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
    """Empty the locked files, unless an earlier run is resumed; copy what they have of an earlier talk.

    Bytewax opens a sink at its first item. Therefore a run without results would leave no valid file. Pipes,
    devices and inherited file descriptors are left alone.

    Raises:
        OutputError: when a file cannot be written.
    """
    if not watch.is_here:
        return
    for one, path in settings.files():
        if is_resumed:
            continue
        if settings.happens_once and (copy := watch.keep(path)) is not None:
            log_event("output_kept", f"{path} is there already: its contents are now in {copy}")
        if one.header is not None:
            watch.begin(path, one.header)
    watch.begun()


def _written(settings: Settings) -> Iterator[tuple[str, Path]]:
    for one, path in settings.files():
        # Independent of the language of the file.
        yield f"output.{one.name.removesuffix(f'-{one.language}')}", path
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
    of = settings.translate
    yield from named_files(
        of.model, of.template, *of.terminology, of.draft_model, of.heads, settings.display.replace
    )
    yield from (Path(path) for path in (settings.recognize.model, settings.recovery.folder) if path)


def _distinct_address(address: str) -> str:
    """The address without its secrets. Addresses stay different, because a query may name the recording."""
    return f"{shown(address)} ({sha256(address.encode()).hexdigest()[:8]})"


@contextmanager
def recovery(settings: Settings, process: Process) -> Iterator[Recovery | None]:
    """The recovery configuration; the folder is locked for this process inside the block.

    In a cluster, the first process owns the folder. The others send their snapshots to it, but Bytewax
    requires an empty folder of each.
    """
    path, interval_s = _recovery_folder(settings), settings.recovery.interval_s
    if path is None:
        yield None
    elif process.has_files:
        folder = RecoveryFolder(path, _identity(settings))
        # Bytewax's own runner still writes snapshots when the flow is over: its folder stays locked.
        with nullcontext() if is_bytewax_job() else folder:
            yield Recovery(folder.config, interval_s, folder.is_resumed)
    else:
        with tempfile.TemporaryDirectory(prefix="surtitle-") as empty:
            config = RecoveryConfig(Path(empty))  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
            yield Recovery(config, interval_s, is_resumed=False)


def _recovery_folder(settings: Settings) -> Path | None:
    """The folder of the settings; in ``python -m bytewax.run`` the one given to it with ``-r``.

    Raises:
        UsageError: if Bytewax was not given the folder of the settings; if a cluster was given one.
    """
    asked = settings.recovery.folder
    if not is_bytewax_job():
        return None if asked is None else Path(asked)
    # Bytewax parses its command line before it builds a flow, and keeps the results as module variables.
    program = sys.modules["__main__"]
    given: Path | None = getattr(program, "recovery_directory", None)
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
    if given is not None and settings.translates:
        # The identity of the run contains its models.
        fetch_chosen(settings.translate, _translated(settings), silent)
    return given


def _translated(settings: Settings) -> list[Direction]:
    return settings.translate.by_model(settings.translate.directions)


# Stages and settings that may change when a run resumes, such as those for display or speed.
_FREE_STAGES = ("metrics", "messages", "recovery", "rooms", "run", "web")
_FREE = {
    "output": ("kafka", "summary", "terminal"),
    "recognize": ("threads",),
    "translate": ("registry", "rooms", "threads"),
}


def _identity(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings that must not change when a run resumes."""
    plain: dict[str, dict[str, Any]] = to_plain(settings, hidden=None, address=_distinct_address)
    same = {
        stage: {key: value for key, value in given.items() if key not in _FREE.get(stage, ())}
        for stage, given in plain.items()
        if stage not in _FREE_STAGES
    }
    # The default model of a later run may be another one, with other tokens.
    if settings.translates:
        models = [chosen_model(settings.translate, one) for one in _translated(settings)]
        same["translate"]["model"] = models
    # Unused parts do not matter either; they may not be installed next time.
    used = same["recognize"]["engine"]
    same["recognize"] = {k: v for k, v in same["recognize"].items() if not isinstance(v, dict) or k == used}
    same["output"] = {key: value for key, value in same["output"].items() if value is not None}
    kafka = same["input"].pop("kafka")
    if kafka["topic"] is not None:
        same["input"] |= {"topic": kafka["topic"], "events": kafka["events"]}
    # Tuples are read back as lists.
    return msgspec.json.decode(msgspec.json.encode(same), type=dict[str, dict[str, Any]])
