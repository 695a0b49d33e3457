"""Loads the page's files from the package into memory; no other file can be requested.

Starlette's ``StaticFiles`` would take a file's type from the system's table, and its ETag from the time and
size of the file, which may not change when the package is updated.
"""

import hashlib
from importlib.resources import files
from typing import NamedTuple

# Fixed here because some systems map .js to plain text, and a browser would not run it.
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "woff2": "font/woff2",
    "webmanifest": "application/manifest+json",
    "txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """One file."""

    content: bytes
    media_type: str
    etag: str


def load_assets() -> dict[str, Asset]:
    """All files of the page by name."""
    assets = {}
    for entry in files("connectors.web").joinpath("static").iterdir():
        media_type = _TYPES.get(entry.name.rpartition(".")[2])
        if media_type and entry.is_file():
            content = entry.read_bytes()
            assets[entry.name] = Asset(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return assets
