"""Draws docs/report.png: a recording translated with a draft, and again at every update, compared on a page.

PYTHONPATH=. .venv/bin/python docs/scripts/report_picture.py RECORDING SEGMENT
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser import open_browser

DOCS = Path(__file__).parent.parent
#: The size of the picture.
WIDTH, HEIGHT = 1270, 1180


def main(recording: str, segment: str) -> None:
    """Caption the recording twice, and draw how the segment grew."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        partials, draft, again = (folder / f"{name}.jsonl" for name in ("partials", "draft", "again"))
        surtitle(
            "file",
            recording,
            "--to",
            "Portuguese",
            "--set",
            f"output.partials={partials}",
            "--captions",
            draft,
        )
        surtitle(
            "replay",
            partials,
            "--to",
            "Portuguese",
            "--set",
            "translate.method=retranslate",
            "--captions",
            again,
        )
        surtitle("report", draft, again, "-o", folder / "report.html")
        draw(folder / "report.html", segment)


def surtitle(*arguments: str | Path) -> None:
    """Run a command."""
    subprocess.run([Path(sys.executable).with_name("surtitle"), *arguments], check=True)


def draw(report: Path, segment: str) -> None:
    """Draw how one segment grew."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(report.as_uri())
        row = page.locator("section[aria-labelledby=segments] tbody a").get_by_text(segment, exact=True)
        details = page.locator(f"details{row.first.get_attribute('href')}")
        details.evaluate("one => { one.open = true; one.scrollIntoView() }")
        page.screenshot(path=DOCS / "report.png")


if __name__ == "__main__":
    main(*sys.argv[1:3])
