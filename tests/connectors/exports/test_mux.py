"""A recording is written again with subtitles, as tracks or in its pictures; all else stays as it was."""

from fractions import Fraction
from pathlib import Path
from threading import Event, Timer
from typing import Any

import av
import numpy as np
import pytest
import webvtt
from av.stream import Disposition

from connectors.exports.mux import MuxReport, Subtitles, mux, suffix_for, write_chapters
from operators.errors import InputError
from operators.languages import language
from tests.recordings import write

CHAPTERS = [("Introduction", 0, 3000), ("Q & A", 3000, 8000)]


def video(path: Path, rotation: int = 0) -> Path:
    """Eight seconds of pictures and sound in two chapters, seen turned so many degrees against the clock."""
    with av.open(str(path), "w") as made:
        pictures: Any = made.add_stream("mpeg4", rate=10)
        pictures.width = pictures.height = 128
        pictures.pix_fmt = "yuv420p"
        if rotation:
            pictures.set_display_rotation(rotation)
        sound: Any = made.add_stream("aac", rate=48_000)
        base = Fraction(1, 1000)
        made.set_chapters([
            {"id": number, "start": start, "end": end, "time_base": base, "metadata": {"title": title}}
            for number, (title, start, end) in enumerate(CHAPTERS)
        ])  # fmt: skip
        for at in range(80):
            picture = av.VideoFrame.from_ndarray(np.full((128, 128, 3), at, np.uint8), format="rgb24")
            picture.pts, picture.time_base = at, Fraction(1, 10)
            made.mux(pictures.encode(picture))
            tone = np.sin(np.arange(4800, dtype=np.float32) / 20)[None, :]
            frame = av.AudioFrame.from_ndarray(tone, format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 48_000, 4800 * at
            made.mux(sound.encode(frame))
        made.mux([*pictures.encode(None), *sound.encode(None)])
    return path


def subtitles(folder: Path, name: str, text: str) -> Subtitles:
    path = folder / f"{name}.srt"
    cues = f"1\n00:00:01,000 --> 00:00:02,500\n{text}\nx\n\n2\n00:00:06,000 --> 00:00:07,000\nend\n\n"
    path.write_text(cues)
    return Subtitles(path, language(name))


def packets(path: Path, kind: str) -> list[tuple[bytes, float]]:
    with av.open(str(path)) as opened:
        found = opened.demux([one for one in opened.streams if one.type == kind])
        return [(bytes(one), float((one.pts or 0) * one.time_base)) for one in found if one.size]


def chapters(opened: Any) -> list[tuple[str, int, int]]:
    """The title, the begin and the end in milliseconds of each chapter."""
    told = [(one["metadata"]["title"], 1000 * one["time_base"], one) for one in opened.chapters()]
    return [(title, int(ms * one["start"]), int(ms * one["end"])) for title, ms, one in told]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_player_can_choose_each_language_and_the_rest_is_copied(tmp_path: Path, suffix: str) -> None:
    talk, copy = video(tmp_path / "talk.mp4"), tmp_path / f"copy{suffix}"
    names = ("German", "Chinese", "Cebuano")
    done = mux(talk, copy, [subtitles(tmp_path, name, f"„{name}“") for name in names])
    assert done is not None
    assert (done.left_out, done.damaged) == ((), 0)

    with av.open(str(copy)) as opened:
        tracks = [one for one in opened.streams if one.type == "subtitle"]
        assert [one.metadata["language"] for one in tracks] == ["deu", "zho", "ceb"]
        told = [one.metadata.get("title") or one.metadata["name"] for one in tracks]
        assert told == ["Deutsch", "中文", "Cebuano"]
        assert [title for title, *_ in chapters(opened)] == [title for title, *_ in CHAPTERS]
    texts = [(text.lstrip(b"\0"), at) for text, at in packets(copy, "subtitle")]
    for name in names:
        said = f"„{name}“\nx".encode()
        # mov_text has the size before the text; Matroska's times begin with the first sample of sound.
        (at,) = [at for text, at in texts if text.endswith(said)]
        assert at == pytest.approx(1.0, abs=0.03)
    for kind in ("video", "audio"):
        copied, copied_at = zip(*packets(copy, kind), strict=True)
        given, given_at = zip(*packets(talk, kind), strict=True)
        assert copied == given
        assert copied_at == pytest.approx(given_at, abs=0.03)


def test_chapters_are_cues_from_the_first_to_the_last_moment_of_each(tmp_path: Path) -> None:
    talk, made = video(tmp_path / "talk.mp4"), tmp_path / "talk.chapters.vtt"
    assert write_chapters(talk, made)
    cues = [(one.start, one.end, one.text) for one in webvtt.read(str(made)).captions]
    assert cues == [
        ("00:00:00.000", "00:00:03.000", "Introduction"), ("00:00:03.000", "00:00:08.000", "Q &amp; A")
    ]  # fmt: skip
    assert not write_chapters(write(tmp_path / "bare.mkv", np.zeros(4800, "i2")), tmp_path / "bare.vtt")
    assert not (tmp_path / "bare.vtt").exists()


@pytest.mark.parametrize("rotation", [0, 90, -90, 180])
def test_burnt_subtitles_are_seen_at_the_bottom_while_they_last_and_the_sound_is_copied(
    tmp_path: Path, rotation: int
) -> None:
    talk, copy = video(tmp_path / "talk.mp4", rotation), tmp_path / "burnt.mp4"
    done = mux(talk, copy, burnt=subtitles(tmp_path, "German", "„Ja“"))
    assert done == MuxReport(left_out=(), damaged=0)

    assert packets(copy, "audio") == packets(talk, "audio")
    with av.open(str(talk)) as before, av.open(str(copy)) as after:
        assert [chapters(one) for one in (before, after)] == [CHAPTERS] * 2
        for old, new in zip(before.decode(video=0), after.decode(video=0), strict=True):
            assert new.time == old.time
            # As a player shows them, which turns what a camera noted.
            grey = (np.rot90(one.to_ndarray(format="gray"), one.rotation // 90) for one in (old, new))
            upright = abs(np.subtract(*grey, dtype=int))
            assert upright[:64].max() < 8
            is_shown = 1.0 <= new.time < 2.5 or 6.0 <= new.time < 7.0
            assert (upright[64:].max() > 60) == is_shown


def test_letters_that_no_font_here_has_are_refused(tmp_path: Path) -> None:
    german = subtitles(tmp_path, "German", "Hallo \U0010fff0")
    with pytest.raises(InputError, match=r"no font here has .*10fff0"):
        mux(video(tmp_path / "talk.mp4"), tmp_path / "copy.mp4", burnt=german)


@pytest.mark.parametrize("reason", ["its index is cut off", "neither sound nor pictures"])
def test_what_cannot_be_copied_leaves_nothing(tmp_path: Path, reason: str) -> None:
    talk, copy = tmp_path / "talk.mp4", tmp_path / "copy.mp4"
    german = subtitles(tmp_path, "German", "Hallo")
    half = video(talk).read_bytes()[: talk.stat().st_size // 2]
    talk.write_bytes(half if "index" in reason else german.path.read_bytes())
    with pytest.raises(InputError, match=reason):
        mux(talk, copy, [german])
    assert {one.name for one in tmp_path.iterdir()} == {"talk.mp4", "German.srt"}


def test_an_interrupted_copy_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    # An hour, which takes longer to copy than it takes to interrupt.
    talk = write(tmp_path / "talk.mkv", np.zeros(480_000, "i2"), repeat=360)
    copy = tmp_path / "copy.mkv"
    copy.write_text("old")
    stop = Event()
    Timer(0.3, stop.set).start()
    assert mux(talk, copy, [subtitles(tmp_path, "German", "Hallo")], stop=stop) is None
    assert copy.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_copy_is_in_a_container_that_takes_what_there_is() -> None:
    kinds = [suffix_for(Path(f"talk.{one}")) for one in ("MP4", "mov", "m4a", "webm", "wav")]
    assert kinds == [".mp4", ".mp4", ".mp4", ".mkv", ".mkv"]


FONT, COVER = (
    b"letters of a font" * 9,
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a73"
        "0000000e49444154789c63f80f060ce80cb1003df00f0ff1a7a8720000000049454e44ae426082"
    ),
)


def film(path: Path) -> Path:
    """A video whose tracks have names: two of sound, the second the default, and forced subtitles.

    It has a title, a font and a cover.
    """
    with av.open(str(path), "w") as made:
        pictures: Any = made.add_stream("mpeg4", rate=10)
        pictures.width = pictures.height = 64
        pictures.pix_fmt = "yuv420p"
        sounds: list[Any] = [made.add_stream("aac", rate=48_000) for _ in range(2)]
        signs: Any = made.add_mux_stream("subrip", time_base=Fraction(1, 1000))
        made.metadata["title"] = "The film"
        flags = (Disposition.default, Disposition(0), Disposition.default, Disposition.forced)
        names = (("und", "Camera 1"), ("fre", "Doublage"), ("eng", "Original"), ("eng", "Signs"))
        for stream, flag, (code, name) in zip((pictures, *sounds, signs), flags, names, strict=True):
            stream.disposition = flag
            stream.metadata.update({"language": code, "title": name})
        made.add_attachment("sans.ttf", "font/ttf", FONT)
        made.add_attachment("cover.png", "image/png", COVER)
        picture = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
        for at in range(10):
            picture.pts, picture.time_base = at, Fraction(1, 10)
            made.mux(pictures.encode(picture))
        for sound in sounds:
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 48_000), "f4"), format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 48_000, 0
            made.mux(sound.encode(frame))
        sign = av.Packet(b"Exit")
        sign.pts = sign.dts = 500
        sign.duration, sign.time_base, sign.stream = 400, Fraction(1, 1000), signs
        made.mux_one(sign)
        made.mux([packet for one in (pictures, *sounds) for packet in one.encode(None)])
    return path


def tracks(path: Path) -> list[tuple[str, int, str, str]]:
    """What a player's menu is made of: the kind of each track, its flags, its language and its name."""
    with av.open(str(path)) as opened:
        told = [(one.type, int(one.disposition), one.metadata) for one in opened.streams]
    return sorted(
        (kind, flags, about.get("language", "und"), str(about.get("title") or about.get("name")))
        for kind, flags, about in told
    )


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_names_languages_flags_and_the_cover_are_copied_and_fonts_where_they_are_taken(
    tmp_path: Path, suffix: str
) -> None:
    talk, copy = film(tmp_path / "film.mkv"), tmp_path / f"copy{suffix}"
    german = subtitles(tmp_path, "German", "Hallo")
    done = mux(talk, copy, [german])
    left_out, gone = ((), ()) if suffix == ".mkv" else (("sans.ttf",), ("attachment", "subtitle"))
    assert done == MuxReport(left_out=left_out, damaged=0)
    kept = [one for one in tracks(copy) if one[0] not in gone and one[3] != "Deutsch"]
    assert kept == [one for one in tracks(talk) if one[0] not in gone]
    assert (FONT in copy.read_bytes()) == (suffix == ".mkv")
    # MP4 takes the cover back and forth.
    assert mux(copy, tmp_path / "again.mkv", [german]) is not None
    for one in (copy, tmp_path / "again.mkv"):
        assert COVER in one.read_bytes()
        with av.open(str(one)) as opened:
            assert opened.metadata["title"] == "The film"


def test_tracks_of_mp4_keep_their_names_and_flags_also_where_pictures_are_made_anew(tmp_path: Path) -> None:
    german, french = (subtitles(tmp_path, name, "Text") for name in ("German", "French"))
    talk = tmp_path / "talk.mp4"
    assert mux(film(tmp_path / "film.mkv"), talk, [german]) is not None
    for suffix in (".mp4", ".mkv"):
        muxed, burnt = tmp_path / f"muxed{suffix}", tmp_path / f"burnt{suffix}"
        assert mux(talk, muxed, [french]) is not None
        assert mux(talk, burnt, burnt=german) is not None
        kept = [one for one in tracks(talk) if suffix == ".mp4" or one[0] != "subtitle"]
        for copy in (muxed, burnt):
            assert [one for one in tracks(copy) if one in kept] == kept
