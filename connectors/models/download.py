"""Fetches the content of a file from a hub, so that an interrupted download resumes where it stopped.

The hub's library discards an unfinished file. Therefore the content is stored where that library looks for
it: under its checksum among the ``blobs`` of the repository in its cache. The library does the rest: it finds
the content there and links the file's name to it. Incomplete content is next to it, under a name of ours.
"""

import re
from pathlib import Path
from typing import Any

_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch_content(repo: str, file: str, bar: type[Any]) -> None:
    """Fetch the part of a file that the cache lacks, except for huge files and files without a checksum.

    Those are left to the library. The caller must verify the checksum of the content. If the hub does not
    describe the file, nothing is fetched, and the library will report the reason.

    Args:
        repo: ``OWNER/REPO``.
        file: the file's name in the repository.
        bar: a class like tqdm's for the progress.

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
        known = get_hf_file_metadata(hf_hub_url(repo, file), headers=headers)
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
