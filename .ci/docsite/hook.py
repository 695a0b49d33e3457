"""The hooks of MkDocs: pages from outside ``docs/`` (`docsite.repository`), and options in running text."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docsite.options import unbroken
from docsite.repository import ROOT_PAGES, Links, source_address, source_page

#: The program's icon in the repository, and its address in the site.
_ICON = ("connectors/web/static/icon.svg", "assets/icon.svg")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages from outside ``docs/``, and rewrite the links of all pages."""
    root = Path(config.docs_dir).parent
    files.append(File.generated(config, _ICON[1], abs_src_path=str(root / _ICON[0])))
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(root / name).read_text()))
    links = Links(root, (file.src_uri for file in files if file.inclusion.is_included()))
    for file in files.documentation_pages():
        file.content_string = links.rewritten(file.content_string, file.src_uri)
    for path in links.sources:
        files.append(File.generated(config, source_address(path), content=source_page(root, path)))
    return files


def on_page_content(html: str, **_given: object) -> str:
    """Keep the options in a page's text on one line."""
    return unbroken(html)
