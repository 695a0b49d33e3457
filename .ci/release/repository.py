"""The repository that a release is made from: its version, its state, its tags."""

import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.version import InvalidVersion, Version

BRANCH = "main"


def project_version(root: Path) -> str:
    """The version in pyproject.toml, which is the only place that has it."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def tag_name(version: str) -> str:
    """The name of a version's tag."""
    return f"v{version}"


def git(root: Path, *arguments: str, given: str | None = None) -> str:
    """What git prints; exits with 1 and git's own words if it fails."""
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"release: git {arguments[0]} failed: {' '.join(done.stderr.split())}")
    return done.stdout.strip()


def problems(root: Path, version: str) -> list[str]:
    """What keeps this repository from being released as ``version``, as sentences."""
    told = []
    if (branch := git(root, "branch", "--show-current")) != BRANCH:
        told.append(f"this is the branch {branch or '(none)'}; releases are made on {BRANCH}")
    if changed := git(root, "status", "--porcelain").splitlines():
        told.append(f"{len(changed)} files are not committed, among them {changed[0].split(maxsplit=1)[1]}")
    return told + _version_problems(version, git(root, "tag", "--list", "v*").splitlines())


def _version_problems(version: str, tags: list[str]) -> list[str]:
    try:
        wanted = Version(version)
    except InvalidVersion:
        return [f"pyproject.toml: {version!r} is not a version; write one like 1.2.0"]
    if str(wanted) != version or wanted.local or wanted.is_devrelease:
        return [
            f"pyproject.toml: {version} is not a version to release; write one like {wanted.base_version}"
        ]
    if tag_name(version) in tags:
        return [f"{version} is released already; set the next version in pyproject.toml"]
    newer = [tag for tag in tags if _is_version(tag) and Version(tag[1:]) > wanted]
    return [f"{newer[-1]} is released, which is newer than {version}"] if newer else []


def _is_version(tag: str) -> bool:
    try:
        Version(tag[1:])
    except InvalidVersion:
        return False
    return True
