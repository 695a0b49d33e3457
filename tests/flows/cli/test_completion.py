"""Shell completion, as the shells ask for it, and the version."""

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.program import SURTITLE, completed


def surtitle(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return completed([SURTITLE, *arguments], env={**os.environ, **environment})


def test_bash_completes_commands_and_options_and_leaves_files_to_the_shell(tmp_path: Path) -> None:
    (tmp_path / "talk.wav").touch()
    lines = {"surtitle replay --rea": ["--realtime"], "surtitle replay --captions t": []}
    script = f'eval "$(_SURTITLE_COMPLETE=source_bash {SURTITLE})"\n' + "".join(
        f"COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()\n"
        f'_surtitle_completion {SURTITLE}; echo "${{COMPREPLY[*]}}"\n'
        for line in lines
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [sorted(line.split()) for line in done.stdout.splitlines()] == [*lines.values()]


@pytest.mark.parametrize(
    ("line", "offers"),
    [("surtitle talk.wav --m", set()), ("surtitle ", {"replay"}), ("surtitle model as", {"assemble"})],
)
def test_an_unfinished_command_line_prints_no_error_into_the_prompt(line: str, offers: set[str]) -> None:
    words = str(len(line.split(" ")) - 1)
    done = surtitle(COMP_WORDS=line, COMP_CWORD=words, _SURTITLE_COMPLETE="complete_bash")
    assert (done.returncode, done.stderr) == (0, "")
    assert offers <= set(done.stdout.splitlines())
    assert all(" " not in offered for offered in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("shell", "words", "answer"),
    [
        ("zsh", "surtitle replay --rea", '_arguments \'*: :(("--realtime":'),
        ("fish", "surtitle replay --rea", "--realtime\t"),
    ],
)
def test_other_shells_get_their_own_form(shell: str, words: str, answer: str) -> None:
    asked = {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = surtitle(_SURTITLE_COMPLETE=f"complete_{shell}", **asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(answer)


def test_completion_is_installed_for_the_shell_that_runs_surtitle(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{SURTITLE} --install-completion; exit $?"],
        env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "bash completion installed" in done.stdout
    installed = tmp_path / ".bash_completions" / "surtitle.sh"
    assert str(installed) in (tmp_path / ".bashrc").read_text()
    assert "_surtitle_completion" in installed.read_text()


def test_the_version_is_that_of_the_package() -> None:
    done = surtitle("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"surtitle {version('surtitle')}\n", "")
