"""Subtitle files from end to end, through the command line and as a pipeline job."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import srt as srt_reader
import webvtt
from msgspec import UNSET
from msgspec.structs import replace

from connectors.jsonl.files import read_events
from operators.events import Caption, ErasureRecord, Partial, SegmentEvent, Translation
from tests.program import surtitle
from tests.subtitled import caption

CAPTIONS = Path(__file__).parent.parent / "samples" / "captions.jsonl"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the subtitles of the sample, and the captions as the same run saved them."""
    folder = tmp_path_factory.mktemp("subtitles")
    done = surtitle(
        "replay", CAPTIONS, "--quiet", "--srt", folder / "talk.srt", "--vtt", folder / "talk.vtt",
        "--captions", folder / "captions.jsonl",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_captions_become_subtitles_without_a_model(replayed: Path) -> None:
    text = (replayed / "talk.srt").read_text(encoding="utf-8")
    subtitles = list(srt_reader.parse(text, ignore_errors=False))
    assert subtitles[0].content == "Guten Morgen, meine Damen und Herren,\nund willkommen im Museum."
    assert subtitles[-1].content == "Fotos sind erlaubt,\naber nur wenn x ‹ 5 & ohne Blitz."
    assert all(earlier.end < later.start for earlier, later in pairwise(subtitles))
    assert all(len(line) <= 42 for one in subtitles for line in one.content.split("\n"))


def test_each_file_of_a_run_shows_the_content_that_its_setting_names(replayed: Path, tmp_path: Path) -> None:
    done = surtitle(
        "replay", CAPTIONS, "--quiet", "--set", "output.subtitles=both", "--vtt", tmp_path / "both.vtt",
        "--srt", f"target={tmp_path}/target.srt", "--srt", f"source={tmp_path}/source.srt",
        "--txt", f"source={tmp_path}/source.txt", "--txt", f"target,times={tmp_path}/talk.md",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ["Yes?", "Ja?"] in [cue.lines for cue in webvtt.read(str(tmp_path / "both.vtt")).captions]
    assert (tmp_path / "target.srt").read_bytes() == (replayed / "talk.srt").read_bytes()
    said = [one.content for one in srt_reader.parse((tmp_path / "source.srt").read_text())]
    assert "Yes?" in said
    assert "Ja?" not in said
    assert "Yes?" in (tmp_path / "source.txt").read_text().splitlines()
    assert (tmp_path / "talk.md").read_text().startswith("[00:00:00] Guten Morgen, meine Damen und Herren, ")


def test_two_speakers_are_distinguished_in_every_file(tmp_path: Path) -> None:
    hostile = "Ben <b> & \n\n--> \x1b[2J"
    said = [
        ("1", 0.0, 2.0, "Guten Morgen zusammen."),
        (hostile, 2.4, 4.0, "Ich habe eine Frage zu dem"),
        (hostile, 4.4, 6.0, "Bericht von gestern."),
        ("1", 6.5, 8.0, "Ja?"),
    ]
    given: dict[str, Any] = {"stream": "talk", "arrival_s": 9.0}
    partials = [
        Partial(
            segment=at, revision=0, is_final=True, start_s=start_s, end_s=end_s, text=text, speaker=who,
            **given,
        )
        for at, (who, start_s, end_s, text) in enumerate(said)
    ]  # fmt: skip
    # Who speaks may be known only after the first words.
    partials.insert(1, replace(partials[1], is_final=False, text="Ich", speaker=UNSET))
    partials[2] = replace(partials[2], revision=1)
    (tmp_path / "in.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(partials))
    kinds: dict[str, type[SegmentEvent]] = {
        "partials": Partial,
        "sentences": Partial,
        "translations": Translation,
        "captions": Caption,
    }
    events = {name: tmp_path / name for name in (*kinds, "log")}
    done = surtitle(
        "replay", tmp_path / "in.jsonl", "--from", "German", "--captions-only", "--quiet",
        *(part for name in ("srt", "vtt", "txt") for part in (f"--{name}", tmp_path / f"a.{name}")),
        "--txt", f"times={tmp_path / 'a.md'}",
        *(part for name, path in events.items() for part in ("--set", f"output.{name}={path}")),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    srt = srt_reader.parse((tmp_path / "a.srt").read_text(encoding="utf-8"), ignore_errors=False)
    assert [one.content.replace("\n", " ") for one in srt] == [
        "Guten Morgen zusammen.", "- Ich habe eine Frage zu dem Bericht von gestern.", "- Ja?"
    ]  # fmt: skip
    vtt = webvtt.read(str(tmp_path / "a.vtt")).captions
    assert [one.voice for one in vtt] == ["Sprecher 1", "Ben &lt;b&gt; &amp; --&gt;", "Sprecher 1"]
    assert not any("- " in one.text for one in vtt)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == (
        "Sprecher 1: Guten Morgen zusammen.\n"
        "Ben <b> & -->: Ich habe eine Frage zu dem Bericht von gestern.\n"
        "Sprecher 1: Ja?\n"
    )
    assert (tmp_path / "a.md").read_text(encoding="utf-8").split("\n\n")[1:3] == [
        r"[00:00:02] **Ben \<b\> \& --\>**: Ich habe eine Frage zu dem Bericht von gestern.",
        "[00:00:06] **Sprecher 1**: Ja?",
    ]
    for name, path in events.items():
        read = list(read_events(path, kinds.get(name, ErasureRecord)))
        assert [one.speaker for one in read if one.is_final and one.segment != 2] == ["1", hostile, "1"], name
    again = surtitle(
        "replay", events["captions"], "--from", "German", "--captions-only", "--quiet",
        "--srt", tmp_path / "b.srt",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "b.srt").read_bytes() == (tmp_path / "a.srt").read_bytes()


def test_a_name_is_in_the_language_of_its_line(tmp_path: Path) -> None:
    said = [
        caption(text, at, at + 1, source="Yes.", language=code, speaker="1")
        for at, (code, text) in enumerate([("de", "Ja."), ("he", "כן.")])
    ]
    (tmp_path / "in.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(said))
    done = surtitle(
        "replay", tmp_path / "in.jsonl", "--from", "English", "--to", "German,Hebrew", "--quiet",
        "--txt", tmp_path / "a.txt", "--txt", f"both={tmp_path / 'b.txt'}",
        "--vtt", f"source={tmp_path / 'a.vtt'}", "--vtt", tmp_path / "b.vtt",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    read = [(tmp_path / name).read_text(encoding="utf-8") for name in ("a.de.txt", "a.he.txt", "b.he.txt")]
    assert read == ["Sprecher 1: Ja.\n", "דובר 1: כן.\n", "Speaker 1: Yes.\nכן.\n\n"]
    voices = [webvtt.read(str(tmp_path / name)).captions[0].voice for name in ("a.vtt", "b.he.vtt")]
    assert voices == ["Speaker 1", "דובר 1"]


def test_replaced_words_are_in_no_file_that_captions_are_written_to(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("museum\tZoo\nPhotographs\nFotos\n")
    written = {name: tmp_path / f"a.{name}" for name in ("srt", "vtt", "txt", "captions", "log")}
    done = surtitle(
        "replay", CAPTIONS, "--set", f"display.replace={tmp_path / 'words.tsv'}",
        "--set", "output.subtitles=both",
        *(part for name, path in written.items() for part in ("--set", f"output.{name}={path}")),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    texts = [done.stdout, *(path.read_text() for name, path in written.items() if name != "log")]
    assert all("Zoo" in text for text in texts)
    assert all("*****" in text for text in texts[1:])
    assert not any(re.search("useum|otos", text) for text in [*texts, written["log"].read_text()])


def test_japanese_has_shorter_lines(tmp_path: Path) -> None:
    captions = tmp_path / "captions.jsonl"
    text = "今日は天気がとてもいいですね。明日も晴れるといいのですが、雨が降るそうです。"
    captions.write_bytes(msgspec.json.encode(caption(text, 0, 8)))
    done = surtitle("replay", captions, "--to", "Japanese", "--quiet", "--vtt", tmp_path / "a.vtt")
    assert done.returncode == 0, done.stderr
    lines = [line for cue in webvtt.read(str(tmp_path / "a.vtt")).captions for line in cue.lines]
    assert "".join(lines) == text
    assert all(len(line) <= 15 for line in lines)


def test_a_recording_that_nobody_watches_is_translated_by_whole_sentences(
    speech: Path, small: list[str], tmp_path: Path
) -> None:
    fast, old = tmp_path / "fast", tmp_path / "old"
    for folder, options in ((fast, ()), (old, ("--set", "translate.keep_up=false"))):
        folder.mkdir()
        done = surtitle(
            "file", speech, *small, *options, "--quiet", "--set", "output.subtitles=source",
            "--captions", folder / "captions.jsonl", "--srt", folder / "talk.srt",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    said, grown = (
        [msgspec.json.decode(line, type=Caption) for line in path.read_bytes().splitlines()]
        for path in (fast / "captions.jsonl", old / "captions.jsonl")
    )
    assert all(one.is_final for one in said)
    assert [one.source for one in said] == [one.source for one in grown if one.is_final] != []
    assert len(grown) > len(said)
    fast_cues, old_cues = (
        [(cue.content, cue.start) for cue in srt_reader.parse((folder / "talk.srt").read_text())]
        for folder in (fast, old)
    )
    # Sentences begin at the same times; the parts of a long one as the pauses in it tell.
    assert fast_cues[0] == old_cues[0]
    assert [text for text, _ in fast_cues] == [text for text, _ in old_cues]
