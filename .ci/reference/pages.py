"""Which pages there are, and where they are committed."""

from collections.abc import Callable, Mapping
from pathlib import Path

from reference.command_line import command_line_page
from reference.manual import manual_page
from reference.records import records_page
from reference.settings import settings_page

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "command-line.md": command_line_page,
    "settings.md": settings_page,
    "records.md": records_page,
    "surtitle.1": manual_page,
}
