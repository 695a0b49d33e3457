"""Addresses such as ``https://…``: their parts, and their display without the secrets they may contain."""

import re
from base64 import b64encode
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
# Punctuation at the end of a match belongs to the surrounding sentence.
_IN_TEXT = re.compile(rf"{_ADDRESS.pattern}\S*[^\s.,:;!?'\")\]}}>]", re.IGNORECASE)
_USER_AND_QUERY = re.compile(r"(?<=://)[^/?#]*@|[?#].*", re.DOTALL)
_ALL_BEFORE_AT = re.compile(r"(?<=://).*@|[?#].*", re.DOTALL)


def is_address(text: str) -> bool:
    return _ADDRESS.match(text) is not None


def parts_of(address: str) -> SplitResult | None:
    """The parts of an address with a host, in which a port is possible; None for anything else."""
    try:
        parts = urlsplit(address)
        (parts.hostname or "").encode("idna")  # raises for an invalid host name
        is_one = is_address(address) and bool(parts.hostname) and parts.port != 0 and address.isprintable()
    except ValueError:
        return None
    return parts if is_one else None


def shown(address: str) -> str:
    """An address without its user, password, query and fragment; any other text, such as a path, unchanged.

    >>> shown("https://user:word@example.org/talk.mp3?token=5ec2"), shown("talk@home?.wav")
    ('https://example.org/talk.mp3', 'talk@home?.wav')
    """
    if not is_address(address):
        return address
    # In an invalid address it is unclear where the user ends, so everything before the last @ is removed.
    return (_ALL_BEFORE_AT if parts_of(address) is None else _USER_AND_QUERY).sub("", address)


def shown_in(text: str) -> str:
    return _IN_TEXT.sub(lambda found: shown(found[0]), text) if "://" in text else text


def without_user(address: str) -> tuple[str, dict[str, str]]:
    """An address without its user and password, and the header that carries them instead, if any."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    # In the address they are percent-encoded.
    header = {"Authorization": f"Basic {b64encode(unquote_to_bytes(user)).decode()}"} if at else {}
    return parts._replace(netloc=host).geturl(), header
