"""Writes the reference pages into ``docs/reference/``: ``python -m reference``."""

from reference.pages import FOLDER, PAGES

if __name__ == "__main__":
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make())
