"""What a newcomer types wrongly is answered in one sentence that says what to type instead."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from flows.cli.app import main

SAMPLES = Path(__file__).parent.parent.parent / "samples"

#: What is typed after ``surtitle``, the exit code, and the answer: its beginning, or all of it without "…".
ANSWERS = [
    ("liev", 2, "there is no command liev; did you mean: surtitle live"),
    ("talk.wav", 2, "there is no command talk.wav; did you mean: surtitle file talk.wav"),
    ("talk.jsonl --to de", 2, "there is no command talk.jsonl; did you mean: surtitle replay talk.jsonl"),
    ("model trian", 2, "there is no command trian; did you mean: surtitle model train"),
    ("xyzzy", 2, "there is no command xyzzy; `surtitle --help` lists those that exist"),
    ("--to German live", 2, "no such option: --to; `surtitle --help` lists the commands, which come …"),
    ("live --mask_k 3", 2, "live: no such option: --mask_k (Possible options: --mask-k); `surtitle live …"),
    ("file talk.wav extra", 2, "file: got unexpected extra argument(s) (extra); `surtitle file --help` …"),
    ("replay", 2, "replay: missing argument …"),
    ("file", 2, "surtitle file needs AUDIO: a wav or flac file; write: surtitle file AUDIO"),
    ("file --to German", 2, "surtitle file needs AUDIO: a wav or flac file; write: surtitle file AUDIO"),
    ("live --to", 2, "live: option '--to' requires an argument; `surtitle live --help` shows what it takes"),
    ("live --web=yes", 2, "live: option '--web' does not take a value; `surtitle live --help` shows …"),
    ("live --bias high", 2, "live: invalid value for '--bias': Input should be a valid number, unable …"),
    ("live --threads 0", 2, "--threads: give a whole number of at least 1"),
    ("live --port 99999", 2, "--port: give a whole number of at most 65535"),
    ("live --method ssdb", 2, "--method: 'ssdb' is not one of its values; did you mean ssbd? choose from …"),
    (
        "live --recognizer wisper",
        2,
        "--recognizer: 'wisper' is not one of its values; did you mean whisper? …",
    ),
    (
        "replay talk.jsonl --to Germna",
        2,
        "--to: 'Germna' is not a language that surtitle knows; did you mean German?",
    ),
    ("replay talk.jsonl --to Klingon", 2, "--to: 'Klingon' is not a language that surtitle knows; choose …"),
    (
        "serve --to German,Klingon",
        2,
        "--to: 'Klingon' is not a language that surtitle knows; choose one of …",
    ),
    (
        "job language.toml",
        2,
        "language.toml: translate.to: 'Deutsh' is not a language that surtitle knows; …",
    ),
    ("job quotes.toml", 3, "quotes.toml: this is not valid TOML: Invalid value (at line 2, column 6); put …"),
    ("file talk.wav --from German", 2, "the default recogniser knows English only; choose --recognizer …"),
    ("serve --from French", 2, "the default recogniser knows English only; choose --recognizer …"),
    (
        "serve --recognizer whisper",
        2,
        "whisper comes without a model: name the folder of one with --speech-model",
    ),
    ("replay talk.jsonl --to English", 2, "speech and captions would both be English; choose another …"),
    ("replay talk.jsonl --recovery talk.wav", 3, "talk.wav is not a folder: give one for --recovery, or …"),
    ("replay talk.jsonl --model captoins", 2, "there is no model captoins; did you mean captions?"),
    (
        "replay talk.jsonl --model google/gemma-3-1b",
        2,
        "there is no model file google/gemma-3-1b: for one of the hub, write hub:google/gemma-3-1b:FILE.gguf",
    ),
    ("file tolk.wav", 3, "tolk.wav: there is no such file; did you mean talk.wav?"),
    ("file recordings/talk.wav", 3, "recordings/talk.wav: there is no folder recordings; check the path"),
    ("replay talk.jsnl", 3, "talk.jsnl cannot be read: there is no such file; did you mean talk.jsonl?"),
    ("job surtitel.toml", 3, "surtitel.toml: the settings file cannot be read: there is no such file; did …"),
    (
        "file talk.jsonl",
        2,
        "talk.jsonl: `surtitle file` takes sound; did you mean: surtitle replay talk.jsonl",
    ),
    (
        "replay talk.wav",
        2,
        "talk.wav: `surtitle replay` takes events (JSONL); did you mean: surtitle file talk.wav",
    ),
    ("serve --from German", 2, "the default recogniser knows English only; choose --recognizer whisper, …"),
    ("serve --recognizer whisper", 2, "whisper comes without a model: name the folder of one with …"),
    # Before it is said where captions are.
    ("replay talk.jsonl --from German --to English --web --port 0", 2, "there are no examples for German …"),
    ("serve --to German --to=Japanese", 2, "--to is given 2 times; give it once, and where it takes …"),
    ("live --threads 2 --threads 1 --port 0 --port 99999", 2, "--port: give a whole number of at most 65535"),
    ("file talk.wav --srt a --srt b", 2, "--srt is given 2 times; give it once, and where it takes …"),
    (
        "file https://host/talk.wav",
        3,
        "https:/host/talk.wav: surtitle reads files, not addresses; download …",
    ),
    ("file -", 3, "-: surtitle does not read standard input; save it as a file, and give that"),
    ("replay -", 3, "- cannot be read: surtitle does not read standard input; save it as a file, and …"),
    (
        "replay talk.jsonl --srt -",
        2,
        "output.srt would be a file called -; give /dev/stdout, or the name of …",
    ),
    (
        "report talk.jsonl --json -",
        3,
        "talk.jsonl holds partial events, which do not show what a viewer saw; …",
    ),
    (
        "job surtitle.toml",
        2,
        "surtitle.toml: there is no setting translate.langauge; did you mean translate.to?",
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a first day, as the working directory."""
    shutil.copy(SAMPLES / "partials.jsonl", tmp_path / "talk.jsonl")
    soundfile.write(tmp_path / "talk.wav", np.zeros(1600, np.int16), 16_000)
    (tmp_path / "surtitle.toml").write_text('[translate]\nlangauge = "de"\n')
    (tmp_path / "language.toml").write_text('[input]\npartials = "talk.jsonl"\n[translate]\nto = "Deutsh"\n')
    (tmp_path / "quotes.toml").write_text("[translate]\nto = German\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of a command line, in this process."""
    monkeypatch.setattr(sys, "argv", ["surtitle", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(str(end.value.code))


@pytest.mark.parametrize(("typed", "code", "answer"), ANSWERS, ids=[one[0] for one in ANSWERS])
@pytest.mark.usefixtures("folder")
def test_a_mistyped_command_line_is_answered_with_what_to_type(
    typed: str, code: int, answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *typed.split()) == code
    stdout, stderr = capsys.readouterr()
    assert (stdout, stderr.count("\n")) == ("", 1)
    beginning = f"surtitle: {answer}".removesuffix("…")
    assert stderr.startswith(beginning)
    assert answer.endswith("…") or stderr == f"{beginning}\n"


def test_without_a_command_the_first_ones_to_try_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    for command in ("surtitle file talk.wav", "surtitle live --to", "--web", "surtitle doctor", "--help"):
        assert any(command in line for line in lines)
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_help_groups_the_commands_with_the_first_ones_first(
    flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, flag) == 0
    shown = capsys.readouterr().out
    groups = ["Caption", "Run as a service", "Measure", "Make a model"]
    assert sorted(groups, key=lambda group: shown.index(f"─ {group} ─")) == groups
    commands = ["│ live ", "│ file ", "│ replay ", "│ doctor ", "│ serve ", "│ job ", "│ bench ", "│ model "]
    places = [shown.find(command) for command in commands]
    assert -1 not in places
    assert places == sorted(places)
