"""What pages are put together from: the files that come with them, and what they allow a browser to do."""

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, StrictUndefined


def packaged(package: str, name: str) -> str:
    """A file that is part of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def render(package: str, name: str, **values: object) -> str:
    """A template of a package, filled in; what is no markup is escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(packaged(package, name)).render(**values)


def policy(style: str, script: str | None = None) -> str:
    """The content security policy of a page with this style and script, and nothing else."""
    scripts = "" if script is None else f"script-src '{_hash(script)}'; "
    return f"default-src 'none'; {scripts}style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
