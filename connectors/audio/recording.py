"""Names of recordings: a file, standard input (``-``) or an address (``https://…``)."""

from pathlib import Path

from operators import addresses
from operators.addresses import is_address, parts_of

STANDARD_INPUT = "-"


def is_file(recording: str) -> bool:
    return recording != STANDARD_INPUT and not is_address(recording)


def stream_of(recording: str) -> str:
    """The name of its stream: the name of the file without its suffix.

    >>> stream_of("talks/monday.mp4"), stream_of("https://example.org/talks/monday.mp4?key=1"), stream_of("-")
    ('monday', 'monday', 'stdin')
    """
    if recording == STANDARD_INPUT:
        return "stdin"
    if is_address(recording):
        parts = parts_of(recording)
        return (parts and (Path(parts.path).stem or parts.hostname)) or "address"
    return Path(recording).stem


def live_stream(source: str) -> str:
    """The name of the stream of a microphone, or of a broadcast.

    >>> live_stream("USB"), live_stream("https://example.org/radio/live.m3u8")
    ('microphone', 'live')
    """
    return stream_of(source) if is_address(source) else "microphone"


def shown(recording: str) -> str:
    """The name in messages."""
    return "standard input" if recording == STANDARD_INPUT else addresses.shown(recording)
