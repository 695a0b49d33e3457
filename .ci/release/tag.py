"""Tags the commit that was checked and built: ``python -m release.tag``, or ``--dry-run`` to be told only."""

import sys
from pathlib import Path

from release.changelog import notes
from release.check import require_no_problems
from release.repository import BRANCH, git, project_version, tag_name


def main(root: Path, *, is_dry: bool) -> None:
    """Make the annotated tag, with the changes as its message; exits with 1 if something came between."""
    require_no_problems(root)
    version = project_version(root)
    tag, commit = tag_name(version), git(root, "rev-parse", "--short", "HEAD")
    if is_dry:
        print(f"release: {tag} would be the tag of {commit}; nothing was changed but dist/")
        return
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    # Headings of the changelog begin with #, which git takes for comments otherwise.
    message = f"surtitle {version}\n\n{notes(text, version)}\n"
    git(root, "tag", "--annotate", "--cleanup=whitespace", "--file=-", tag, given=message)
    print(f"release: {tag} is the tag of {commit}; publish it with: git push origin {BRANCH} {tag}")


if __name__ == "__main__":
    main(Path.cwd(), is_dry="--dry-run" in sys.argv[1:])
