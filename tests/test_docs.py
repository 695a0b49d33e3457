"""The pages of the documentation: what they link to is there, and what they list is complete."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts spell them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """The addresses of a page's links to other pages, pictures and headings."""
    addresses = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [one for one in addresses if not one.startswith("https://")]


def is_broken(page: Path, link: str) -> bool:
    """Whether a link of a page leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


def test_every_page_that_the_program_names_is_there() -> None:
    sources = [
        path for folder in ("flows", "connectors", "operators") for path in (ROOT / folder).rglob("*.py")
    ]
    named = {one for path in sources for one in re.findall(r"(?<![/`])docs/[\w/.-]+\.md", path.read_text())}
    assert named
    assert [one for one in sorted(named) if not (ROOT / one).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if is_broken(page, link)] == []


def test_a_link_to_a_missing_page_or_heading_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `heading`\n\n[here](#one-heading) [there](#two) [elsewhere](other.md)\n")
    assert [link for link in links(page) if is_broken(page, link)] == ["#two", "other.md"]


def test_the_readme_leads_to_every_page() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}
    assert {page for page in PAGES if page.parent.name == "docs"} <= linked


def constants(node: ast.AST) -> set[str]:
    """The texts in an expression."""
    return {
        one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }


def messages_of(module: ast.Module) -> set[str]:
    """The names of a module's messages: given to `tell`, in ``extra``, or assigned to ``event``."""
    names: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name("tell"), args=[name, _, *_]):
                names |= constants(name)
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                names |= {
                    text
                    for key, one in pairs
                    if key and constants(key) == {"event"}
                    for text in constants(one)
                }
            case (
                ast.Assign(targets=[ast.Name("event")], value=value)
                | ast.AnnAssign(target=ast.Name("event"), value=ast.expr() as value)
            ):
                names |= constants(value) - {"event"}
    return names


def test_the_messages_that_are_listed_are_those_that_are_sent() -> None:
    modules = [path for top in ("flows", "connectors", "operators") for path in ROOT.glob(f"{top}/**/*.py")]
    sent = set().union(*(messages_of(ast.parse(path.read_text())) for path in modules))
    page = (ROOT / "docs/operations.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", page.partition("| about | `event` |")[2], re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", row))}
    assert listed == sent


def test_a_name_of_a_message_is_found_wherever_one_is_given() -> None:
    code = """
tell("one" if late else "two", sentence)
log.info(sentence, extra={"event": "three"})
class Broken(Exception):
    event = "four"
"""
    assert messages_of(ast.parse(code)) == {"one", "two", "three", "four"}
