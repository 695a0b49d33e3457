"""Pages of the site from files outside ``docs/``, and the links that lead there.

README, CONTRIBUTING and CHANGELOG become pages. Pages also link to source files and folders, which a code
host shows; in the site, each of those becomes a page of its own.
"""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

#: Pages from outside the folder of the documentation: the file in the repository, and the page.
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
#: Folder of the documentation in the repository, and of the pages of source files in the site.
DOCS, SOURCES = "docs", "source"

_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s#]+)([^)\s]*\))")


class Links:
    """Rewrites the links of pages for the site, and remembers which files need a page for that.

    Args:
        root: The repository.
        pages: Pages and pictures in the folder of the documentation, relative to it.
    """

    def __init__(self, root: Path, pages: Iterable[str]) -> None:
        self._root, self._pages = root, frozenset(pages)
        self._linked: set[str] = set()

    @property
    def sources(self) -> list[str]:
        """The files and folders of the repository that need a page so far."""
        folders = [one for one in self._linked if (self._root / one).is_dir()]
        return sorted(self._linked.union(*(files_in(self._root, folder) for folder in folders)))

    def rewritten(self, markdown: str, page: str) -> str:
        """The text of a page of the site, with links that work there; code is left as it is."""
        homes = {made: name for name, made in ROOT_PAGES.items()}
        folder = posixpath.dirname(homes.get(page, f"{DOCS}/{page}"))

        def replace(found: re.Match[str]) -> str:
            before, address, after = found.groups()
            if ":" in address:
                return found[0]
            target = posixpath.normpath(posixpath.join(folder, address))
            return before + posixpath.relpath(self._page_of(target), posixpath.dirname(page) or ".") + after

        parts = _CODE.split(markdown)
        return "".join(part if number % 2 else _LINK.sub(replace, part) for number, part in enumerate(parts))

    def _page_of(self, target: str) -> str:
        """The page or picture in the site for a path in the repository."""
        inside = posixpath.relpath(target, DOCS)
        if target in ROOT_PAGES:
            return ROOT_PAGES[target]
        if inside in self._pages or target.startswith("..") or not (self._root / target).exists():
            # MkDocs reports what does not exist.
            return inside
        self._linked.add(target)
        return source_address(target)


def source_address(path: str) -> str:
    """The page of a file or folder of the repository."""
    return f"{SOURCES}/{path}.md"


def source_page(root: Path, path: str) -> str:
    """The text of the page of a file or folder; the search does not find it."""
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
    if (root / path).is_dir():
        here = posixpath.dirname(source_address(path))
        pages = [(one, posixpath.relpath(source_address(one), here)) for one in files_in(root, path)]
        return head + "".join(f"- [{posixpath.relpath(one, path)}]({page})\n" for one, page in pages)
    text = (root / path).read_text(errors="replace").rstrip()
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{head}{fence}{_language(path)}\n{text}\n{fence}\n"


def files_in(root: Path, folder: str) -> list[str]:
    """The files of a folder and its folders, without what Python and hidden tools leave there."""
    found = (one.relative_to(root) for one in (root / folder).rglob("*") if one.is_file())
    return sorted(
        one.as_posix() for one in found if not any(part.startswith((".", "__")) for part in one.parts)
    )


def _language(path: str) -> str:
    try:
        name: str = get_lexer_for_filename(PurePosixPath(path).name).aliases[0]
    except ClassNotFound:
        return "text"
    return name
