"""Building blocks of pages: packaged files, templates, and the content security policy."""

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, StrictUndefined


def packaged(package: str, name: str) -> str:
    """A file that is part of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def render(package: str, name: str, **values: object) -> str:
    """Fill in a template of a package; anything that is not markup is escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(packaged(package, name)).render(**values)


def policy(style: str, script: str | None = None) -> str:
    """The content security policy for a page that has only this style and script."""
    scripts = "" if script is None else f"script-src '{_hash(script)}'; "
    return f"default-src 'none'; {scripts}style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
