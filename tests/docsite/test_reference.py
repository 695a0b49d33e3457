"""The reference pages that come from the code are current, and leave nothing out."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from reference import FOLDER, PAGES, Field, fields_of, tables_of
from typer.main import get_command

from flows.cli.app import app
from flows.settings.schema import Settings


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "run `make reference`"


def test_every_key_of_the_settings_has_a_meaning() -> None:
    fields = [(table, field) for table, struct in tables_of(Settings) for field in fields_of(struct)]
    assert [f"{table}.{one.name}" for table, one in fields if not one.meaning and one.struct is None] == []


def test_every_option_of_the_command_line_has_a_meaning_and_they_are_few() -> None:
    commands: list[Any] = [*get_command(app).commands.values()]  # type: ignore[attr-defined] # it is a group
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    options = [one for command in commands for one in command.params]
    assert len({one.opts[0] for one in options if one.opts[0].startswith("-")}) <= 70
    assert [one.name for one in options if not one.help] == []


def test_a_record_has_a_meaning_for_every_field() -> None:
    rows = [line for line in PAGES["records.md"]().splitlines() if line.startswith("| `")]
    assert len(rows) > 60
    assert [row for row in rows if not row.split("|")[2].strip()] == []


class Base(msgspec.Struct, kw_only=True):
    #: Inherited,
    #: on two lines.
    first: int


class Example(Base, kw_only=True):
    """An example."""

    #: Another name on disk.
    second: Annotated[float, msgspec.Meta(gt=0.0, le=2.5)] | None = msgspec.field(name="other", default=None)
    #: One of two.
    third: Literal["a", "b"] = "b"
    fourth: tuple[str, ...] = ()


def test_a_field_has_a_name_a_type_a_default_and_its_comment() -> None:
    assert fields_of(Example) == [
        Field("first", "integer", "", True, "Inherited, on two lines.", None),
        Field("other", "number > 0, ≤ 2.5", "", False, "Another name on disk.", None),
        Field("third", '`"a"`, `"b"`', '"b"', False, "One of two.", None),
        Field("fourth", "array of strings", "[]", False, "", None),
    ]
