"""A release: what stops it, and the tag that ends it, in a repository of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.0] - 2026-01-31

### Added

- Captions for the second floor.

## [1.1.0] - 2025-12-01

- The first floor.
"""


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def release(folder: Path, what: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "release", what], cwd=folder, capture_output=True, text=True,
        check=False, env={"PYTHONPATH": str(ROOT / ".ci"), "PATH": os.defpath, "GIT_COMMITTER_NAME": "Ada",
                          "GIT_COMMITTER_EMAIL": "ada@example.org"},
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that can be released as 1.2.0."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "surtitle"\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "The next release")
    return tmp_path


def test_a_release_is_one_annotated_tag_that_says_what_changed(project: Path) -> None:
    assert release(project, "rehearse").stdout.startswith("release: v1.2.0 would be the tag of ")
    assert git(project, "tag", "--list") == ""
    done = release(project, "tag")
    assert (done.returncode, done.stderr) == (0, "")
    assert "git push origin main v1.2.0" in done.stdout
    assert git(project, "cat-file", "-t", "v1.2.0") == "tag\n"
    message = git(project, "tag", "--list", "--format=%(contents)", "v1.2.0")
    assert message.strip() == "surtitle 1.2.0\n\n### Added\n\n- Captions for the second floor."
    again = release(project, "tag")
    assert again.returncode == 1
    assert again.stderr == "release: 1.2.0 is released already; set the next version in pyproject.toml\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("pyproject.toml", "1.2.0", "1.2.0.dev1", "1.2.0.dev1 is not a version to release"),
        ("CHANGELOG.md", "[1.2.0]", "[1.3.0]", "names no changes in 1.2.0"),
        ("CHANGELOG.md", "2026-01-31", "soon", "names no changes in 1.2.0"),
        ("CHANGELOG.md", "2026-01-31", "9999-01-31", "names no changes in 1.2.0"),
        ("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- One more.\n", "has unreleased changes"),
    ],
)
def test_all_that_is_not_ready_is_said_at_once(
    project: Path, file: str, old: str, new: str, says: str
) -> None:
    git(project, "switch", "--quiet", "--create", "next")
    text = (project / file).read_text()
    (project / file).write_text(text.replace(old, new))
    done = release(project, "check")
    branch, files, *more = done.stderr.splitlines()
    assert done.returncode == 1
    assert branch == "release: this is the branch next; releases are made on main"
    assert files == f"release: 1 files are not committed, among them {file}"
    assert says in "".join(more)
