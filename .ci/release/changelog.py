"""CHANGELOG.md, in the form of Keep a Changelog: a section for each release, the newest first."""

import re
from datetime import date
from typing import NamedTuple

UNRELEASED = "Unreleased"


class Section(NamedTuple):
    """What changed in a release."""

    version: str
    #: As it is written, or None.
    day: str | None
    notes: str


def sections(text: str) -> list[Section]:
    """The sections, in the order of the file."""
    parts = re.split(r"^## \[([^\]]+)\](?: - (\S+))?$", text, flags=re.MULTILINE)[1:]
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [Section(version, day, notes.strip()) for version, day, notes in triples]


def problems(text: str, version: str, today: date) -> list[str]:
    """What a release of ``version`` lacks in the changelog, as sentences."""
    found = {one.version: one for one in sections(text)}
    told = []
    if found.get(UNRELEASED, Section(UNRELEASED, None, "")).notes:
        told.append(f"CHANGELOG.md has unreleased changes; move them below a heading ## [{version}]")
    section = found.get(version)
    if section is None:
        return [*told, f"CHANGELOG.md says nothing about {version}; add a heading ## [{version}] - {today}"]
    if not section.notes:
        told.append(f"CHANGELOG.md names no changes in {version}")
    newest = next(one.version for one in sections(text) if one.version != UNRELEASED)
    if newest != version:
        told.append(f"CHANGELOG.md has {newest} above {version}, but the newest release comes first")
    try:
        if date.fromisoformat(section.day or "") > today:
            told.append(f"CHANGELOG.md dates {version} {section.day}, which is in the future")
    except ValueError:
        told.append(f"CHANGELOG.md gives {version} no date; write ## [{version}] - {today}")
    return told


def notes(text: str, version: str) -> str:
    """What changed in a version. Raises `StopIteration` if the changelog does not have it."""
    return next(one.notes for one in sections(text) if one.version == version)
