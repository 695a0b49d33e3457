"""A run without ``--model`` from end to end, with a registry on 127.0.0.1 in Mozilla's place."""

import gzip
import hashlib
import os
from pathlib import Path

from connectors.http.download import OFFLINE_VARIABLE
from connectors.models.firefox import firefox_folder
from operators.languages import Direction
from tests.connectors.models.registry import Registry
from tests.flows.talk import read
from tests.program import surtitle

PARTIALS = Path(__file__).parent.parent / "samples" / "partials.jsonl"


def test_a_first_run_downloads_its_model_and_says_so_in_a_line_and_the_next_one_needs_no_network(
    tmp_path: Path,
) -> None:
    registry = Registry()
    entry = registry.add("en-de")
    own = firefox_folder(Direction.of("en", "pt"))  # whatever its name says
    for kind, name in (("model", "model.enpt.intgemm.alphas.bin"), ("vocab", "vocab.enpt.spm")):
        content, file = (own / name).read_bytes(), entry["files"][kind]
        registry.files[file["path"]] = gzip.compress(content, 1)
        file |= {"uncompressedSize": len(content), "uncompressedHash": hashlib.sha256(content).hexdigest()}
    job, captions = tmp_path / "job.toml", tmp_path / "captions.jsonl"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), OFFLINE_VARIABLE: ""}
    with registry.serving():
        settings = (
            f'[input]\npartials = "{PARTIALS}"\n[output]\ncaptions = "{captions}"\n'
            f'[sentences]\nmethod = "rules"\n'
            f'[translate]\nregistry = "{registry.url}"\nthreads = 1\nto = "German"\n'
        )
        job.write_text(settings)
        first = surtitle("job", job, env=environment)
    assert first.returncode == 0, first.stderr
    assert first.stderr == (
        "surtitle: downloading Firefox's model for English to German (17 MB, MPL 2.0) from 127.0.0.1, once\n"
    )
    said = [one["shown"] for one in read(captions)]
    assert any(said)
    second = surtitle("job", job, env=environment)
    assert (second.returncode, second.stderr) == (0, "")
    assert [one["shown"] for one in read(captions)] == said
    job.write_text(f'{settings}from = "Portuguese"\n')
    over_english = surtitle("job", job, env=environment)
    assert (over_english.returncode, over_english.stderr) == (0, "")
    assert all(one["effort"]["passes"] > 1 for one in read(captions) if one["is_final"])
