"""The pure parts of the pages: texts from events, rows that stay, and pages that go forward."""

from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page

from tests.connectors.web.serving import Served
from tests.web_pages import Visit

# Rows of 20 letters, which break at spaces.
_FIT = """(text, wide = 1) => {
    const most = Math.floor(20 * wide);
    if (text.trimEnd().length <= most) return text.length;
    const at = text.lastIndexOf(" ", most);
    return at > 0 ? at + 1 : most;
}"""
_ROWS = f"""async (texts) => {{
    const {{ broken, NO_ROWS }} = await import("/static/rows.js");
    let rows = NO_ROWS;
    return texts.map((text) => {{
        rows = broken(rows, text, {_FIT});
        return rows.starts.map((start, row) => text.slice(start, rows.starts[row + 1]));
    }});
}}"""
# Says each text at its time; what is on display then and at all times when it changes, as [time, rows].
_PAGES = f"""async ([says, lines]) => {{
    const {{ Pages }} = await import("/static/pages.js");
    const pages = new Pages({{ lines, pace: 18, fit: {_FIT} }}), shown = [], texts = new Map();
    const words = ({{ segment, row, text }}) => [`${{segment}}/${{row}}`, text];
    const look = (now) => {{
        const {{ rows, next }} = pages.at(now);
        shown.push([now, rows.map(words)]);
        return now + next;
    }};
    let next = Infinity;
    for (const [now, segment, text, isOver] of [...says, [Infinity]]) {{
        while (next < Math.min(now, 1e6)) next = look(next + 1e-6);
        if (segment === undefined) break;
        texts.set(segment, [segment, text, isOver]);
        pages.say([...texts.values()], now);
        next = look(now);
    }}
    return shown;
}}"""

_WORDS = st.text("abcdefgh", min_size=1, max_size=9)


class _Said(NamedTuple):
    time_s: float
    segment: int
    text: str
    is_over: bool


@st.composite
def _talks(draw: st.DrawFn) -> list[_Said]:
    """Sentences that grow by some words at a time."""
    time_s, said = 0.0, []
    for segment in range(draw(st.integers(1, 4))):
        # All of them at once are no more than somebody can say.
        words = draw(st.lists(_WORDS, min_size=1, max_size=12))
        ends = sorted({*draw(st.lists(st.integers(1, len(words)), max_size=6)), len(words)})
        for end in ends:
            time_s += draw(st.floats(0, 6))
            said.append(_Said(time_s, segment, " ".join(words[:end]), end == len(words)))
    return said


def _show(page: Page, talk: list[_Said], lines: int) -> list[tuple[float, list[list[str]]]]:
    return [(at, rows) for at, rows in page.evaluate(_PAGES, [[list(said) for said in talk], lines])]


def _numbered(words: list[str], first: int = 0) -> list[str]:
    """The words with numbers, so that no two are the same."""
    return [f"{word}{number}" for number, word in enumerate(words, first)]


def test_a_word_that_is_replaced_leaves_all_words_in_their_rows(captions: Served, visit: Visit) -> None:
    page = visit(captions.address)

    @given(st.data())
    def check(data: st.DataObject) -> None:
        words = _numbered(data.draw(st.lists(_WORDS, min_size=1, max_size=30)))
        texts = [" ".join(words)]
        for letter in "vwxyz":
            at = data.draw(st.integers(0, len(words) - 1))
            # Another word of the same length.
            words[at] = letter + words[at][1:]
            words += _numbered(data.draw(st.lists(_WORDS, max_size=3)), len(words))
            texts.append(" ".join(words))
        history = page.evaluate(_ROWS, texts)
        assert ["".join(rows) for rows in history] == texts
        counts = [[len(row.split()) for row in rows[:-1]] for rows in history]
        for before, after in pairwise(counts):
            assert after[: len(before)] == before, "a full row has other words than before"

    check()


def test_every_word_is_shown_once_in_its_order_and_place_within_eight_seconds(
    captions: Served, visit: Visit
) -> None:
    page = visit(captions.address)

    @given(_talks(), st.integers(1, 4))
    def check(talk: list[_Said], lines: int) -> None:
        history = _show(page, talk, lines)
        seen: dict[str, str] = {}
        places: dict[str, int] = {}
        for _, rows in history:
            assert len(rows) <= lines
            for place, (name, text) in enumerate(rows):
                assert places.setdefault(name, place) == place, "a row moved"
                seen[name] = text
        # Row by row everything that was said was on display, in its order.
        said = [word for one in talk if one.is_over for word in one.text.split()]
        assert [word for text in seen.values() for word in text.split()] == said
        for name in seen:
            on = "".join("01"[any(name == one for one, _ in rows)] for _, rows in history)
            assert "0" not in on.strip("0"), "a row came back"
        for time_s, segment, text, _ in talk:
            count = len(text.split())
            first = next(at for at, _ in history if at >= time_s and _reached(history, at, segment) >= count)
            assert first - time_s < 8.01, "a word waited too long"

    check()


def _reached(history: list[tuple[float, list[list[str]]]], time_s: float, segment: int) -> int:
    """How many words of a segment were on display until a time."""
    rows = {name: text for at, all_ in history if at <= time_s for name, text in all_}
    return sum(len(text.split()) for name, text in rows.items() if name.split("/")[0] == str(segment))


def test_a_page_stays_until_it_can_have_been_read(captions: Served, visit: Visit) -> None:
    page = visit(captions.address)
    text = "zwanzig Buchstaben a " * 4
    pages = _show(page, [_Said(0.0, 0, text.strip(), True)], 2)
    assert [len(rows) for _, rows in pages] == [2, 2]
    # 40 letters, 18 in a second.
    assert abs(pages[1][0] - 40 / 18) < 0.2


def test_after_a_long_outage_only_the_newest_is_shown(captions: Served, visit: Visit) -> None:
    page = visit(captions.address)
    talk = [_Said(1.0, segment, "zwanzig Buchstaben a", True) for segment in range(200)]
    history = _show(page, talk, 2)
    assert history[-1][1][-1][0] == "199/0"
    ends = [time_s for time_s, _ in history if time_s > 1.0]
    assert ends[-1] - 1.0 <= 8.01
    assert all(after - before > 0.3 for before, after in pairwise(ends))


@st.composite
def _revised_talks(draw: st.DrawFn) -> list[_Said]:
    """A sentence of different words, in which words are added, replaced and taken out anywhere."""
    time_s, count, words, said = 0.0, 0, list[str](), []
    for _ in range(draw(st.integers(2, 12))):
        at = draw(st.integers(0, len(words)))
        taken = draw(st.integers(0, 3))
        new = _numbered(draw(st.lists(_WORDS, max_size=12)), count)
        count += len(new)
        words[at : at + taken] = new
        time_s += draw(st.floats(0, 4))
        said.append(_Said(time_s, 0, " ".join(words), False))
    return said


def test_what_has_left_the_display_never_comes_back_however_it_is_revised(
    captions: Served, visit: Visit
) -> None:
    page = visit(captions.address)

    @given(_revised_talks(), st.integers(1, 3))
    def check(talk: list[_Said], lines: int) -> None:
        history = _show(page, talk, lines)
        left: set[str] = set()
        top = 0
        for (_, before), (now_s, rows) in pairwise(history):
            numbers = [int(name.split("/")[1]) for name, _ in rows]
            assert numbers == sorted(set(numbers))
            assert top <= min(numbers, default=top)
            top = min(numbers, default=top)
            left |= {word for name, row in before if int(name.split("/")[1]) < top for word in row.split()}
            # What a revision takes out may be said again, and is then another word.
            said = next(one.text for one in reversed(talk) if one.time_s <= now_s).split()
            left &= set(said)
            assert not left & {word for _, row in rows for word in row.split()}

    check()


# Texts from events

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
