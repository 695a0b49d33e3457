"""Options of earlier releases still work, and one line each names the new form."""

import pytest

from connectors.messages import begin_messages
from flows.cli.renamed import RENAMED, in_new_form
from flows.settings.loading import assigned, load_settings
from operators.errors import UsageError
from tests.program import ROOT, surtitle


@pytest.mark.parametrize("setting", RENAMED.values())
def test_each_old_option_names_a_setting_that_there_is(setting: str) -> None:
    said = ""
    try:
        load_settings(None, assigned([setting if "=" in setting else f"{setting}=1"]))
    except UsageError as error:
        said = str(error)  # 1 is not a value of every setting
    assert "there is no setting" not in said


def test_an_old_option_becomes_set_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    begin_messages("text")
    given = ["talk.wav", "--beam", "2", "--no-keep", "--log=a b", "--to", "de", "--", "--beam"]
    assert in_new_form(given, {"--to", "--set"}) == [
        "talk.wav", "--set", "translate.beam=2", "--set", "translate.keep=false",
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
