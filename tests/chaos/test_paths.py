"""The suite that tries options on each other knows them all."""

from tests.chaos.paths import paths


def test_each_option_that_names_a_file_is_known() -> None:
    # It raises for one that is not.
    known = {(one.command, one.name): one.is_written for one in paths()}
    assert known["live", "captions"]
    assert known["model prune", "output"]
    assert not known["replay", "events"]
    assert not known["trace", "settings"]
