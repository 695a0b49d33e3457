"""Scores of other programs, and the journal of a run that broke off or could not begin."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

from connectors.scoring import Journal, find_comet, tokenizer_file
from operators.errors import InputError, UsageError
from operators.notifications import silent
from tests.connectors.models.registry import Registry

#: In place of the environment of comet-score: a Python whose PyTorch has this device.
PYTHON = """#!/bin/sh
echo "2.2.7|{device}"
"""
# The arguments: -s SOURCE -r REFERENCE -t FIRST SECOND --model NAME --gpus NUMBER
SCORES = r'printf "$6\tSegment 0\tscore: 0.1\n$6\tscore: 0.7512\n$7\tscore: -0.2\n"; echo "$9 ${11}" >"$LOG"'


@pytest.fixture
def comet_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write the program, as pip does for a long path, and the Python that it names."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    program, python = tmp_path / "comet-score", tmp_path / "python3.11"

    def write(body: str = SCORES, device: str = "cpu") -> None:
        python.write_text(PYTHON.format(device=device))
        program.write_text(f"#!/bin/sh\n# {python}\n{body}\n")
        for file in (program, python):
            file.chmod(0o755)

    return write


def test_comet_is_asked_of_its_program_once_for_all_systems(
    tmp_path: Path, comet_score: Callable[..., None]
) -> None:
    (checkpoint := tmp_path / "model.ckpt").touch()
    with pytest.raises(UsageError, match="unbabel-comet"):
        find_comet(str(checkpoint))
    comet_score()
    comet = find_comet(str(checkpoint))
    assert comet.signature.startswith("comet-score 2.2.7|")
    assert comet.signature.endswith("/model.ckpt|0 bytes|cpu")
    assert comet.scores(["a"], ["b"], [["c"], ["d"]]) == [0.7512, -0.2]
    comet_score("echo 'it is broken' >&2; exit 3")
    with pytest.raises(InputError, match="it is broken"):
        comet.scores(["a"], ["b"], [["c"]])
    with pytest.raises(InputError, match="no such checkpoint"):
        find_comet(str(tmp_path / "none.ckpt"))
    with pytest.raises(InputError, match="not a COMET checkpoint"):
        find_comet("a/b/c")


def test_comet_has_a_name_and_the_gpu_of_its_own_environment(
    tmp_path: Path, comet_score: Callable[..., None]
) -> None:
    for device, gpus in (("cpu", "0"), ("NVIDIA H200", "1")):
        comet_score(device=device)
        comet = find_comet("wmt22-comet-da")
        assert comet.signature == f"comet-score 2.2.7|Unbabel/wmt22-comet-da|{device}"
        comet.scores(["a"], ["b"], [["c"], ["d"]])
        assert (tmp_path / "log").read_text().split() == ["Unbabel/wmt22-comet-da", gpus]
    (tmp_path / "python3.11").write_text("#!/bin/sh\nexit 1\n")  # without PyTorch
    assert find_comet("owner/own-comet").signature == "comet-score unknown|owner/own-comet|cpu"


def test_a_sentencepiece_tokenizer_is_fetched_when_it_is_asked_for_and_never_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.scoring.SACREBLEU_DIR", str(tmp_path))
    assert tokenizer_file("13a", silent) is None
    with pytest.raises(InputError) as refused:
        tokenizer_file("flores101", silent)
    path = tmp_path / "models" / "sacrebleu_tokenizer_spm.model"
    for part in ("SURTITLE_OFFLINE forbids", SPM_MODELS["flores101"]["url"], str(path)):
        assert part in str(refused.value)
    server = Registry()
    server.files["sacrebleu_tokenizer_spm.model"] = b"pieces"
    monkeypatch.delenv("SURTITLE_OFFLINE")
    with server.serving():
        url = server.url.replace(server.place, "/sacrebleu_tokenizer_spm.model")
        monkeypatch.setitem(SPM_MODELS, "flores101", {"url": url, "signature": "flores101"})
        assert tokenizer_file("flores101", silent) == path
        assert path.read_bytes() == b"pieces"
        assert tokenizer_file("flores101", silent) == path
        assert len(server.requests) == 1
        path.write_bytes(b"")  # what sacrebleu leaves of a download that failed
        assert tokenizer_file("flores101", silent) == path
        assert len(server.requests) == 2


def test_a_run_that_could_not_begin_leaves_no_journal_behind(tmp_path: Path) -> None:
    with Journal(tmp_path / "state", int):
        pass
    assert list(tmp_path.iterdir()) == []
