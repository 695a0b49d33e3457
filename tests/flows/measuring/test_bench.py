"""`surtitle bench` from end to end: its contract, its resumption, its complaints."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.program import SURTITLE, Program, completed

COMMAND = [SURTITLE, "bench", "--to", "German"]
TEXT = "The door is open.\nThe tour begins at ten.\n"
REFERENCE = "Die Tür ist offen.\nDie Führung beginnt um zehn.\n"
TIMES = {
    *("speedup", "speedup_range", "tps_ratio", "tps_ratio_range", "tokens_per_second", "ms_per_update"),
    *("ms_of_final", "ms_of_partial"),
}


@pytest.fixture
def cache(tmp_path: Path, model_path: Path) -> Path:
    """A cache folder of the test's own, in which the base model need not be put together again."""
    folder = tmp_path / "cache" / "surtitle"
    folder.mkdir(parents=True)
    (folder / model_path.name).symlink_to(model_path)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "reference.txt").write_text(REFERENCE)
    return folder


def environment(cache: Path | None) -> dict[str, str]:
    own = {} if cache is None else {"XDG_CACHE_HOME": str(cache.parent)}
    return {**os.environ, **own}


def bench(*arguments: object, cwd: Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    return completed([*COMMAND, *arguments], cwd=cwd, env=environment(cache))


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row["metrics"].items() if name not in TIMES} for row in rows]


def test_a_text_with_references_becomes_tables_and_a_json_of_signature_and_rows(
    tmp_path: Path, cache: Path, small: list[str]
) -> None:
    done = bench(
        "text.txt", "--reference", "reference.txt", "--vary", "method=ssbd,continuous",
        "--vary", "commit=1,0", "--vary", "bias=0,0.2", "--vary", "mask_k=0,3", "--repeat", 1,
        *small,
        "--json", "out.json", "--markdown", "out.md", cwd=tmp_path, cache=cache,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    rows, signature = results["rows"], results["signature"]
    keys = ("method", "bias", "commit", "mask_k")
    names = [tuple(row["settings"][key] for key in keys) for row in rows]
    metrics = [row["metrics"] for row in rows]
    assert names == [
        (method, bias, commit, mask)
        for method, bias, commit in (
            ("retranslate", None, None), ("ssbd", 0.0, 1), ("ssbd", 0.2, 1),
            ("ssbd", 0.0, 0), ("ssbd", 0.2, 0), ("continuous", None, None),
        )
        for mask in (0, 3)
    ]  # fmt: skip
    assert [metrics[0][name] for name in ("speedup", "tps_ratio", "chrf_of_baseline")] == [1.0, 1.0, 100.0]
    assert all(row["ne_shown"] == row["ne_raw"] for row in metrics[::2])
    assert all(row["ne_raw"] == 0 for row in metrics[-2:])
    assert all(0 < row["ms_per_update"]["p50"] <= row["ms_per_update"]["p95"] for row in metrics)
    assert signature["model"]["bytes"] == Path(small[1]).stat().st_size
    assert "nrefs:1" in signature["chrf"]
    assert "tok:13a" in signature["bleu"]
    document = (tmp_path / "out.md").read_text()
    assert "| ssbd β=0.2 k=3 |" in document
    assert all(signature["chrf"] in text for text in (document, done.stdout))
    assert not list((cache / "bench").iterdir()), "a finished benchmark leaves nothing behind"


def test_a_killed_benchmark_resumes_and_ends_with_the_same_rows(
    tmp_path: Path, cache: Path, small: list[str]
) -> None:
    (tmp_path / "text.txt").write_text(TEXT * 3)
    arguments = ["text.txt", "--repeat", "2", *small, "--json"]
    with Program(
        [*COMMAND, *arguments, "resumed.json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        cwd=tmp_path, env=environment(cache),
    ) as process:  # fmt: skip
        until_kept(cache, process)
        os.kill(process.pid, signal.SIGKILL)
    before = kept(cache)
    assert 0 < len(before) < 12
    (journal,) = (cache / "bench").iterdir()
    with journal.open("ab") as file:
        file.write(b'[1,1,[[[3,"half a line')
    done = bench(*arguments, "resumed.json", cwd=tmp_path, cache=cache)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"surtitle: {len(before)} of 12 trials done")
    assert bench(*arguments, "whole.json", cwd=tmp_path, cache=cache).returncode == 0
    resumed, whole = (json.loads((tmp_path / name).read_text()) for name in ("resumed.json", "whole.json"))
    assert timeless(resumed["rows"]) == timeless(whole["rows"])
    assert resumed["signature"] == whole["signature"]


def until_kept(cache: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None and not kept(cache):
        time.sleep(0.01)


def kept(cache: Path) -> list[bytes]:
    """The whole lines of the one journal."""
    lines = [line for path in cache.glob("bench/*.jsonl") for line in path.read_bytes().splitlines(True)]
    return [line for line in lines if line.endswith(b"\n")]


def test_ctrl_c_reports_how_to_continue_and_other_settings_do_not_use_its_trials(
    tmp_path: Path, cache: Path, small: list[str]
) -> None:
    arguments = ["text.txt", "--repeat", "3000", *small]
    with Program(
        [*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        cwd=tmp_path, env=environment(cache),
    ) as process:  # fmt: skip
        until_kept(cache, process)
        os.kill(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "of 6000 trials; the same command continues from there" in stderr
    assert "Traceback" not in stderr
    (journal,) = (cache / "bench").iterdir()
    text = journal.read_bytes()
    done = bench(
        "text.txt", "--repeat", 1, "--limit", 1, "--vary", "bias=0.3", *small, cwd=tmp_path, cache=cache
    )
    assert done.stderr.splitlines()[0] == "surtitle: 1 of 1 trials done"
    assert journal.read_bytes() == text
