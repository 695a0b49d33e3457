"""The page's half of the protocol against Python's own texts, in a real browser."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.web.serving import Served
from tests.web_pages import Visit

_APPLY = """async (messages) => {
    const { applied, NOTHING } = await import("/static/protocol.js");
    const known = messages.reduce(applied, NOTHING);
    return [...known.segments.values()];
}"""
_TEXTS = st.lists(st.text(st.sampled_from("aß é漢🎭👩🏽\u200d\u0301ع"), max_size=12), min_size=1, max_size=8)


def _updates(texts: list[str]) -> list[dict[str, Any]]:
    before, updates = "", []
    for text in texts:
        keep = next((n for n in range(len(text), -1, -1) if before.startswith(text[:n])), 0)
        new = {"keep": keep, "append": text[keep:], "source_keep": keep, "source_append": text[keep:]}
        updates.append({"type": "update", "segment": 3, "settled": keep, "final": False} | new)
        before = text
    return updates


def test_positions_are_code_points_as_in_python(captions: Served, visit: Visit) -> None:
    page = visit(captions.address)

    @given(_TEXTS)
    def check(texts: list[str]) -> None:
        (segment,) = page.evaluate(_APPLY, _updates(texts))
        assert segment["text"] == segment["source"] == texts[-1]

    check()


def test_a_cut_never_parts_a_character_nor_loses_one(captions: Served, visit: Visit) -> None:
    page = visit(captions.address)

    @given(_TEXTS, st.integers(0, 40))
    def check(texts: list[str], count: int) -> None:
        text = "".join(texts)
        head, tail = page.evaluate(
            "async ([text, n]) => (await import('/static/protocol.js')).split(text, n)", [text, count]
        )
        assert head + tail == text
        assert len(head) <= count
        assert not tail or not head or tail[0] not in "\u200d\u0301🏽"

    check()
