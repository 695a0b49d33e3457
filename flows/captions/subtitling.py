"""Subtitle files named after their recordings, and copies with subtitles in them."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import NamedTuple

from msgspec.structs import replace

from connectors.audio import ffmpeg
from connectors.audio.recording import is_file, shown, stream_of
from connectors.exports.mux import Subtitles, container_of, font_for, mux, suffix_for, write_chapters
from connectors.files.atomic import write_atomically
from connectors.files.contents import read_text
from connectors.files.output import check_writable, make_folder
from connectors.messages import log_event
from connectors.sinks.part import in_language
from flows.captions.resources import MakeResources, RunResources, StreamLanguages
from flows.captions.runner import caption
from flows.running.interrupts import interrupt_sets
from flows.running.progress import ProgressLine
from flows.settings.schema import RecoverySettings, Settings
from operators.errors import DamagedInputError, InputError, OutputError, UsageError, printable
from operators.languages import Language
from operators.notifications import Observe, Progress
from operators.subtitles.writer import Shown

#: Maximum bytes of subtitles that somebody corrected.
_MAX_SUBTITLES = 16 * 1024 * 1024


class Wanted(NamedTuple):
    """The outputs besides SubRip files."""

    vtt: bool
    txt: bool
    #: Also the transcript.
    speech: bool
    #: A copy of each recording with subtitle tracks; or of a single one, to this file.
    mux: bool
    mux_into: Path | None
    #: Copies with burnt-in subtitles.
    burn: bool
    #: The folder of all files; None to write each beside its recording.
    folder: Path | None
    #: Replace existing files.
    overwrite: bool


def subtitle_recordings(
    recordings: Sequence[str], settings: Settings, wanted: Wanted, *, quiet: bool, settings_file: Path | None
) -> None:
    """Write the subtitles of each recording; raises `InputError` after the last one if some have failed."""
    todo = _planned(recordings, settings, wanted)
    loaded: RunResources | None = None

    def make_resources(
        settings: Settings, observe: Observe, languages: StreamLanguages | None
    ) -> RunResources:
        """Load the models for the first recording, and use them for all."""
        nonlocal loaded
        loaded = RunResources(settings, observe, languages, loaded)
        return loaded

    failures = 0
    for files in todo:
        try:
            _write(files, settings, make_resources, quiet=quiet, settings_file=settings_file)
        except InputError as error:
            if len(todo) == 1:
                raise
            failures += 1
            log_event(error.event, str(error))
            # A failed run may have left its text in the models' sessions.
            loaded = None
    if failures:
        raise InputError(
            f"{failures} of {len(todo)} recordings could not be subtitled, or not completely; "
            "see the messages above"
        )


def _planned(recordings: Sequence[str], settings: Settings, wanted: Wanted) -> "list[_Files]":
    """The files of each recording; raises `SurtitleError` where one cannot be written."""
    suffixes = [".srt", *[".vtt"] * wanted.vtt, *[".txt"] * wanted.txt]
    todo = [
        _with_videos(_files(one, settings, suffixes, wanted.folder, speech=wanted.speech), wanted)
        for one in recordings
    ]
    if len(todo) > 1 and (shared := _others(settings, suffixes)):
        raise UsageError(
            f"{', '.join(shared)}: it would contain only the last of {len(todo)} recordings; "
            "leave it out of the settings, or give one recording"
        )
    if wanted.mux_into is not None and len(todo) > 1:
        raise UsageError("--mux-into names the copy of one recording; leave it out, and give --mux")
    if wanted.folder is not None:
        make_folder(wanted.folder)
    if not wanted.overwrite:
        todo = [
            one._replace(reused=bool(one.videos) and all(path.exists() for path in one.written))
            for one in todo
        ]
    _check(todo, overwrite=wanted.overwrite)
    return todo


class _Text(NamedTuple):
    """An output format: what it shows, the code in the file's name, and its language."""

    shown: Shown
    code: str
    language: Language


class _Files(NamedTuple):
    recording: str
    texts: list[_Text]
    #: Their names without a language: one for each format, SubRip first.
    bases: list[Path]
    #: The file of chapters, if they are wanted and possible.
    chapters: Path | None
    #: The copy of the recording with subtitle tracks.
    copy: Path | None = None
    #: Copies with burnt-in subtitles, one for each language that is shown.
    burnt: tuple[tuple[Subtitles, Path], ...] = ()
    #: Whether existing subtitles, which somebody may have corrected, go into the copies as they are.
    reused: bool = False

    @property
    def written(self) -> list[Path]:
        return [in_language(base, one.code) for base in self.bases for one in self.texts]

    @property
    def tracks(self) -> list[Subtitles]:
        return [Subtitles(in_language(self.bases[0], one.code), one.language) for one in self.texts]

    @property
    def videos(self) -> list[Path]:
        return [*([self.copy] if self.copy else []), *(path for _, path in self.burnt)]

    @property
    def paths(self) -> list[Path]:
        return [*self.written, *([self.chapters] if self.chapters else []), *self.videos]


def _files(
    recording: str, settings: Settings, suffixes: Sequence[str], folder: Path | None, *, speech: bool
) -> _Files:
    has_chapters = ".vtt" in suffixes and is_file(recording)
    return _Files(
        recording,
        list(_texts(settings, speech=speech)),
        [_beside(recording, suffix, folder) for suffix in suffixes],
        _beside(recording, ".chapters.vtt", folder) if has_chapters else None,
    )


def _with_videos(files: _Files, wanted: Wanted) -> _Files:
    recording, copy, burnt = files.recording, wanted.mux_into, list[tuple[Subtitles, Path]]()
    if wanted.mux and copy is None:
        copy = _beside(recording, f".captioned{suffix_for(Path(recording))}", wanted.folder)
    if wanted.burn:
        path = _beside(recording, f".burnt{suffix_for(Path(recording))}", wanted.folder)
        shows_speech = files.texts[0].shown == "source"
        burnt = [
            (track, in_language(path, one.code))
            for track, one in zip(files.tracks, files.texts, strict=True)
            if shows_speech or one.shown != "source"
        ]
    for video in [*([copy] if copy else []), *(path for _, path in burnt)]:
        option = "--burn" if copy is None else "--mux"
        ffmpeg.require(option)
        container_of(video)
        if not is_file(recording):
            raise UsageError(f"{shown(recording)}: only a file can be copied; save it, or leave out {option}")
    for track, _ in burnt:
        font_for(track.language)
    return files._replace(copy=copy, burnt=tuple(burnt))


def _beside(recording: str, suffix: str, folder: Path | None) -> Path:
    """A path beside the recording or in ``folder``; for an address or standard input, in the current one."""
    own = Path(recording).parent if is_file(recording) else Path()
    return (own if folder is None else folder) / f"{stream_of(recording)}{suffix}"


def _texts(settings: Settings, *, speech: bool) -> Iterator[_Text]:
    first, shown = settings.translate.direction, settings.output.subtitles
    spoken, written = first.source, settings.translate.written
    if shown != "source":
        for target in written:
            is_both = shown == "both" and first.translates and len(written) == 1
            yield _Text(shown, f"{spoken.code}-{target.code}" if is_both else target.code, target)
    if shown == "source" or (speech and all(one.translates for one in settings.translate.directions)):
        yield _Text("source", spoken.code, spoken)


def _named(path: Path, texts: Sequence[_Text], *, several: bool) -> Iterator[str]:
    """The values of the setting: files in several languages share a name."""
    for one in texts:
        own = path if several and one.shown != "source" else in_language(path, one.code)
        yield f"{one.shown}={own}"
        if own == path:
            yield from (f"source={in_language(path, two.code)}" for two in texts if two.shown == "source")
            return


def _check(todo: Sequence[_Files], *, overwrite: bool) -> None:
    """Refuse before anything is read: unwritable files, and files that would be overwritten."""
    owners: dict[Path, str] = {}
    for files in todo:
        for path in files.paths:
            other = owners.setdefault(path.absolute(), files.recording)
            if other != files.recording or path.absolute() == Path(files.recording).absolute():
                raise UsageError(
                    f"{shown(other)} and {shown(files.recording)} would both be {path}; "
                    "rename one, or give another --folder"
                )
            if files.reused and path in files.written:
                continue
            if path.exists() and files.reused:
                raise OutputError(f"{path} is there already; remove it, and give the command again")
            if path.exists() and not overwrite:
                absent = [str(one) for one in files.written if not one.exists()]
                if files.videos and path in files.written and absent:
                    raise OutputError(
                        f"{path} is there already, and {', '.join(absent)} is not: write only that first, "
                        "without --mux and --burn, to use both as they are"
                    )
                raise OutputError(f"{path} is there already; move it away, or give --overwrite")
            check_writable(path)


def _others(settings: Settings, suffixes: Sequence[str]) -> list[str]:
    """The settings that name files independently of the recording."""
    output = replace(settings.output, **{suffix[1:]: None for suffix in suffixes})
    names = {
        "sinks" if one.name.startswith("sink-") else one.name.partition("-")[0] for one, _ in output.files()
    }
    return [f"output.{one}" for one in sorted(names | ({"summary"} if output.summary else set()))]


def _subtitle(
    files: _Files,
    settings: Settings,
    make_resources: MakeResources,
    *,
    quiet: bool,
    settings_file: Path | None,
) -> DamagedInputError | None:
    """Write the subtitles of a recording; return what was damaged in it, if it was used anyway."""
    complaint = None
    with TemporaryDirectory(prefix="surtitle-") as made:
        try:
            _caption(files, Path(made), settings, make_resources, quiet=quiet, settings_file=settings_file)
        except DamagedInputError as error:
            if not any((Path(made) / one.path.name).stat().st_size for one in files.tracks):
                raise
            complaint = error
        for path in files.written:
            write_atomically(path, (Path(made) / path.name).read_bytes())
    return complaint


def _write(
    files: _Files,
    settings: Settings,
    make_resources: MakeResources,
    *,
    quiet: bool,
    settings_file: Path | None,
) -> None:
    complaint = None
    if files.reused:
        for one in files.tracks:
            _check_subtitles(one.path)
        names = ", ".join(map(str, files.written))
        log_event("subtitles_reused", f"existing subtitles are used: {names}; --overwrite replaces them")
    else:
        complaint = _subtitle(files, settings, make_resources, quiet=quiet, settings_file=settings_file)
    unmade = None
    if files.chapters is not None and not write_chapters(Path(files.recording), files.chapters):
        unmade = files.chapters
        unmade.unlink(missing_ok=True)
    try:
        if files.videos:
            is_silent = quiet or settings.messages.format == "json"
            with ProgressLine(quiet=is_silent, captions=False) as line:
                _copy(files, line.doing)
    except InputError as error:
        raise error if complaint is None else InputError(f"{complaint}; {error}") from None
    if not quiet:
        made = ", ".join(str(one) for one in files.paths if one != unmade)
        print(printable(f"{shown(files.recording)}: {made}"))
        sys.stdout.flush()
    if complaint is not None:
        raise complaint


def _check_subtitles(path: Path) -> None:
    """Raises `InputError` for a file that is not SubRip, of which FFmpeg would copy nothing and succeed."""
    text = read_text(path, "the subtitles", _MAX_SUBTITLES, "give the subtitles of one recording")
    if text.strip() and " --> " not in text:
        raise InputError(f"{path} has no SubRip subtitles; save it as SubRip (.srt), or give --overwrite")


def _caption(
    files: _Files,
    folder: Path,
    settings: Settings,
    make_resources: MakeResources,
    *,
    quiet: bool,
    settings_file: Path | None,
) -> None:
    several = len(settings.translate.targets) > 1
    named = {
        base.suffix[1:]: tuple(_named(folder / base.name, files.texts, several=several))
        for base in files.bases
    }
    run = replace(
        settings,
        input=replace(settings.input, audio=files.recording),
        output=replace(settings.output, terminal=False, **named),
        # An interrupted recording is subtitled from its beginning.
        recovery=RecoverySettings(),
    )
    if not caption(
        run,
        quiet=quiet,
        settings_file=settings_file,
        sums_up=False,
        make_resources=make_resources,
    ):
        raise KeyboardInterrupt


def _copy(files: _Files, progress: Progress) -> None:
    tracks = [one for one in files.tracks if one.path.stat().st_size]
    if not tracks:
        raise InputError(
            f"{files.videos[0]} was not written, because there are no subtitles; check that somebody speaks"
        )
    recording, stop = Path(files.recording), Flag()
    made: list[tuple[Path, list[Subtitles], Subtitles | None]] = []
    if files.copy is not None:
        made.append((files.copy, tracks, None))
    made += [(video, [], track) for track, video in files.burnt if track in tracks]
    with interrupt_sets(stop):
        for video, shown_as_tracks, burnt in made:
            done = mux(recording, video, shown_as_tracks, burnt, stop=stop, progress=progress)
            if done is None:
                raise KeyboardInterrupt
            if done.left_out:
                names = ", ".join(done.left_out)
                log_event("tracks_left_out", f"{video} lacks tracks that its format does not allow ({names})")
            if done.damaged:
                log_event("packets_left_out", f"{video} lacks {done.damaged} damaged packets of {recording}")
