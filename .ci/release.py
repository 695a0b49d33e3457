"""Checks whether the repository can be released, and tags it: ``python -m release check|tag|rehearse``."""

import re
import subprocess
import sys
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path

BRANCH = "main"


def git(*arguments: str, given: str | None = None) -> str:
    """The output of git; exits with git's error message if it fails."""
    done = subprocess.run(["git", *arguments], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"release: git {arguments[0]} failed: {' '.join(done.stderr.split())}")
    return done.stdout.strip()


def changes() -> dict[str, tuple[str, str]]:
    """The sections of CHANGELOG.md (Keep a Changelog): version, day as written, and text."""
    text = Path("CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## \[([^\]]+)\](?: - (\S+))?$", text, flags=re.MULTILINE)[1:]
    found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {name: (day or "", notes.strip()) for name, day, notes in found}


def problems(version: str) -> list[str]:
    """Everything that has to be done before a release, as sentences."""
    found = []
    if (branch := git("branch", "--show-current")) != BRANCH:
        found.append(f"this is the branch {branch or '(none)'}; releases are made on {BRANCH}")
    if changed := git("status", "--porcelain").splitlines():
        found.append(f"{len(changed)} files are not committed, among them {changed[0].split(maxsplit=1)[1]}")
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        found.append(f"pyproject.toml: {version} is not a version to release; write one like 1.2.0")
    if git("tag", "--list", f"v{version}"):
        found.append(f"{version} is released already; set the next version in pyproject.toml")
    sections = changes()
    if sections.get("Unreleased", ("", ""))[1]:
        found.append(f"CHANGELOG.md has unreleased changes; move them below a heading ## [{version}]")
    today = datetime.now(UTC).date()
    day, notes = sections.get(version, ("", ""))
    try:
        is_dated = date.fromisoformat(day) <= today
    except ValueError:
        is_dated = False
    if not (notes and is_dated):
        found.append(f"CHANGELOG.md names no changes in {version}; write ## [{version}] - {today}")
    return found


def main(what: str) -> None:
    """Check, and tag the commit with the changes as the message; exits with 1 if there are problems."""
    version = str(tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    if found := problems(version):
        sys.exit("\n".join(f"release: {one}" for one in found))
    tag, commit = f"v{version}", git("rev-parse", "--short", "HEAD")
    if what == "rehearse":
        print(f"release: {tag} would be the tag of {commit}; nothing was changed but dist/")
    elif what == "tag":
        # Headings of the changelog begin with #, which git takes for comments otherwise.
        message = f"surtitle {version}\n\n{changes()[version][1]}\n"
        git("tag", "--annotate", "--cleanup=whitespace", "--file=-", tag, given=message)
        print(f"release: {tag} is the tag of {commit}; publish it with: git push origin {BRANCH} {tag}")


if __name__ == "__main__":
    main(sys.argv[1])
