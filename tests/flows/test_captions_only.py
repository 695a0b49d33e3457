"""Captions in the language that is spoken, from end to end: nothing is translated, and no model is loaded."""

import re
from pathlib import Path
from typing import Any

import pytest
import srt

from flows.settings.loading import load_settings
from operators.errors import UsageError
from tests.flows.talk import read
from tests.flows.test_serve import finals, serve, speak_at_once
from tests.killing import speech
from tests.program import surtitle

#: It would be missed if it was looked for.
NO_MODEL = ("--model", "none.gguf")


@pytest.fixture(scope="module")
def run(speech: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that a run of a recording writes."""
    folder = tmp_path_factory.mktemp("captions")
    # Names in it are heard better, so it is no mistake here.
    (folder / "terms.tsv").write_text("Xylander\tXylander\n")
    done = surtitle(
        "file", speech, "--captions-only", *NO_MODEL, "--glossary", folder / "terms.tsv",
        "--srt", folder / "talk.srt", "--set", "output.subtitles=both",
        "--set", f"output.log={folder / 'log.jsonl'}", "--captions", folder / "captions.jsonl",
        "--set", f"output.partials={folder / 'partials.jsonl'}",
        "--set", f"output.sentences={folder / 'sentences.jsonl'}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "surtitle: translate.model: no effect, because nothing is translated (captions_only)\n"
    )
    (folder / "stdout").write_text(done.stdout)
    return folder


def test_every_sink_shows_the_transcript(run: Path) -> None:
    captions = read(run / "captions.jsonl")
    shown = [one["shown"] for one in captions if one["is_final"]]
    assert "tried" in " ".join(shown).lower()
    assert shown == [one["source"] for one in captions if one["is_final"]]
    assert shown == [one["text"] for one in read(run / "sentences.jsonl") if one["is_final"]]
    assert (run / "stdout").read_text().splitlines()[: len(shown)] == shown
    # Once, although both languages were asked for.
    subtitles = " ".join(one.content for one in srt.parse((run / "talk.srt").read_text()))
    assert subtitles.split() == " ".join(shown).split()
    assert len(read(run / "log.jsonl")) == len(captions)


def test_the_last_word_of_unfinished_captions_is_withheld_until_its_segment_ends(run: Path) -> None:
    unfinished = [one for one in read(run / "captions.jsonl") if not one["is_final"] and one["source"]]
    stable = {
        (one["segment"], one["revision"]) for one in read(run / "sentences.jsonl") if one.get("is_stable")
    }
    assert stable
    for one in unfinished:
        words = one["source"].rstrip(".").split()
        assert one["mask_k"] == 1
        assert one["shown"].split() == (words if (one["segment"], one["revision"]) in stable else words[:-1])


def test_a_language_for_the_captions_that_is_spoken_means_the_same(run: Path, tmp_path: Path) -> None:
    done = surtitle(
        "replay", run / "partials.jsonl", "--to", "en", *NO_MODEL, "--captions", tmp_path / "again.jsonl"
    )
    assert (done.returncode, done.stderr) == (0, "")
    again, before = (
        [(one["segment"], one["revision"], one["shown"]) for one in read(path)]
        for path in (tmp_path / "again.jsonl", run / "captions.jsonl")
    )
    assert again == before


def test_captions_of_finals_alone_can_be_requested(tmp_path: Path) -> None:
    # Far more of them than a replay reads ahead of what got to the log.
    speech(tmp_path / "speech.jsonl", 400)
    done = surtitle(
        "replay", tmp_path / "speech.jsonl", "--captions-only", "--quiet",
        "--set", "translate.finals_only=true", "--captions", tmp_path / "captions.jsonl",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    captions = read(tmp_path / "captions.jsonl")
    assert len(captions) > 50
    assert all(one["is_final"] for one in captions)


def words(captions: list[dict[str, Any]]) -> list[str]:
    return re.findall(r"\w+", " ".join(one["source"] for one in captions).lower())


def test_a_room_may_be_captioned_in_the_language_that_its_speaker_speaks(
    speech: Path, small: list[str], tmp_path: Path
) -> None:
    written = tmp_path / "captions.jsonl"
    rooms: dict[str, list[dict[str, Any]]] = {"English": [], "German": []}
    with serve(
        "--to", "English,German", "--set", "translate.rooms=2", "--captions", written, *small[:2]
    ) as server:
        speak_at_once(server.port, speech, rooms)
        assert server.interrupt()[0] == 0
    english, german = (finals(written, to) for to in rooms)
    assert [one["shown"] for one in english] == [one["source"] for one in english]
    # Where a sentence ends also depends on when its words arrive.
    assert words(german) == words(english)
    assert not any(one["shown"] == one["source"] for one in german)
    (opened,) = (one for one in rooms["English"] if one["type"] == "opened")
    assert (opened["language"]["source"], opened["language"]["target"]) == ("en", "en")
    # Readers get the text once.
    assert not any(one["source_append"] for one in rooms["English"] if one["type"] == "update")
    assert any(one["source_append"] for one in rooms["German"] if one["type"] == "update")


def test_settings_that_name_a_language_for_untranslated_captions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "surtitle.toml"
    path.write_text('[translate]\nto = "French"\ncaptions_only = true\n')
    with pytest.raises(UsageError, match=r"captions_only is for captions in the spoken language; leave to"):
        load_settings(path)
    # What is typed wins.
    path.write_text("[translate]\ncaptions_only = true\n")
    assert load_settings(path, {"translate": {"to": "French"}}).translate.direction.translates
    path.write_text('[translate]\nto = "French"\n')
    assert not load_settings(path, {"translate": {"captions_only": True}}).translate.direction.translates
