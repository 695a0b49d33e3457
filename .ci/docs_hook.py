"""MkDocs hooks: pages from outside ``docs/``, and copies of the files of the repository that pages name."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

#: The file in the repository, and the page.
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
#: The program's icon in the repository, and its address in the site.
_ICON = ("connectors/web/static/icon.svg", "assets/icon.svg")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()(?![a-z]+:)([^)\s#]+)([^)\s]*\))")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages from outside ``docs/``, and rewrite the links of all pages."""
    root = Path(config.docs_dir).parent
    files.append(File.generated(config, _ICON[1], abs_src_path=str(root / _ICON[0])))
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(root / name).read_text()))
    known = {file.src_uri for file in files if file.inclusion.is_included()}
    linked: set[str] = set()
    for file in files.documentation_pages():
        file.content_string = rewritten(file.content_string, file.src_uri, known, root, linked)
    for path in linked:
        source = root / path
        if source.is_dir():
            names = sorted(one.name for one in source.iterdir() if one.is_file())
            listing = f"# {path}\n\n" + "".join(f"- [{name}]({name})\n" for name in names)
            files.append(File.generated(config, f"source/{path}/index.md", content=listing))
            for name in names:
                copy = File.generated(config, f"source/{path}/{name}", abs_src_path=str(source / name))
                files.append(copy)
        else:
            files.append(File.generated(config, f"source/{path}", abs_src_path=str(source)))
    return files


def rewritten(markdown: str, page: str, known: set[str], root: Path, linked: set[str]) -> str:
    """The text of a page with links that work in the site; code is left as it is.

    Args:
        markdown: The text.
        page: The address of the page.
        known: Addresses of the pages and pictures in ``docs/``.
        root: The repository.
        linked: Receives the files and folders of the repository that are linked to.
    """
    home = next((name for name, made in ROOT_PAGES.items() if made == page), f"docs/{page}")

    def replace(found: re.Match[str]) -> str:
        before, address, after = found.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(home), address))
        target = ROOT_PAGES.get(path, posixpath.relpath(path, "docs"))
        # MkDocs reports what does not exist.
        if target not in known and not path.startswith("..") and (root / path).exists():
            linked.add(path)
            target = f"source/{path}" + "/index.md" * (root / path).is_dir()
        return before + posixpath.relpath(target, posixpath.dirname(page) or ".") + after

    parts = _CODE.split(markdown)
    return "".join(part if number % 2 else _LINK.sub(replace, part) for number, part in enumerate(parts))
