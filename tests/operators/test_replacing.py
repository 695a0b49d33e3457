"""Words of captions are replaced or masked as whole words, and what stands on the screen stays."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.events import Caption
from operators.glossary import Glossary, spelling
from operators.replacing import MASKED, replaced

WORDS = {
    "damn": MASKED, "hell": "heck", "New York": "the city", "New York City Hall": MASKED, "a b": "c",
    "Ada": "the speaker", "馬鹿野郎": MASKED, "馬": "牛",
}  # fmt: skip
LIST = Glossary({spelling(word): other for word, other in WORDS.items()})


def caption(shown: str, withheld: str = "", *, is_final: bool = False, source: str = "") -> Caption:
    return Caption(
        stream="talk", segment=0, revision=0, is_final=is_final, source=source, shown=shown,
        withheld=withheld, start_s=0.0, end_s=1.0, arrival_s=1.0, started_s=1.0, ready_s=1.0, shown_s=1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Damn, damned DAMN!", "****, damned ****!"),
        ("What the hell. Hell, shell-shocked", "What the heck. Heck, shell-shocked"),
        ("Ada says Ada.", "The speaker says the speaker."),
        ("in New York", "in the city"),
        ("at New  York City Hall’s", "at ***  **** **** ****’s"),
        ("この馬鹿野郎！", "この****！"),
        ("ｆｕｌｌ ½ é", "ｆｕｌｌ ½ é"),
        ("", ""),
    ],
)
def test_whole_words_are_replaced_or_masked_and_all_else_stays(text: str, other: str) -> None:
    made = replaced(LIST, caption(text, is_final=True, source=text))
    assert (made.source, made.shown, made.withheld) == (other, other, "")


def test_what_may_begin_a_longer_term_waits_for_the_next_word() -> None:
    made = replaced(LIST, caption("I love New", " York damn", source="New York City"))
    assert (made.shown, made.text, made.source) == ("I love", "I love the city ****", "")
    assert replaced(LIST, caption("I love New York", is_final=True)).shown == "I love the city"


@given(st.lists(st.sampled_from([*" ".join(WORDS).split(), "York", "x", ",", "a", "馬", "鹿"]), max_size=9))
def test_text_that_only_grows_still_only_grows(words: list[str]) -> None:
    text = " ".join(words)
    grown = [caption(" ".join(words[:end]), text[len(" ".join(words[:end])) :]) for end in range(len(words))]
    shown = [replaced(LIST, one) for one in [*grown, caption(text, is_final=True)]]
    for before, after in pairwise(shown):
        assert after.shown.startswith(before.shown)
        assert before.text == shown[-1].text
