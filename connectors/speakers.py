"""Reads the voices that are known before a run: a name, a tab and a recording of this speaker."""

from pathlib import Path

import numpy as np

from connectors.audio.decoder import open_audio
from connectors.files.contents import read_text
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.sound import peak_dbfs
from operators.speakers import checked_name
from operators.voices.protocol import Samples

#: Minimum seconds of sound of a voice, and the maximum that is read.
MIN_VOICE_S, MAX_VOICE_S = 3.0, 60.0
#: Peak level in dBFS below which a block of sound counts as silent.
_SILENCE_DBFS = -50.0
_BYTES_PER_SECOND = 2 * SAMPLE_RATE
_MAX_BYTES = 1_000_000


def read_speakers(path: Path) -> list[tuple[str, Samples]]:
    """The names in a file and the sound of their recordings, which are named from the file's folder.

    Raises:
        InputError: for a file or a recording that cannot be read, a line without a name or a recording, a
            name that is too long, a number or given twice, and less than `MIN_VOICE_S` of sound.
        UsageError: for a recording that needs FFmpeg where it is missing.
    """
    lines: dict[str, int] = {}
    voices: list[tuple[str, Samples]] = []
    content = read_text(path, "the names of speakers", _MAX_BYTES, "keep those who speak here")
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        name, recording = _split(line, where)
        if (first := lines.setdefault(name, number)) != number:
            raise InputError(f"{where}: {name} is there already, in line {first}; keep one of them")
        voices.append((name, _heard(path.parent / recording, where)))
    if not voices:
        raise InputError(f"{path} has no names; write one on each line: the name, a tab, a recording")
    return voices


def _split(line: str, where: str) -> tuple[str, str]:
    given, recording, *_notes = [*line.split("\t"), ""]
    name, recording = given.strip(), recording.strip()
    if not name or not recording:
        raise InputError(f"{where}: write the name of a speaker, a tab, and a recording of some ten seconds")
    try:
        return checked_name(name), recording
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None


def _heard(recording: Path, where: str) -> Samples:
    """The beginning of the sound in a recording, without silent blocks."""
    pcm = bytearray()
    try:
        decoder = open_audio(recording)
        try:
            for block in decoder.blocks():
                if peak_dbfs(block) > _SILENCE_DBFS:
                    pcm += block
                if len(pcm) >= MAX_VOICE_S * _BYTES_PER_SECOND:
                    break
        finally:
            decoder.close()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    heard_s = len(pcm) / _BYTES_PER_SECOND
    if heard_s < MIN_VOICE_S:
        raise InputError(
            f"{where}: {recording} has {heard_s:.1f} s of sound, and a voice needs {MIN_VOICE_S:g} s; record "
            "some ten seconds"
        )
    return np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32_768)
