"""Fetches the content of a hub's file so that a download that was given up or killed goes on where it was.

The hub's library throws an unfinished file away. So the content is put where that library looks for it, under
its checksum among the ``blobs`` of the repository in its cache, and the library does all else: it links the
file's name to it and finds it there the next time. What has not wholly arrived is beside it, under our name.
"""

import re
from pathlib import Path
from typing import Any

_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch_content(repo: str, file: str, bar: type[Any]) -> None:
    """Fetch what the cache lacks of a file, unless its library has to: what is huge or has no checksum.

    Whether the content is that of its checksum is for the caller to see, and why a hub does not describe a
    file for the library to say.

    Args:
        repo: ``OWNER/REPO``.
        file: the file's name in it.
        bar: a class like tqdm's, told how far it is.

    Raises:
        HfHubHTTPError: the hub does not give what it described; other errors of its HTTP library when the
            connection breaks.
        OSError: the cache cannot hold it.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # lazily, which mypy does not see
        WeakFileLock,
        build_hf_headers,
    )

    headers = build_hf_headers(library_name="surtitle")
    try:
        known = get_hf_file_metadata(hf_hub_url(repo, file), headers=headers)
    except Exception:  # noqa: BLE001 - of any HTTP library; ours meets it again, and tells or has the file
        return
    if isinstance(try_to_load_from_cache(repo, file, revision=known.commit_hash), str):
        return
    sha256, size = known.etag or "", known.size
    # Beyond that size the hub speaks a protocol of its own, which only its library knows.
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
