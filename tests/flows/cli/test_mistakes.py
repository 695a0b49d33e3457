"""What a newcomer types wrongly is answered in one sentence that says what to type instead."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from flows.cli.app import main
from flows.cli.mistakes import Command, no_such_command, no_such_option

SAMPLES = Path(__file__).parent.parent.parent / "samples"

#: What is typed after ``surtitle``, the exit code, and the answer: its beginning, or all of it without "…".
ANSWERS = [
    ("mic", 2, "there is no command mic; did you mean: surtitle live"),
    ("mic --to German", 2, "there is no command mic; did you mean: surtitle live --to German"),
    ("listen", 2, "there is no command listen; did you mean: surtitle live"),
    ("liev", 2, "there is no command liev; did you mean: surtitle live"),
    ("LIVE", 2, "there is no command LIVE; did you mean: surtitle live"),
    ("web", 2, "there is no command web; did you mean: surtitle live --web"),
    ("transcribe talk.wav", 2, "there is no command transcribe; did you mean: surtitle file talk.wav"),
    ("talk.wav", 2, "talk.wav is not a command; did you mean: surtitle file talk.wav"),
    ("talk.mp3", 2, "talk.mp3 is not a command; did you mean: surtitle file talk.mp3"),
    (
        "talk.jsonl --to de",
        2,
        "talk.jsonl is not a command; did you mean: surtitle replay talk.jsonl --to de",
    ),
    ("surtitle.toml", 2, "surtitle.toml is not a command; did you mean: surtitle job surtitle.toml"),
    ("serve-rooms", 2, "there is no command serve-rooms; did you mean: surtitle serve"),
    ("benchmark talk.jsonl", 2, "there is no command benchmark; did you mean: surtitle bench talk.jsonl"),
    ("microphones", 2, "there is no command microphones; did you mean: surtitle devices"),
    ("check", 2, "there is no command check; did you mean: surtitle doctor"),
    ("help", 2, "there is no command help; did you mean: surtitle --help"),
    ("train", 2, "there is no command train; did you mean: surtitle model train"),
    ("model trian", 2, "there is no command trian; did you mean: surtitle model train"),
    (
        "xyzzy",
        2,
        "there is no command xyzzy; `surtitle --help` lists those that exist: live, file, …",
    ),
    ("--to German live", 2, "--to belongs after a command; write for example: surtitle live --to …"),
    ("-to German live", 2, "--to belongs after a command; write for example: surtitle live --to …"),
    ("live --lang German", 2, "surtitle live has no option --lang; did you mean --to?"),
    ("live --langauge=de", 2, "surtitle live has no option --langauge; did you mean --to?"),
    ("live --target German", 2, "surtitle live has no option --target; did you mean --to?"),
    ("live -to German", 2, "surtitle live has no option -to; did you mean --to?"),
    ("live --source en", 2, "surtitle live has no option --source; did you mean --from?"),
    ("live --mic 3", 2, "surtitle live has no option --mic; did you mean --device?"),
    ("live --mask_k 3", 2, "surtitle live has no option --mask_k; did you mean --mask-k?"),
    ("live --biass 0.1", 2, "surtitle live has no option --biass; did you mean --bias?"),
    ("live -o x.srt", 2, "surtitle live has no option -o; did you mean --srt?"),
    ("live --asr whisper", 2, "surtitle live has no option --asr; did you mean --recognizer?"),
    ("live --config a.toml", 2, "surtitle live has no option --config; did you mean --settings?"),
    (
        "live --topic a",
        2,
        "surtitle live has no option --topic; `surtitle live --help` lists its options",
    ),
    (
        "file --input talk.wav",
        2,
        "surtitle file has no option --input; give the file without an option: surtitle file AUDIO",
    ),
    (
        "replay talk.jsonl --device 3",
        2,
        "surtitle replay has no option --device; --device is an option of surtitle live …",
    ),
    ("file talk.wav extra", 2, "surtitle file cannot use extra; leave it out, or put quotes around …"),
    (
        "replay",
        2,
        "surtitle replay needs EVENTS: partials, translations or captions (JSONL); write: surtitle …",
    ),
    ("file", 2, "surtitle file needs AUDIO: a wav or flac file; write: surtitle file AUDIO"),
    ("file --to German", 2, "surtitle file needs AUDIO: a wav or flac file; write: surtitle file AUDIO"),
    ("job", 2, "surtitle job needs SETTINGS: TOML file that names input and output; write: surtitle job …"),
    ("live --to", 2, "--to needs a value after it; `surtitle live --help` says which it takes"),
    ("live --web=yes", 2, "--web is a switch; leave out the value after it"),
    ("live --bias high", 2, "--bias takes a number, not 'high'"),
    ("live --threads=two", 2, "--threads takes a whole number, not 'two'"),
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
    ("live talk.wav", 2, "surtitle live cannot use talk.wav; did you mean: surtitle file talk.wav"),
    ("live German", 2, "surtitle live cannot use German; did you mean --to German?"),
    ("live -t German", 2, "surtitle live has no option -t; did you mean --to?"),
    (
        "live --list-devices",
        2,
        "surtitle live has no option --list-devices; there is a command for that: surtitle devices",
    ),
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
    ("serve --to German --to=Japanese", 2, "--to is given 2 times (German, Japanese); give it once, and …"),
    ("live --threads 2 --threads 1 --port 0 --port 99999", 2, "--port: give a whole number of at most 65535"),
    ("file talk.wav --srt a --srt b", 2, "--srt is given 2 times (a, b); give it once, and where it takes …"),
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


@given(st.text(min_size=1, max_size=200))
def test_any_word_in_place_of_a_command_or_an_option_gets_a_sentence(word: str) -> None:
    assert no_such_command([word, "x"], "surtitle", ["live", "file"])
    command = Command("surtitle live", frozenset(("--to", "--from")))
    assert no_such_option(f"--{word}", command, [command]).startswith("surtitle live has no option --")
