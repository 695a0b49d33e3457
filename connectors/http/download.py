"""Downloads files, resumes interrupted downloads, and describes errors in words."""

import hashlib
import os
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from ssl import SSLError
from urllib.error import HTTPError, URLError

from operators.addresses import parts_of, shown, without_user
from operators.errors import InputError, OutputError
from operators.notifications import Progress

#: Forbids downloads, unless it is empty or 0.
OFFLINE_VARIABLE = "SURTITLE_OFFLINE"
#: Seconds in which a server has to answer, and to send more.
ANSWER_S = 5.0
BLOCK_BYTES = 1 << 16


class ServerError(Exception):
    """A server's response cannot be used; the message continues a sentence that begins with its name."""


#: Errors of the network; any other `OSError` is one of the disk.
NETWORK = (ServerError, URLError, TimeoutError, ConnectionError, SSLError, HTTPException, ValueError)


def is_offline() -> bool:
    return os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0")


def download(url: str, target: Path, progress: Progress, *, sha256: str | None, max_bytes: int) -> None:
    """Download a file; a partial download stays beside it, and the next attempt resumes it.

    Args:
        url: its address.
        target: its path; its folder is created.
        sha256: its checksum; None if that is not known.
        max_bytes: its maximum size.

    Raises:
        InputError: downloads are forbidden, the server cannot be reached, or sends something else.
        OutputError: it cannot be stored.
    """
    remedy = f"get {url} where there is a network, and put it there as {target}"
    if is_offline():
        raise InputError(f"{OFFLINE_VARIABLE} forbids downloading {target.name}; {remedy}")
    partial = target.with_name(f"{target.name}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        complete(url, partial, f"downloading {target.name}", progress, max_bytes)
        with partial.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if sha256 not in (None, found):
            partial.unlink()
            raise ServerError(f"sent another file (sha256 {found} instead of {sha256})")
        partial.replace(target)
    except NETWORK as error:
        raise InputError(
            f"{target.name} cannot be downloaded, {host(url)} {in_words(error)}; {remedy}"
        ) from error
    except OSError as error:
        raise OutputError(f"{target} cannot be stored, {error.strerror}: free space there") from error


def complete(url: str, file: Path, what: str, progress: Progress, max_bytes: int) -> None:
    """Append the missing bytes of a file; a broken connection is retried if it brought any of them.

    Raises `NETWORK` and `OSError`.
    """
    while True:
        before = file.stat().st_size if file.exists() else 0
        try:
            return _append(url, file, before, what, progress, max_bytes)
        except NETWORK:
            if not file.exists() or file.stat().st_size <= before:
                raise


def _append(url: str, path: Path, before: int, what: str, progress: Progress, max_bytes: int) -> None:
    # From the last byte on, because servers refuse to send an empty range.
    start = max(before - 1, 0)
    with opened(url, start) as answer, path.open("ab") as file:
        file.truncate(start if answer.status == 206 else 0)  # 206: only the requested range
        size = None if answer.length is None else file.tell() + answer.length
        while block := answer.read1(BLOCK_BYTES):
            file.write(block)
            if file.tell() > max_bytes:
                file.close()
                path.unlink()
                raise ServerError(f"sends more than {max_bytes / 1e6:.0f} MB, too much for this file")
            progress(what, min(file.tell() / size, 1.0) if size else None)
        if answer.length:
            raise ServerError("broke off the connection")


def host(address: str) -> str:
    parts = parts_of(address)
    return (parts and parts.hostname) or shown(address)


def opened(url: str, start: int = 0) -> HTTPResponse:
    """The response to a request for the bytes from ``start`` on. Raises `NETWORK`."""
    parts = parts_of(url)
    if parts is None or parts.scheme not in ("http", "https"):
        raise ServerError(f"is not a web address ({shown(url)[:100]})")
    url, user = without_user(url)
    # Google Cloud Storage decompresses such files for clients that do not accept gzip.
    headers = {"Accept-Encoding": "gzip" if url.endswith(".gz") else "identity"}
    request = urllib.request.Request(url, headers=headers | ({"Range": f"bytes={start}-"} if start else {}))
    for name, value in user.items():
        request.add_unredirected_header(name, value)  # must not be sent to another server after a redirect
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=ANSWER_S)
    return answer


def in_words(error: Exception) -> str:
    """The rest of a sentence that begins with the name of the server."""
    if isinstance(error, ServerError):
        return str(error)
    if isinstance(error, HTTPError):
        error.close()
        return f"answers with status {error.code}"
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "does not answer"
    # Messages of other errors may quote the address.
    quoted = " ".join(str(reason).split())[:120] if isinstance(error, OSError) else ""
    return f"cannot be reached ({quoted or type(error).__name__})"
