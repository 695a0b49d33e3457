"""Fetches files and folders from the Hugging Face Hub into the cache that its library shares among programs.

Cached files are used without a network. A file is compared once with the hub's checksum; a note in surtitle's
own cache folder then records the success. The library's own settings apply (HF_ENDPOINT, HF_HOME,
HF_HUB_OFFLINE, HF_TOKEN).

An interrupted download resumes where it stopped, although the hub's library discards an unfinished file: the
content is stored where that library looks for it, under its checksum among the ``blobs`` of the repository in
its cache. The library finds it there and links the file's name to it. Incomplete content is next to it, under
a name of ours.
"""

import errno
import hashlib
import logging
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_path

from connectors.files.atomic import write_note
from operators.errors import InputError, OutputError, SurtitleError, UsageError

_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch_content(repo: str, file: str, bar: type[Any], revision: str | None = None) -> None:
    """Fetch the part of a file that the cache lacks, except for huge files and files without a checksum.

    Those are left to the library. The caller must verify the checksum of the content. If the hub does not
    describe the file, nothing is fetched, and the library will report the reason.

    Args:
        repo: ``OWNER/REPO``.
        file: the file's name in the repository.
        bar: a class like tqdm's for the progress.
        revision: of the repository; None for the newest.

    Raises:
        HfHubHTTPError: the hub does not deliver what it described; other errors of its HTTP library if the
            connection breaks.
        OSError: the cache cannot store the file.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # lazy exports, which mypy does not see
        WeakFileLock,
        build_hf_headers,
    )

    headers = build_hf_headers(library_name="surtitle")
    try:
        known = get_hf_file_metadata(hf_hub_url(repo, file, revision=revision), headers=headers)
    except Exception:  # noqa: BLE001 - any HTTP library's; the hub's library will report it or has the file
        return
    if isinstance(try_to_load_from_cache(repo, file, revision=known.commit_hash), str):
        return
    sha256, size = known.etag or "", known.size
    # Beyond that size the hub uses a protocol of its own, which only its library supports.
    if not _SHA256.fullmatch(sha256) or size is None or size > constants.MAX_HTTP_DOWNLOAD_SIZE:
        return
    cache, folder = Path(constants.HF_HUB_CACHE), repo_folder_name(repo_id=repo, repo_type="model")
    content, lock = cache / folder / "blobs" / sha256, cache / ".locks" / folder / f"{sha256}.lock"
    unfinished = content.with_name(f"{sha256}.surtitle.incomplete")
    for parent in (content.parent, lock.parent):
        parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):  # the library's own
        if content.exists():
            return
        with unfinished.open("ab") as target:
            if target.tell() > size:
                target.truncate(target.seek(0))
            http_get(
                hf_hub_url(repo, file, revision=known.commit_hash),
                target,
                resume_size=target.tell(),
                headers=headers,
                expected_size=size,
                displayed_filename=file,
                tqdm_class=bar,
            )
        unfinished.replace(content)


HUB_PREFIX = "hub:"

_NAME = re.compile(r"([\w.-]+/[\w.-]+):((?!/)(?!.*\.\./)[^:\\]+\.gguf)", re.ASCII)
_BLOCK_BYTES = 4 * 2**20


def fetch_model(name: str, progress: Callable[[str, float | None], None], sha256: str | None = None) -> Path:
    """Return the path of a hub file, fetched if it is not in the cache.

    Args:
        name: ``hub:OWNER/REPO:FILE.gguf``; the file may be in a folder of the repository.
        progress: gets each step and its progress.
        sha256: the checksum of its content, if it is known.

    Raises:
        UsageError: the name has another form.
        InputError: the file does not exist for this user, is unreachable, arrived damaged, or is another one.
        OutputError: the cache cannot store it.
    """
    repo, file = _parts(name)
    path = _fetch(repo, file, _bar(f"fetching {file}", progress))
    found = _verify(path, file, progress)
    if sha256 and found and found != sha256:
        raise InputError(
            f"{repo} has another {file} by now (sha256 {found}) than surtitle knows: to use it as it is, "
            f"write --model {name}"
        )
    return path


class FolderFile(NamedTuple):
    """A file of a folder that is fetched as a whole."""

    name: str
    #: A larger file is refused.
    max_mb: int
    is_optional: bool = False


def fetch_folder(
    repo: str, files: Sequence[FolderFile], progress: Callable[[str, float | None], None]
) -> Path:
    """Return a folder with files of one revision of a repository, fetched if the cache lacks some.

    Once it has all, the hub is not asked any more.

    Args:
        repo: ``OWNER/REPO``.
        files: those to fetch; the first one is in no folder of the repository, and not optional.
        progress: gets each step and its progress.

    Raises:
        InputError: a file does not exist, is unreachable, arrived damaged, or is too large.
        OutputError: the cache cannot store one.
    """
    from huggingface_hub.errors import RemoteEntryNotFoundError

    folder = fetched_folder(repo, files)
    if folder is not None:
        for one in files:
            if (folder / one.name).exists():
                _verify(folder / one.name, one.name, progress)
        return folder
    for one in files:
        bar = _bar(f"fetching {one.name} of {repo}", progress, one.max_mb * 1_000_000)
        try:
            path = _fetch(repo, one.name, bar, None if folder is None else folder.name)
        except InputError as error:
            if not isinstance(error.__cause__, RemoteEntryNotFoundError):
                raise
            if not one.is_optional:
                raise InputError(
                    f"{repo} has no file {one.name}, without which its model is of no use: choose another one"
                ) from error
            continue
        _verify(path, one.name, progress)
        # Named by its revision, which holds for all files.
        folder = folder or path.parent
    assert folder is not None
    return folder


def fetched_folder(repo: str, files: Sequence[FolderFile]) -> Path | None:
    """The folder of `fetch_folder` if the cache has all of it; None otherwise."""
    from huggingface_hub import try_to_load_from_cache

    first = None
    for one in files:
        found = try_to_load_from_cache(repo, one.name)
        # None if that is not known; another object if the hub said that it has no such file.
        if not isinstance(found, str) and (found is None or not one.is_optional):
            return None
        first = first or found
    return Path(str(first)).parent


def _fetch(repo: str, file: str, bar: type[Any], revision: str | None = None) -> Path:
    """The path of a file in the cache, fetched if it is not there."""
    # Imported here because it takes a moment, and most users have a local file.
    from huggingface_hub import hf_hub_download

    # It logs each broken connection on separate lines; we report the outcome ourselves.
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    try:
        fetch_content(repo, file, bar, revision)
        return Path(hf_hub_download(repo, file, revision=revision, library_name="surtitle", tqdm_class=bar))
    except InputError:
        raise
    except Exception as error:  # including those of its HTTP libraries
        raise _in_words(error, repo, file) from error


def is_fetched(name: str) -> bool:
    """Whether ``hub:OWNER/REPO:FILE.gguf`` is in the cache. Raises `UsageError` for another form."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(*_parts(name)), str)


def _parts(name: str) -> tuple[str, str]:
    match = _NAME.fullmatch(name.removeprefix(HUB_PREFIX))
    if match is None:
        raise UsageError(f"{name!r} is not a model of the hub: write hub:OWNER/REPO:FILE.gguf")
    repo, file = match.groups()
    return repo, file


def _bar(what: str, progress: Callable[[str, float | None], None], max_bytes: float = math.inf) -> Any:
    """A progress bar class for the hub's library that reports to ``progress`` and draws nothing.

    It raises `InputError` for more than ``max_bytes``, whatever size the hub had announced.
    """
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]  # it counts, and holds nothing
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})
            self._check(self.total or 0)

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            self._check(self.n)
            progress(what, min(self.n / self.total, 1.0) if self.total else None)

        def _check(self, size: float) -> None:
            if size > max_bytes:
                raise InputError(
                    f"{what}: the hub sends more than {max_bytes / 1e6:.0f} MB, too much for such a model; "
                    "check HF_ENDPOINT"
                )

    return Bar


def _verify(path: Path, file: str, progress: Callable[[str, float | None], None]) -> str | None:
    """Compare the file with its checksum, unless that was done before; returns it, None if there is none.

    The hub's checksum of a large file is the name under which its library stores the content; the file in the
    repository's folder is a link to it. Without such a link (Windows) or such a name, no comparison is
    possible.
    """
    blob = path.parent / path.readlink() if path.is_symlink() else path
    sha256 = blob.name
    if not _SHA256.fullmatch(sha256):
        return None
    status = blob.stat()
    note = user_cache_path("surtitle") / "verified" / sha256
    seen = f"{status.st_size} {status.st_mtime_ns}"
    with suppress(OSError):
        if note.read_bytes() == seen.encode():
            return sha256
    if (found := _sum(blob, f"checking {file}, sha256 {sha256}", progress)) != sha256:
        for damaged in (path, blob.resolve(), blob):
            damaged.unlink(missing_ok=True)
        raise InputError(
            f"{file} was damaged in transfer (sha256 {found} instead of {sha256}) and was removed: "
            "download it again"
        )
    write_note(note, seen.encode())
    return sha256


def _sum(path: Path, what: str, progress: Callable[[str, float | None], None]) -> str:
    digest, size, done = hashlib.sha256(), path.stat().st_size, 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            done += len(block)
            progress(what, done / size)
    return digest.hexdigest()


def _in_words(error: Exception, repo: str, file: str) -> SurtitleError:
    """The error message for a failure of the hub or the connection."""
    from huggingface_hub import errors

    offline = isinstance(error.__cause__, errors.OfflineModeIsEnabled)
    if isinstance(error, errors.HFValidationError):
        return UsageError(f"{repo!r} is not the name of a repository: write hub:OWNER/REPO:FILE.gguf")
    if isinstance(error, errors.GatedRepoError):
        return InputError(
            f"{repo} requires you to accept its licence: do that on its page, "
            "then log in with 'hf auth login' or set HF_TOKEN"
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return InputError(
            f"the hub has no repository {repo} that you may read: check the name, "
            "and if it is private log in with 'hf auth login' or set HF_TOKEN"
        )
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return InputError(f"{repo} has no file {file}: look for the name on its page, under Files")
    if isinstance(error, errors.LocalEntryNotFoundError) and offline:
        return InputError(
            f"{repo} is not in the cache, and HF_HUB_OFFLINE forbids downloading it: unset it once"
        )
    if isinstance(error, errors.LocalEntryNotFoundError):
        return InputError(
            f"{file} of {repo} is not in the cache, and the hub cannot be reached: "
            "check the network, or HF_ENDPOINT"
        )
    if isinstance(error, errors.HfHubHTTPError):
        return InputError(f"the hub refused {repo} with status {error.response.status_code}: try again later")
    if isinstance(error, OSError) and error.errno:
        room = "free space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "check the folder"
        return OutputError(
            f"{file} cannot be stored, {error.strerror}: {room}, or set HF_HOME to another one"
        )
    why = " ".join(str(error).split())[:120] or type(error).__name__
    return InputError(
        f"the download of {file} was interrupted ({why}): check the network and start again; "
        "the download resumes"
    )
