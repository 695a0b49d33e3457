"""Options of earlier releases still work, and one line each names the new form."""

import pytest

from connectors.messages import begin_messages
from flows.cli.renamed import RENAMED, in_new_form
from flows.settings.loading import REMOVED, all_keys
from operators.errors import UsageError
from tests.program import ROOT, surtitle


def test_each_old_option_and_setting_leads_to_an_existing_one() -> None:
    there = {*all_keys()}
    assert there.isdisjoint(REMOVED)
    assert {setting.partition("=")[0] for setting in RENAMED.values()} <= {*there, *REMOVED}
    with pytest.raises(UsageError, match="no --offline any more; set SURTITLE_OFFLINE=1 in the environment"):
        in_new_form(["--offline"], ())


def test_an_old_option_becomes_set_and_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    begin_messages("text")
    given = ["talk.wav", "--beam", "2", "--no-keep", "--log=a b", "--to", "de", "--", "--beam"]
    assert in_new_form(given, {"--to", "--set"}) == [
        "talk.wav", "--set", "translate.beam=2", "--set", "translate.commit=0",
        "--set", "output.log=a b", "--to", "de", "--", "--beam",
    ]  # fmt: skip
    assert in_new_form(["--sink", "a:b=c", "--youtube", "https://x/?key=1"], ()) == [
        "--set", 'output.sinks=["a:b=c"]', "--set", "output.youtube=https://x/?key=1",
    ]  # fmt: skip
    told = capsys.readouterr().err
    assert "--beam 2 is now --set translate.beam=2" in told
    assert "key=1" not in told


def test_a_run_with_an_old_option_is_that_with_the_new_one() -> None:
    done = surtitle("replay", ROOT / "tests/samples/captions.jsonl", "--mask-k", 3, "--quiet")
    assert (done.returncode, done.stderr) == (0, "surtitle: --mask-k 3 is now --set display.mask_k=3\n")
