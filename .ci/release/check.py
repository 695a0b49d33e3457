"""Whether the repository can be released as it is: ``python -m release.check``."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from release import changelog, repository


def problems(root: Path) -> list[str]:
    """Everything that is to be done first, as sentences."""
    version = repository.project_version(root)
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    today = datetime.now(UTC).date()
    return [*repository.problems(root, version), *changelog.problems(text, version, today)]


def require_no_problems(root: Path) -> None:
    """Exit with 1 and a line for each problem if there are any."""
    if found := problems(root):
        sys.exit("\n".join(f"release: {one}" for one in found))


if __name__ == "__main__":
    require_no_problems(Path.cwd())
