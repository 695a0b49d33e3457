"""Who speaks, as it is read: names, voices without one, and where another one begins."""

import msgspec
import pytest

from operators.events import Speaker
from operators.languages import LANGUAGES, language
from operators.speakers import Turns, introduced, shown_name
from tests.subtitled import caption


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("en", "Speaker 2"), ("de", "Sprecher 2"), ("pt", "Orador 2"), ("pt-BR", "Falante 2"),
        ("ja", "話者2"), ("zh", "说话人2"), ("zh-Hant", "說話者2"), ("ko", "화자 2"), ("th", "ผู้พูด 2"),
        ("ar", "المتحدث 2"), ("cs", "Mluvčí 2"), ("yo", "Speaker 2"),
    ],
)  # fmt: skip
def test_a_voice_without_a_name_is_called_as_usual_in_the_language_of_the_viewer(
    code: str, name: str
) -> None:
    assert shown_name("2", language(code)) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Anna", "Anna"), ("2a", "2a"), (msgspec.UNSET, ""), ("\u200b \n", ""),
        ("A\n-->\x1b[2J B\x00", "A --> B"),
    ],
)  # fmt: skip
def test_a_name_stays_as_it_is_on_one_line_and_is_obeyed_by_nothing(given: Speaker, name: str) -> None:
    assert shown_name(given, language("de")) == name


def test_no_word_for_a_speaker_would_break_a_line_or_run_into_its_number() -> None:
    assert all(one.speaker == one.speaker.strip() and not one.speaker[-1:].isdigit() for one in LANGUAGES)
    assert sum(bool(one.speaker) for one in LANGUAGES) > 90


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        ("de", "Anna", "Anna: x"), ("fr", "Anna", "Anna\u00a0: x"), ("zh", "安娜", "安娜：x"),
        ("he", "דובר 1", "דובר 1: x"), ("ar", "Anna", "\u200fAnna: x"), ("en", "אנה", "\u200eאנה: x"),
    ],
)  # fmt: skip
def test_a_text_is_introduced_by_the_rules_of_its_language_and_keeps_its_direction(
    code: str, name: str, text: str
) -> None:
    assert introduced(name, "x", language(code)) == text


def test_a_turn_begins_with_another_voice_and_numbers_are_those_of_a_stream() -> None:
    said = [
        ("a", "", False), ("a", "1", True), ("a", "", False), ("a", "1", False), ("b", "1", True),
        ("b", "Anna", True), ("a", "Anna", False), ("a", "2", True), ("a", "\u200b", False),
    ]  # fmt: skip
    turns = Turns()
    begins = [turns.begins(caption(stream=stream, speaker=who)) for stream, who, _ in said]
    assert begins == [wanted for _, _, wanted in said]
    assert not Turns(turns.last).begins(caption(stream="a", speaker="2")), "also in a resumed run"
