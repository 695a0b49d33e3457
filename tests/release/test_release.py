"""A release: what stops it, and the tag that ends it, in a repository of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
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


def release(folder: Path, module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", f"release.{module}", *arguments], cwd=folder, capture_output=True, text=True,
        check=False, env={"PYTHONPATH": str(ROOT / ".ci"), "PATH": os.defpath, "GIT_COMMITTER_NAME": "Ada",
                          "GIT_COMMITTER_EMAIL": "ada@example.org"},
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that can be released as 1.2.0."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "surtitle"\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    commit(tmp_path)
    git(tmp_path, "tag", "v1.1.0")
    return tmp_path


def commit(project: Path) -> None:
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "The next release")


def set_version(project: Path, version: str) -> None:
    text = (project / "pyproject.toml").read_text().replace("1.2.0", version)
    (project / "pyproject.toml").write_text(text)
    commit(project)


def set_changelog(project: Path, old: str, new: str) -> None:
    assert old in CHANGELOG
    (project / "CHANGELOG.md").write_text(CHANGELOG.replace(old, new))
    commit(project)


def test_a_release_is_an_annotated_tag_that_says_what_changed(project: Path) -> None:
    done = release(project, "tag")
    assert (done.returncode, done.stderr) == (0, "")
    assert "git push origin main v1.2.0" in done.stdout
    assert git(project, "cat-file", "-t", "v1.2.0") == "tag\n"
    message = git(project, "tag", "--list", "--format=%(contents)", "v1.2.0")
    assert message.strip() == "surtitle 1.2.0\n\n### Added\n\n- Captions for the second floor."


def test_a_dry_run_makes_no_tag(project: Path) -> None:
    done = release(project, "tag", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("release: v1.2.0 would be the tag of ")
    assert git(project, "tag", "--list") == "v1.1.0\n"


def test_a_release_cannot_be_made_twice(project: Path) -> None:
    assert release(project, "tag").returncode == 0
    done = release(project, "tag")
    assert done.returncode == 1
    assert done.stderr == "release: 1.2.0 is released already; set the next version in pyproject.toml\n"


def test_what_git_refuses_is_told_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "surtitle"\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    done = release(tmp_path, "check")
    assert done.returncode == 1
    assert done.stderr.startswith("release: git branch failed: fatal: not a git repository")


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("1.0.5", "v1.1.0 is released, which is newer than 1.0.5"),
        ("one", "'one' is not a version"),
        ("1.2.0.dev1", "1.2.0.dev1 is not a version to release; write one like 1.2.0"),
        ("01.2", "01.2 is not a version to release; write one like 1.2"),
    ],
)
def test_a_version_that_cannot_be_released_stops_it(project: Path, version: str, says: str) -> None:
    set_version(project, version)
    done = release(project, "check")
    assert done.returncode == 1
    assert says in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("## [1.2.0] - 2026-01-31", "## [1.3.0] - 2026-01-31", "says nothing about 1.2.0"),
        ("## [1.2.0] - 2026-01-31", "## [1.2.0]", "gives 1.2.0 no date"),
        ("## [1.2.0] - 2026-01-31", "## [1.2.0] - soon", "gives 1.2.0 no date"),
        ("2026-01-31", "9999-01-31", "which is in the future"),
        ("## [Unreleased]\n", "## [Unreleased]\n\n- One more.\n", "has unreleased changes"),
        ("### Added\n\n- Captions for the second floor.\n\n", "", "names no changes in 1.2.0"),
        ("## [Unreleased]\n", "## [1.1.9] - 2026-02-01\n\n- A fix.\n", "has 1.1.9 above 1.2.0"),
    ],
)
def test_a_changelog_that_is_not_ready_stops_it(project: Path, old: str, new: str, says: str) -> None:
    set_changelog(project, old, new)
    done = release(project, "check")
    assert done.returncode == 1
    assert says in done.stderr


def test_all_that_is_wrong_is_said_at_once(project: Path) -> None:
    git(project, "switch", "--quiet", "--create", "next")
    (project / "pyproject.toml").write_text('[project]\nname = "surtitle"\nversion = "1.3.0"\n')
    (project / "notes.txt").write_text("to do")
    branch, files, changelog = release(project, "check").stderr.splitlines()
    assert branch == "release: this is the branch next; releases are made on main"
    assert files == "release: 2 files are not committed, among them pyproject.toml"
    assert changelog.startswith(
        "release: CHANGELOG.md says nothing about 1.3.0; add a heading ## [1.3.0] - 20"
    )


def test_make_release_checks_tests_and_builds_before_it_tags() -> None:
    def commands(*arguments: str) -> str:
        listed = subprocess.run(
            ["make", "--dry-run", "--no-print-directory", "release", *arguments],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return listed.stdout

    steps = [
        "release.check", "bin/mypy", "bin/pytest -n 4", "uv --no-config build", "pytest -n 0 tests/package",
        "release.installation", "cyclonedx-py", "release.licences", "SHA256SUMS", "release.tag",
    ]  # fmt: skip
    places = [commands().index(step) for step in steps]
    assert places == sorted(places)
    assert commands().rstrip().endswith("release.tag")
    assert commands("DRY_RUN=1").rstrip().endswith("release.tag --dry-run")
