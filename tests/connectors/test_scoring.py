"""Scores of other programs, and the journal of a run that broke off or could not begin."""

from pathlib import Path

import pytest

from connectors.scoring import Journal, check_comet, comet_scores, tokenizer_on_disk
from operators.errors import InputError, UsageError


def test_comet_is_asked_of_its_program_once_for_all_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, program = tmp_path / "model.ckpt", tmp_path / "comet-score"
    checkpoint.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="unbabel-comet"):
        check_comet(checkpoint)
    # Its arguments: -s SOURCE -r REFERENCE -t FIRST SECOND …
    scores = r'printf "$6\tSegment 0\tscore: 0.1\n$6\tscore: 0.7512\n$7\tscore: -0.2\n"'
    program.write_text(f"#!/bin/sh\n{scores}\n")
    program.chmod(0o755)
    assert "model.ckpt" in check_comet(checkpoint)
    assert comet_scores(checkpoint, ["a"], ["b"], [["c"], ["d"]]) == [0.7512, -0.2]
    program.write_text("#!/bin/sh\necho 'it is broken' >&2; exit 3\n")
    with pytest.raises(InputError, match="it is broken"):
        comet_scores(checkpoint, ["a"], ["b"], [["c"]])
    with pytest.raises(InputError, match="not a COMET checkpoint"):
        check_comet(tmp_path / "none.ckpt")


def test_a_sentencepiece_tokenizer_is_used_only_where_its_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU", str(tmp_path))
    monkeypatch.setattr("connectors.scoring.find_spec", lambda _name: object())
    assert tokenizer_on_disk("13a") == "13a"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sacrebleu_tokenizer_spm.model").touch()
    assert tokenizer_on_disk("13a") == "flores101"
    monkeypatch.setattr("connectors.scoring.find_spec", lambda _name: None)
    assert tokenizer_on_disk("13a") == "13a"


def test_a_run_that_could_not_begin_leaves_no_journal_behind(tmp_path: Path) -> None:
    with Journal(tmp_path / "state", int):
        pass
    assert list(tmp_path.iterdir()) == []
