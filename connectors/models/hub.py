"""Fetches files and folders from the Hugging Face Hub into the cache that its library shares among programs.

Cached files are used without a network. The library's own settings apply (HF_ENDPOINT, HF_HOME,
HF_HUB_OFFLINE, HF_TOKEN).

An interrupted download resumes where it stopped, although the hub's library discards an unfinished file: the
content is stored where that library looks for it, under its checksum among the ``blobs`` of the repository in
its cache. The library finds it there and links the file's name to it. Incomplete content is next to it, under
a name of ours.
"""

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from connectors.files.contents import sha256_of
from operators.errors import InputError, OutputError, SurtitleError, UsageError
from operators.notifications import Progress

HUB_PREFIX = "hub:"
_NAME = re.compile(r"([\w.-]+/[\w.-]+):((?!/)(?!.*\.\./)[^:\\]+\.gguf)", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch_model(name: str, progress: Progress, sha256: str | None = None) -> Path:
    """Return the path of a hub file, fetched if it is not in the cache.

    Args:
        name: ``hub:OWNER/REPO:FILE.gguf``; the file may be in a folder of the repository.

    Raises:
        UsageError: the name has another form.
        InputError: the file does not exist for this user, is unreachable, damaged, or has another checksum.
        OutputError: the cache cannot store it.
    """
    repo, file = _parts(name)
    path = _fetch(repo, file, progress)
    found = path.resolve().name  # the checksum, unless the system has no links
    if sha256 and found != sha256 and _SHA256.fullmatch(found):
        raise InputError(
            f"{file} of {repo} has changed since it was added to surtitle's catalogue (sha256 {found}): to "
            f"use it as it is, write --model {name}"
        )
    return path


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


def fetch_folder(repo: str, files: Sequence[str], optional: Sequence[str], progress: Progress) -> Path:
    """Return a folder with files of one revision of a repository, fetched if the cache lacks some.

    If the cache has all of them, no request goes to the hub.

    Args:
        repo: ``OWNER/REPO``.
        files: required files; the first one is at the top level of the repository.
        optional: files that are fetched if the repository has them.

    Raises:
        InputError: a file does not exist, is unreachable or arrived damaged.
        OutputError: the cache cannot store one.
    """
    from huggingface_hub.errors import RemoteEntryNotFoundError

    if (folder := fetched_folder(repo, files, optional)) is not None:
        return folder
    folder = _fetch(repo, files[0], progress).parent  # named by its revision, which holds for all files
    for file in (*files[1:], *optional):
        try:
            _fetch(repo, file, progress, folder.name)
        except InputError as error:
            if file in files or not isinstance(error.__cause__, RemoteEntryNotFoundError):
                raise
    return folder


def fetched_folder(repo: str, files: Sequence[str], optional: Sequence[str]) -> Path | None:
    """The folder of `fetch_folder` if the cache has all of it; None otherwise."""
    from huggingface_hub import try_to_load_from_cache

    found = [try_to_load_from_cache(repo, one) for one in files]
    # None if unknown; another object if the hub has no such file.
    if None in (try_to_load_from_cache(repo, one) for one in optional):
        return None
    return Path(str(found[0])).parent if all(isinstance(one, str) for one in found) else None


def _fetch(repo: str, file: str, progress: Progress, revision: str | None = None) -> Path:
    # Imported here because it takes a moment, and most users have a local file.
    from huggingface_hub import hf_hub_download

    # It logs each broken connection on separate lines; we report the outcome ourselves.
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    bar = _bar(f"fetching {file} of {repo}", progress)
    try:
        _fetch_content(repo, file, bar, revision)
        return Path(hf_hub_download(repo, file, revision=revision, library_name="surtitle", tqdm_class=bar))
    except SurtitleError:
        raise
    except Exception as error:  # including those of its HTTP libraries
        raise _in_words(error, repo, file) from error


def _fetch_content(repo: str, file: str, bar: type[Any], revision: str | None) -> None:
    """Fetch the part of a file that the cache lacks, except for huge files and files without a checksum.

    Those are left to the library. If the hub does not describe the file, the library will report the reason.
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
            if target.tell() < size:
                http_get(
                    hf_hub_url(repo, file, revision=known.commit_hash),
                    target,
                    resume_size=target.tell(),
                    headers=headers,
                    expected_size=size,
                    displayed_filename=file,
                    tqdm_class=bar,
                )
        if (found := sha256_of(unfinished)) != sha256:
            unfinished.unlink()
            raise InputError(
                f"{file} was damaged in transfer (sha256 {found} instead of {sha256}) and was removed: "
                "download it again"
            )
        unfinished.replace(content)


def _bar(what: str, progress: Progress) -> Any:
    """A progress bar class for the hub's library that reports to ``progress`` and draws nothing."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]  # it counts, and holds nothing
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            progress(what, min(self.n / self.total, 1.0) if self.total else None)

    return Bar


def _in_words(error: Exception, repo: str, file: str) -> SurtitleError:
    from huggingface_hub import errors

    log_in = "log in with 'hf auth login' or set HF_TOKEN"
    if isinstance(error, errors.GatedRepoError):
        return InputError(f"{repo} requires you to accept its licence: do that on its page, then {log_in}")
    if isinstance(error, (errors.RepositoryNotFoundError, errors.RemoteEntryNotFoundError)):
        return InputError(f"the hub has no {file} of {repo} that you may read: check the names, or {log_in}")
    if isinstance(error, errors.LocalEntryNotFoundError):
        return InputError(
            f"{file} of {repo} is not in the cache, and the hub cannot be reached, or HF_HUB_OFFLINE forbids "
            "downloading it: check the network, or give the path of a file"
        )
    if isinstance(error, OSError) and error.errno:
        return OutputError(f"{file} cannot be stored, {error.strerror}: free space, or set HF_HOME")
    why = " ".join(str(error).split())[:120] or type(error).__name__
    return InputError(
        f"the download of {file} was interrupted ({why}): check the network and start again; "
        "the download resumes"
    )
