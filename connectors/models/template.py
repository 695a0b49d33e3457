"""A prompt template in a user's file."""

from pathlib import Path

from connectors.files.contents import read_toml
from operators.errors import InputError
from operators.prompts.template import Template, template_of


def read_template(path: Path) -> Template:
    """The template in a file.

    Raises:
        InputError: the file cannot be read, or contains something else.
    """
    try:
        return template_of(read_toml(path.expanduser(), "template", "--template"))
    except ValueError as error:
        raise InputError(
            f"{path}: this is not a template: {error}; write one as docs/models.md shows"
        ) from None
