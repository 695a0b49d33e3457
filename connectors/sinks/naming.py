"""Names of files that a run writes, from those of recordings and the languages of their text."""

from pathlib import Path

from connectors.audio.recording import is_file, stream_of


def beside(recording: str, suffix: str, folder: Path | None = None) -> Path:
    """A file beside a recording, or in a folder; of an address or standard input, in the present folder.

    >>> str(beside("talks/monday.mp4", ".srt")), str(beside("https://example.org/a.mp4", ".txt"))
    ('talks/monday.srt', 'a.txt')
    """
    own = Path(recording).parent if is_file(recording) else Path()
    return (own if folder is None else folder) / f"{stream_of(recording)}{suffix}"


def in_language(path: Path, code: str) -> Path:
    """The file for one of several languages, by its ISO 639 code.

    >>> str(in_language(Path("talks/monday.srt"), "de"))
    'talks/monday.de.srt'
    """
    return path.with_name(f"{path.stem}.{code}{path.suffix}")
