"""Where subtitles break: into lines and into blocks."""

from itertools import pairwise

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from operators.subtitles.breaking import Text, split
from operators.text import cleaned, clusters, width, wrap
from tests.subtitled import any_text, words


def lines(*texts: str, columns: int = 42, blocks: int = 1) -> list[tuple[str, ...]]:
    return [block.lines for block in split([Text(text, columns) for text in texts], blocks)]


@pytest.mark.parametrize(
    ("text", "columns", "block"),
    [
        ("Guten Morgen. Die Türen sind offen.", 42, ("Guten Morgen. Die Türen sind offen.",)),
        ("aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj kkkk", 42,
         ("aaaa bbbb cccc dddd eeee", "ffff gggg hhhh iiii jjjj kkkk")),
        ("a" + " a" * 21, 42, ("a" + " a" * 10,) * 2),
        ("Er kam, sah und siegte, und dann ging er wieder nach Hause.", 42,
         ("Er kam, sah und siegte,", "und dann ging er wieder nach Hause.")),
        ("Am Abend sprach dort noch der alte Dr. Weber, den wir kannten.", 42,
         ("Am Abend sprach dort noch der", "alte Dr. Weber, den wir kannten.")),
        ("Wir nahmen damals etwa 3.5 bzw. vier Meter an und maßen nach.", 42,
         ("Wir nahmen damals etwa 3.5 bzw.", "vier Meter an und maßen nach.")),
        ("Rindfleischetikettierung und Donau", 26, ("Rindfleischetikettierung", "und Donau")),
        ("x" * 30, 20, ("x" * 20, "x" * 10)),
        ("天気予報によると午後から雨が降るそうです。", 30,
         ("天気予報によると", "午後から雨が降るそうです。")),
        ("東京国際空港じゃ運航再開予定発表未定中止", 30, ("東京国際空港じゃ", "運航再開予定発表未定中止")),
        ("東京国際空港長は「来週運航再開予定発表」", 30, ("東京国際空港長は", "「来週運航再開予定発表」")),
        ("東京国際空港コンピューター制御中央管理室", 30, ("東京国際空港", "コンピューター制御中央管理室")),
    ],
    ids=[
        "what fits stays in a line", "about equal, the upper line shorter", "or equal", "after punctuation",
        "an abbreviation is no end of a sentence", "nor is one in the middle", "no word is divided",
        "unless it is longer than a line", "Japanese: where words end, and no line with a particle alone",
        "with small letters at their end", "and before a quotation", "and not in katakana",
    ],
)  # fmt: skip
def test_lines_break_where_a_reader_expects_it(text: str, columns: int, block: tuple[str, ...]) -> None:
    assert lines(text, columns=columns) == [block]


def test_long_speech_with_little_text_becomes_more_blocks_but_never_crumbs() -> None:
    text = "Er kam an einem kalten Tag, und er ging an einem warmen."
    assert len(lines(text)) == 1
    assert lines(text, blocks=2) == [("Er kam an einem kalten Tag,",), ("und er ging an einem warmen.",)]
    assert len(lines(text, blocks=10**9)) == 2
    assert len(lines("Ja.", blocks=5)) == 1
    assert lines("x" * 42, blocks=5) == [("x" * 42,)], "there is nothing to cut it at"


@pytest.mark.parametrize("blocks", range(2, 8))
def test_blocks_are_of_about_the_same_length(blocks: int) -> None:
    made = lines(" ".join(["aaaa"] * 12 * blocks), blocks=blocks)
    assert len(made) == blocks
    assert all(11 <= len(" ".join(block).split()) <= 13 for block in made)


def test_two_languages_are_cut_at_the_same_sentences() -> None:
    assert lines(
        "Welcome to the museum. The tour begins at ten in the great hall.",
        "Willkommen im Museum. Die Führung beginnt um zehn in der Halle.",
    ) == [
        ("Welcome to the museum.", "Willkommen im Museum."),
        ("The tour begins at ten in the great hall.", "Die Führung beginnt um zehn in der Halle."),
    ]


def test_a_word_that_cannot_be_cut_stands_by_the_longer_part_of_its_translation() -> None:
    short, long, word = "Ach so.", "Das habe ich aber noch gar nicht gewusst.", "Donnerwetter"
    assert lines(f"{short} {long}", word) == [(short,), (long, word)]
    assert lines(f"{long} {short}", word) == [(long, word), (short,)]
    assert lines(f"{'x' * 26} {'y' * 25}", word) == [("x" * 26, word), ("y" * 25,)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("مرحبا بكم في ABC.", "\u202bمرحبا بكم في ABC.\u202c"),
        ("ABC: שלום עולם", "\u202bABC: שלום עולם\u202c"),
        ("The word is שלום.", "\u202aThe word is שלום.\u202c"),
        ("OK כן", "\u202bOK כן\u202c"),
        ("Grüße", "Grüße"),
    ],
)
def test_right_to_left_text_is_kept_in_order(text: str, expected: str) -> None:
    assert lines(text) == [(expected,)]


def plain(line: str) -> str:
    return line.strip("\u202a\u202b\u202c")


@given(any_text | words, st.sampled_from([2, 30, 42]), st.integers(1, 5))
def test_any_text_is_there_in_order_in_lines_that_fit(text: str, columns: int, blocks: int) -> None:
    text = cleaned(text)
    made = lines(text, columns=columns, blocks=blocks)
    assert all(1 <= len(block) <= 2 for block in made)
    found = [plain(line) for block in made for line in block]
    assert all(line.strip() and width(line) <= columns for line in found)
    assert regex.sub(r"\s", "", "".join(found)) == regex.sub(r"\s", "", text)


@given(words)
@example(
    "aaaa cccccccc cccccccc bbb dd. gggggggggggg cccccccc dd. f aaaa bbb f eeeeeee, "
    "eeeeeee, aaaa dd. hhhhh aaaa bbb"
)
def test_words_stay_whole_and_blocks_are_as_few_as_they_can_be_where_they_are(text: str) -> None:
    made = [" ".join(block) for block in lines(text)]
    assert " ".join(made) == text
    assert all(len(wrap(f"{one} {other}", 42)) > 2 for one, other in pairwise(made))


@given(any_text | words, any_text | words)
def test_any_two_texts_share_their_blocks_line_by_line(source: str, target: str) -> None:
    source, target = cleaned(source), cleaned(target)
    if not (source.strip() and target.strip()):
        return
    made = split([Text(source, 42), Text(target, 30)], 1)
    assert all(1 <= len(block.lines) <= 2 and block.columns <= 42 for block in made)
    together = "".join(plain(line) for block in made for line in block.lines)
    assert sorted(regex.sub(r"\s", "", together)) == sorted(regex.sub(r"\s", "", source + target))


@given(st.text("ae\u0301漢\u302a\u200d👩👧\ufe0f ", max_size=200), st.sampled_from([2, 30]))
def test_no_character_is_divided(text: str, columns: int) -> None:
    text = cleaned(text)
    ends, at = set(), 0
    for cluster in clusters(text.replace(" ", "")):
        at += len(cluster)
        ends.add(at)
    # A space in front of a combining mark holds it; without the space it joins what is before.
    if clusters(text.replace(" ", "")) != [one for one in clusters(text) if one != " "]:
        return
    at = 0
    for block in lines(text, columns=columns):
        for line in block:
            at += len(line.replace(" ", ""))
            assert at in ends


def test_hostile_text_costs_no_more_than_its_length() -> None:
    for hostile in ("、" * 20_000, "\u302a" * 20_000, "漢" * 20_000, "a " * 20_000, "\u0301" * 20_000):
        made = split([Text(cleaned(hostile), 42), Text("a", 42)], 10**9)
        assert all(one != other for one, other in pairwise(map(id, made)))
