"""Voices that are known: their names and recordings are read, and what is wrong is said with its line."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from connectors.speakers import read_speakers
from operators.errors import InputError
from tests.recordings import write


def sound(seconds: float, rate: int, volume: float = 0.3) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return volume * np.sin(2 * np.pi * 300 * np.arange(round(seconds * rate)) / rate)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Recordings of several formats beside the names."""
    (tmp_path / "voices").mkdir()
    soundfile.write(tmp_path / "voices" / "anna.flac", sound(4.0, 44_100), 44_100)
    soundfile.write(tmp_path / "short.wav", np.concatenate([sound(2.0, 16_000), np.zeros(80_000)]), 16_000)
    write(tmp_path / "bela.mp4", (32_767 * sound(90.0, 16_000)).astype(np.int16), 16_000)
    return tmp_path


def test_names_have_sound_from_any_recording_beside_them(folder: Path) -> None:
    file = folder / "names.tsv"
    lines = f"\ufeffAnna  Müller\tvoices/anna.flac\tof Monday\r\n\r\n Béla\t {folder / 'bela.mp4'} \n"
    file.write_text(lines, "utf-8")
    (anna, hers), (bela, his) = read_speakers(file)
    assert (anna, bela) == ("Anna Müller", "Béla")
    assert (hers.dtype.name, his.dtype.name) == ("float32", "float32")
    assert len(hers) / 16_000 == pytest.approx(4.0, abs=0.05)
    assert len(his) / 16_000 == pytest.approx(60.0, abs=0.6), "a minute is enough"
    assert float(np.abs(hers).max()) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("\n \n", " has no names; write one on each line: the name, a tab, a recording"),
        (
            "Anna voices/anna.flac",
            ", line 1: write the name of a speaker, a tab, and a recording of some ten",
        ),
        ("\tvoices/anna.flac", ", line 1: write the name of a speaker"),
        ("Anna\t \n", ", line 1: write the name of a speaker"),
        ("\n12\tvoices/anna.flac", ", line 2: a number alone is no name, because"),
        ("A" * 51 + "\tvoices/anna.flac", ", line 1: this name has 51 characters; shorten it to 50"),
        (
            "Anna\tvoices/anna.flac\nBo\tvoices/anna.flac\nAnna\tx",
            ", line 3: Anna is there already, in line 1",
        ),
        ("Anna\tnone.wav", ", line 1: {folder}/none.wav: there is no such file; check its name"),
        ("Anna\tvoices", ", line 1: {folder}/voices: this is not a file"),
        ("Anna\tnames.tsv", ", line 1: {folder}/names.tsv: it cannot be decoded, because"),
        ("Anna\tshort.wav", ", line 1: {folder}/short.wav has 2.0 s of sound, and a voice needs 3 s"),
        (b"Anna\tvoices/anna.flac\nJos\xe9\tx", ", line 2: it is not UTF-8; save the file as UTF-8"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(folder: Path, lines: str | bytes, said: str) -> None:
    file = folder / "names.tsv"
    file.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    with pytest.raises(InputError) as error:
        read_speakers(file)
    assert str(error.value).startswith(f"{file}{said.replace('{folder}', str(folder))}")
