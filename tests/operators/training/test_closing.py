"""Punctuation at the end of what is unfinished."""

import pytest

from operators.training.closing import unclosed


@pytest.mark.parametrize(
    ("target", "heard", "left"),
    [
        ("Wie geht es dir?", ["you"], "Wie geht es dir"),
        ("Wie geht es dir?", ["you?"], "Wie geht es dir?"),
        ("Ich glaube,", ["believe"], "Ich glaube"),
        ("Hallo,", ["Hello,"], "Hallo,"),
        ("Hallo.", ["Hello,"], "Hallo"),
        ("Hallo,", ["Hello,", "my"], "Hallo,"),
        ("Er sagte: „", ["said"], "Er sagte"),
        ("5 %", ["percent"], "5 %"),
        ("今日は。", ["today"], "今日は"),
        ("…", ["well"], ""),
        ("", ["well"], ""),
    ],
)
def test_only_punctuation_that_was_heard_is_written(target: str, heard: list[str], left: str) -> None:
    assert unclosed(target, heard) == left
