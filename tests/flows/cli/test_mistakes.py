"""What a newcomer types wrongly is answered in one sentence that says what to type instead."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from flows.cli.app import main

SAMPLES = Path(__file__).parent.parent.parent / "samples"

#: The exit code, what is typed after ``surtitle``, and the answer: its beginning, or all of it without "…".
ANSWERS = """
2 | liev | no such command 'liev'. Did you mean 'live'; see `surtitle --help`
2 | talk.wav | there is no command talk.wav; did you mean: surtitle file talk.wav
2 | talk.jsonl --to de | there is no command talk.jsonl; did you mean: surtitle replay talk.jsonl
2 | --to German live | no such option: --to; see `surtitle --help`
2 | live --mask_k 3 | no such option: --mask_k; see `surtitle live --help`
3 | file talk.wav extra | extra: there is no such file; check its name
2 | replay | missing argument …
2 | file | surtitle file needs AUDIO: a recording; write: surtitle file AUDIO
2 | live --to | option '--to' requires an argument; see `surtitle live --help`
2 | live --set translate.threads=0 | translate.threads: Expected `int` >= 1
2 | live --set translate.beem=2 | there is no setting translate.beem; did you mean translate.beam?
2 | live --port 99999 | invalid value for '--port': …
2 | live --set translate.method=ssdb | translate.method: Invalid enum value 'ssdb'
2 | live --recognizer wisper | recognize.engine: there is no 'wisper'; choose from auto, …
2 | replay talk.jsonl --to Germna | translate.to: 'Germna' is not a language that surtitle knows; did …
2 | job language.toml | language.toml: translate.to: 'Deutsh' is not a language that surtitle knows; …
3 | job quotes.toml | quotes.toml: this is not valid TOML: Invalid value (at line 2, column 6); correct …
2 | file talk.wav --from German --to English --recognizer moonshine | the installed model of moonshine …
2 | serve --to German --recognizer vosk | vosk comes without a model: name the folder of one …
2 | live --captions-only --to German | --captions-only is for captions in the spoken language; leave …
2 | trace talk.jsonl --to English | speech and captions would both be English; choose another …
3 | replay talk.jsonl --recovery talk.wav --model captions | talk.wav is not a folder: give one for …
2 | replay talk.jsonl --model captoins | there is no model captoins; did you mean captions?
2 | replay talk.jsonl --model hy-mt2 | there is no model hy-mt2; did you mean hy-mt2-7b?
2 | replay talk.jsonl --model google/gemma-3-1b | there is no model file google/gemma-3-1b: for one of the …
3 | file tolk.wav | tolk.wav: there is no such file; check its name
3 | replay talk.jsnl | talk.jsnl cannot be read: there is no such file; check its name
3 | job surtitel.toml | surtitel.toml cannot be read: there is no such file; check its name
2 | file talk.jsonl | talk.jsonl: `surtitle file` takes sound; did you mean: surtitle replay talk.jsonl
2 | replay talk.wav | talk.wav: `surtitle replay` takes events (JSONL); did you mean: surtitle file talk.wav
3 | replay talk.jsonl --from German --to English --web --port 0 | SURTITLE_OFFLINE …
2 | serve --to German --to=Klingon | rooms.to: 'Klingon' is not a language that surtitle knows; give the …
2 | file ftp://host/talk.wav | ftp://host/talk.wav: ftp addresses are not read; give one of …
2 | replay talk.jsonl --srt - | output.srt would be a file called -; give /dev/stdout, or the name of …
3 | report talk.jsonl --json - | talk.jsonl holds partial events, which do not show what a viewer saw; …
3 | file prose.wav | prose.wav: it cannot be decoded, because FFmpeg does not support its format, …
3 | replay bad.jsonl | bad.jsonl, line 2: Expected `str`, got `int` - at `$.stream`; correct …
3 | replay log.jsonl | log.jsonl: erasurerecord events cannot be replayed into captions; give partials, …
3 | replay talk.jsonl --to Turkish | SURTITLE_OFFLINE forbids downloading …
2 | replay talk.jsonl --to Greek --model captions | there is no captions model for English to Greek, only …
3 | replay talk.jsonl --model none.gguf | there is no model file none.gguf: there is no such file; check …
3 | replay talk.jsonl --model prose.wav | prose.wav is not a GGUF model, it begins with b'some': name a …
4 | replay talk.jsonl --set output.log=no/folder/log.jsonl | no/folder/log.jsonl cannot be written: …
2 | job surtitle.toml | surtitle.toml: there is no setting translate.langauge; choose from from, to, …
"""
CASES = [tuple(line.split(" | ")) for line in ANSWERS.strip().splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a first day, as the working directory."""
    shutil.copy(SAMPLES / "partials.jsonl", tmp_path / "talk.jsonl")
    soundfile.write(tmp_path / "talk.wav", np.zeros(1600, np.int16), 16_000)
    (tmp_path / "surtitle.toml").write_text('[translate]\nlangauge = "de"\n')
    (tmp_path / "language.toml").write_text('[input]\npartials = "talk.jsonl"\n[translate]\nto = "Deutsh"\n')
    (tmp_path / "prose.wav").write_text("some prose\n" * 100)
    first = (tmp_path / "talk.jsonl").read_text().splitlines()[0]
    (tmp_path / "bad.jsonl").write_text(first + '\n{"event": "partial", "stream": 3}\n')
    (tmp_path / "log.jsonl").write_text(
        '{"event":"erasure","stream":"a","segment":0,"revision":0,"is_final":true}\n'
    )
    (tmp_path / "quotes.toml").write_text("[translate]\nto = German\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of a command line, in this process."""
    monkeypatch.setattr(sys, "argv", ["surtitle", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(str(end.value.code))


@pytest.mark.parametrize(("code", "typed", "answer"), CASES, ids=[typed for _, typed, _ in CASES])
@pytest.mark.usefixtures("folder")
def test_a_mistyped_command_line_is_answered_with_what_to_type(
    code: str, typed: str, answer: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *typed.split()) == int(code)
    stdout, stderr = capfd.readouterr()
    assert (stdout, stderr.count("\n")) == ("", 1)
    beginning = f"surtitle: {answer}".removesuffix("…")
    assert stderr.startswith(beginning)
    assert answer.endswith("…") or stderr == f"{beginning}\n"


def test_without_a_command_the_first_ones_to_try_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    for command in (
        "surtitle file talk.wav",
        "surtitle live --to",
        "surtitle demo",
        "surtitle doctor",
        "--help",
    ):
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
