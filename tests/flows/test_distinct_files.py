"""No command writes what it reads, or one file twice, by whatever link: it is refused before it begins."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from flows.cli import app as cli
from operators.errors import SurtitleError
from tests.tiny_gguf import pieces, write_model

Link = Callable[[Path, Path], None]
LINKS: tuple[Link, ...] = (Path.symlink_to, Path.hardlink_to)
#: Of each command: arguments, one of which is read, and another that is written into the same file.
READ = [
    "report READ --json WRITTEN",
    "report events --output o.html --reference READ --json WRITTEN",
    "trace READ --json WRITTEN",
    "trace events --model READ --json WRITTEN",
    "trace events --settings READ --json WRITTEN",
    "bench READ --json WRITTEN",
    "bench text --model READ --markdown WRITTEN",
    "bench text --vary draft_model=none,READ --json WRITTEN",
    "bench text --set translate.template=READ.toml --json WRITTEN",
    "bench text --vary glossary=READ --json WRITTEN",
    "trace events --glossary READ --json WRITTEN",
    "replay events --glossary READ --captions WRITTEN",
    "replay READ --srt WRITTEN",
    "replay events --model READ --set output.log=WRITTEN",
    "replay events --set translate.draft_model=READ --set output.summary=WRITTEN",
    "replay events --set translate.template=READ.toml --set output.translations=WRITTEN",
    "file a.wav --speech-model READ/model.ort --set output.audio=WRITTEN",
    "loadgen events --glossary READ --json WRITTEN",
    "loadgen a.wav --speech-model READ/model.ort --json WRITTEN",
    "trace events --set translate.heads=READ --json WRITTEN",
    "bench --task drafts text --set translate.draft_model=m --model READ --json WRITTEN",
    "loadgen READ --json WRITTEN",
    "bench --task speech READ --json WRITTEN",
    "bench --task speech a.wav --reference READ --json WRITTEN",
    "model assemble --base READ --adapter a --output WRITTEN",
    "model assemble --base model.gguf --adapter READ --output WRITTEN",
]
#: And two that are both written.
WRITTEN = [
    "report events --json READ --output WRITTEN",
    "report events --json READ --simulstream WRITTEN",
    "bench text --json READ --markdown WRITTEN",
    "replay events --recovery READ --captions WRITTEN",
    "replay events --captions READ --srt WRITTEN",
    "replay events --set input.skip_bad=true --set output.log=events.rejected",
    "replay events --set output.log=READ --set output.summary=WRITTEN",
]
EVENTS = Path(__file__).parents[1] / "samples"


def ask(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    is_of_text = command.startswith(("bench", "loadgen", "trace")) and "--task speech" not in command
    spoken = ["--to", "German"] if is_of_text else []
    with pytest.raises(SurtitleError) as refused:
        cli.app([*command.split(), *spoken], standalone_mode=False)
    return str(refused.value)


def prepare(folder: Path, command: str) -> None:
    kind = "captions" if command.startswith("report") else "partials"
    events = (EVENTS / f"{kind}.jsonl").read_bytes()
    (folder / "events").write_bytes(events)
    (folder / "text").write_text("Good morning.\n")
    model = write_model(folder / "model.gguf", pieces({}))
    one = b"[display]\n" if "--settings" in command else events
    one = model.read_bytes() if "--base READ" in command else one
    (folder / "one").write_bytes(one)


@pytest.mark.parametrize(("command", "link"), list(zip(READ, cycle(LINKS))))
def test_an_input_file_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, link: Link
) -> None:
    prepare(tmp_path, command)
    before = (tmp_path / "one").read_bytes()
    link(tmp_path / "other", tmp_path / "one")
    if "READ/" in command:
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "model.ort").hardlink_to(tmp_path / "one")
        command = command.replace("READ/model.ort", "folder")
    if "READ.toml" in command:
        (tmp_path / "one.toml").hardlink_to(tmp_path / "one")
    command = command.replace("READ", "one").replace("WRITTEN", "other")
    assert "cannot be written: the same run reads it" in ask(tmp_path, command, monkeypatch)
    assert (tmp_path / "one").read_bytes() == before


@pytest.mark.parametrize(("command", "link"), list(zip(WRITTEN, cycle(LINKS))))
def test_no_file_is_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, link: Link
) -> None:
    prepare(tmp_path, command)
    if "--recovery" in command:
        # A folder has no hard links, and is not there yet.
        (tmp_path / "one").unlink()
        (tmp_path / "other").symlink_to("one")
    else:
        (tmp_path / "one").write_text("kept")
        link(tmp_path / "other", tmp_path / "one")
    command = command.replace("READ", "one").replace("WRITTEN", "other")
    assert "give each its own file" in ask(tmp_path, command, monkeypatch)
    assert (tmp_path / "one").exists() == ("--recovery" not in command)
    if "--recovery" not in command:
        assert (tmp_path / "one").read_text() == "kept"


#: Of each command: a file that it reads and whose name is longer than any system allows.
TOO_LONG = [
    "replay LONG",
    "replay events --glossary LONG",
    "replay events --set translate.template=LONG.toml",
    "replay events --model LONG",
    "replay events --recovery LONG",
    "file LONG.wav",
    "trace events --set translate.heads=LONG --set translate.method=heads",
    "bench --task speech a.wav --reference LONG",
    "loadgen LONG",
    "model assemble --base model.gguf --adapter LONG --output o",
]


@pytest.mark.parametrize("command", TOO_LONG)
def test_a_name_that_the_system_refuses_is_answered_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    prepare(tmp_path, command)
    assert "File name too long" in ask(tmp_path, command.replace("LONG", "n" * 300), monkeypatch)
