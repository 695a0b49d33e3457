"""A run without --to uses the system's language, or prompts for one, or refuses with a remedy."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from connectors.machine.language import system_language
from flows.cli.language import suggested_language
from operators.languages import language
from tests.program import ROOT, SURTITLE, completed
from tests.tmux import terminal
from tests.virtual_microphone import VirtualMicrophone

LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
PARTIALS = ROOT / "tests" / "samples" / "partials.jsonl"
CAPTIONS = ROOT / "tests" / "samples" / "captions.jsonl"
NAMELESS = {
    name: value for name, value in os.environ.items() if name not in ("LC_ALL", "LC_MESSAGES", "LANG")
}


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"LANG": "pt_BR.UTF-8"}, "Portuguese"),
        ({"LANG": "de_AT@euro"}, "German"),
        ({"LANG": "zh_TW.UTF-8"}, "Traditional Chinese"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "fr_FR", "LC_ALL": ""}, "French"),
        ({"LANG": "fr_FR", "LC_ALL": "C.UTF-8"}, None),
        ({"LANG": "POSIX"}, None),
        ({"LANG": "xx_YY.x@\x1b"}, None),
        ({}, None),
    ],
)
def test_the_systems_language_is_that_of_its_locale(
    environment: dict[str, str], name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in LOCALE:
        monkeypatch.delenv(one, raising=False)
    for one, value in environment.items():
        monkeypatch.setenv(one, value)
    assert system_language() == (name and language(name))


def test_windows_names_its_language_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in LOCALE:
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("locale.getlocale", lambda: ("German_Germany", "1252"))
    assert system_language() == language("German")


@pytest.mark.parametrize(
    ("locale", "spoken", "name"),
    [
        ("pl_PL", "English", "Polish"),
        ("pl_PL", "German", "Polish"),
        ("pl_PL", "Polish", "English"),
        ("en_GB", "English", "Portuguese"),
        # No model of Firefox's translates into it.
        ("cy_GB", "English", "Portuguese"),
    ],
)
def test_the_systems_language_is_suggested_if_it_is_another_that_can_be_translated_into(
    locale: str, spoken: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    assert suggested_language(language(spoken)) == language(name)


def test_the_systems_language_is_used_and_reported(tmp_path: Path) -> None:
    command = f"LC_ALL=pt_BR.UTF-8 {SURTITLE} replay {PARTIALS} --quiet; sleep 60"
    with terminal(tmp_path, command, columns=160) as window:
        rows = window.until(lambda rows: "--to" in rows[0])
    assert rows[0] == "surtitle: captions in Portuguese, your system's language; --to chooses another"


def test_without_a_terminal_one_sentence_names_the_option() -> None:
    done = completed([SURTITLE, "replay", PARTIALS], env={**NAMELESS, "LANG": "en_US.UTF-8"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("surtitle: no language of captions is named; give --to, such as")


def test_a_pipeline_does_not_depend_on_the_systems_language(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(f'[input]\npartials = "{PARTIALS}"\n')
    done = completed([SURTITLE, "job", tmp_path / "job.toml"], env={**NAMELESS, "LANG": "pt_BR.UTF-8"})
    assert done.returncode == 2
    assert "`to` under [translate]" in done.stderr


def test_captions_are_replayed_in_their_own_language() -> None:
    done = completed([SURTITLE, "replay", CAPTIONS, "--quiet"], env={**NAMELESS, "LANG": "pt_BR"}, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_language_of_a_region_is_translated_by_the_models_for_the_general_one(tmp_path: Path) -> None:
    lines = PARTIALS.read_text().splitlines(keepends=True)
    (tmp_path / "talk.jsonl").write_text("".join(lines[:40]))
    for to in ("pt", "pt-BR,pt-PT"):
        command = [
            SURTITLE,
            "replay",
            "talk.jsonl",
            "--to",
            to,
            "--srt",
            "talk.srt",
            "--captions",
            "talk.captions.jsonl",
        ]
        completed([*command, "--quiet", "--set", "translate.finals_only=true"], cwd=tmp_path, check=True)
    general, *regional = (tmp_path / f"talk{tag}.srt" for tag in ("", ".pt-BR", ".pt-PT"))
    assert general.read_text()
    assert [one.read_text() for one in regional] == [general.read_text()] * 2
    assert '"language":"pt-BR"' in (tmp_path / "talk.captions.pt-BR.jsonl").read_text()


@pytest.mark.parametrize(
    ("keys", "last"),
    [
        (["Portugese", "Enter", "cy", "Enter", "Enter"], "ended with 0"),
        (["German,Portuguese", "C-c"], "ended with 130"),
        (["C-d"], "ended with 2"),
    ],
)
def test_somebody_at_a_terminal_is_asked_until_the_language_is_known(
    tmp_path: Path, keys: list[str], last: str
) -> None:
    command = f"LC_ALL=en_US.UTF-8 {SURTITLE} replay {PARTIALS} --quiet; echo ended with $?; sleep 60"
    with terminal(tmp_path, command, columns=160) as window:
        window.until(lambda rows: rows[-1].startswith("Captions in which language? (Enter: Portuguese)"))
        window.type(*keys)
        rows = window.until(lambda rows: "ended" in rows[-1])
    assert rows[-1].endswith(last)
    said = "\n".join(rows)
    assert "Traceback" not in said
    if "cy" in keys:
        assert "'Portugese' is not a language that surtitle knows; did you mean Portuguese?" in said
        assert "the model does not translate English to Welsh; choose another language" in said
        assert said.count("Captions in which language?") == 3


def test_the_welcome_names_the_microphone_only_on_a_terminal(
    tmp_path: Path, virtual_microphone: VirtualMicrophone
) -> None:
    environment = {**virtual_microphone.environment, "LC_ALL": "pl_PL.UTF-8"}
    piped = completed([SURTITLE], env=environment, check=True)
    assert "surtitle live --to Polish\n" in piped.stdout
    assert "#" not in piped.stdout
    given = shlex.join(f"{name}={value}" for name, value in environment.items())
    with terminal(tmp_path, f"env {given} {SURTITLE}; sleep 60", columns=160) as window:
        (line,) = [row for row in window.until(lambda rows: len(rows) > 6) if " live --to" in row]
    assert line.endswith("surtitle live --to Polish    # Monitor of Null Output")


def test_a_sound_system_that_hangs_holds_nobody_up(virtual_microphone: VirtualMicrophone) -> None:
    program = "from connectors.microphone.default import default_microphone; print(default_microphone())"
    virtual_microphone.freeze()
    done = completed([sys.executable, "-c", program], env=virtual_microphone.environment, timeout=30)
    assert (done.stdout, done.stderr) == ("None\n", "")


def test_the_demonstration_ends_with_what_to_do_next(tmp_path: Path) -> None:
    done = completed([SURTITLE, "demo"], cwd=tmp_path, check=True)
    assert "primavera" in done.stdout
    assert done.stdout.splitlines()[-2].endswith("surtitle live --to Portuguese")
    assert not [*tmp_path.iterdir()]
