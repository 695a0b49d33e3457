"""Pages that the program names are there, and the messages that a page lists are those that are sent."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_page_that_the_program_names_is_there() -> None:
    sources = [
        path for folder in ("flows", "connectors", "operators") for path in (ROOT / folder).rglob("*.py")
    ]
    named = {one for path in sources for one in re.findall(r"(?<![/`:])docs/[\w/.-]+\.md", path.read_text())}
    assert named
    assert [one for one in sorted(named) if not (ROOT / one).is_file()] == []


def constants(node: ast.AST) -> set[str]:
    return {
        one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }


def messages_of(module: ast.Module) -> set[str]:
    """The names of a module's messages: given to `log_event`, in ``extra``, or assigned to ``event``."""
    names: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name("log_event"), args=[name, _, *_]):
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


def test_the_files_that_the_papers_items_are_in_are_there() -> None:
    page = (ROOT / "docs" / "papers.md").read_text()
    named = set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|toml|svg|png))`", page))
    assert len(named) > 30
    assert [
        one for one in named if not any((place / one).is_file() for place in (ROOT, ROOT / "operators"))
    ] == []


#: The most words of each page that people read; the sum of all is 20,000.
MOST_WORDS = {
    "README.md": 400, "CHANGELOG.md": 900, "CONTRIBUTING.md": 500, "docs/architecture.md": 1500,
    "docs/compare.md": 800, "docs/figures.md": 900, "docs/formats.md": 900, "docs/kafka.md": 600,
    "docs/measuring.md": 1000, "docs/method.md": 2000, "docs/models.md": 1200, "docs/obs.md": 600,
    "docs/operations.md": 1200, "docs/papers.md": 4000, "docs/rooms.md": 600, "docs/start.md": 700,
    "docs/subtitles.md": 600, "docs/training.md": 650, "docs/tried.md": 1000,
}  # fmt: skip


def test_pages_are_as_short_as_a_reader_needs() -> None:
    pages = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
    pages |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert pages == set(MOST_WORDS)
    words = {page: len((ROOT / page).read_text().split()) for page in pages}
    assert {page: count for page, count in words.items() if count > MOST_WORDS[page]} == {}
    assert sum(words.values()) < 20_000
