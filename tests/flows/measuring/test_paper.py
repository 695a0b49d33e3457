"""The paper's tables: its own figures as printed there, ours beside them, and a command for every dash."""

import pytest
from rich.console import Console

from flows.measuring.methods.paper import MASKS, paper_tables
from flows.pages.table import Table
from tests.flows.measuring.made_rows import made

RECORDED = "talk.jsonl|updates:recorded"


def lines(table: Table) -> dict[str, tuple[str, ...]]:
    """The cells of each line; those of a language are named after it."""
    named, pair = {}, ""
    for name, *cells in table.rows:
        pair = name if "→" in name else pair
        if name != pair:
            named[f"{pair} {name}".strip()] = tuple(cells)
    return named


def test_tables_2_and_6_have_the_papers_lines_with_our_own_cells_before_the_papers() -> None:
    table, *_, other = paper_tables(made())
    ours, theirs = lines(table), lines(other)
    assert (
        [*ours]
        == [*theirs]
        == [f"en→{to} {method}" for to in ("de", "zh", "ja") for method in ("RT", "SSBD")]
    )
    assert table.columns == ("", *("COMET", "NE", "A/D", "A/O", "TPS", "×") * 3)
    assert table.groups == (("here", 6), ("Tower+ 2B", 6), ("Qwen3 4B", 6))
    assert ours["en→de SSBD"] == (
        "–", "0.50", "90.0", "20.0", "50", "1.50",
        "0.877", "0.77", "79.0", "63.1", "101", "1.69", "0.843", "0.82", "74.7", "58.9", "74", "1.53",
    )  # fmt: skip
    assert ours["en→de RT"][6:12] == ("0.877", "1.17", "", "", "60", "1.00")
    assert ours["en→ja SSBD"][:6] == ("–",) * 6
    assert theirs["en→zh SSBD"][6:] == (
        "0.824", "1.71", "74.5", "53.8", "84", "1.42", "0.833", "1.84", "67.5", "48.5", "59", "1.28"
    )  # fmt: skip


def test_what_a_recogniser_said_fills_table_6_and_not_table_2() -> None:
    table, *_, other = paper_tables(made(corpus=RECORDED, target="Japanese"))
    assert lines(table)["en→ja SSBD"][:6] == ("–",) * 6
    assert lines(other)["en→ja SSBD"][1:6] == ("0.50", "90.0", "20.0", "50", "1.50")


def test_a_language_that_the_paper_has_not_gets_lines_of_its_own() -> None:
    table = paper_tables(made(target="French"))[0]
    assert lines(table)["en→fr SSBD"] == ("–", "0.50", "90.0", "20.0", "50", "1.50", *[""] * 12)


def test_tables_3_and_4_have_the_papers_lines_and_figures() -> None:
    _, biases, masks, _ = paper_tables(made(comet=0.81234))
    assert [*lines(biases)] == ["RT", "0", "0.1", "0.2", "0.3", "0.4", "0.5", "1", "CD"]
    assert lines(biases)["0.3"] == (
        "0.812", "0.50", "90.0", "30.0", "1.50", "1.30", "30.0", "0.870", "0.83", "77.3", "61.4", "1.58"
    )  # fmt: skip
    assert {lines(biases)[name][7:] for name in ("0.5", "1", "CD")} == {
        ("0.742", "0.00", "100", "77.5", "2.10")
    }
    assert [*lines(masks)] == [
        "no mask", *(f"mask-{k} in the draft" for k in MASKS), *(f"display-only mask-{k}" for k in MASKS),
    ]  # fmt: skip
    assert lines(masks)["mask-5 in the draft"][7:] == ("0.881", "0.34", "84.5", "47.2", "1.39")


def test_a_line_below_says_which_command_fills_a_dash() -> None:
    run = made()._replace(reference="a.de", options=("--limit", "9"))
    table, *_, other = paper_tables(run)
    assert (
        table.notes[0] == "en→zh: surtitle bench a.txt --reference TRANSLATION --to Chinese --limit 9 --paper"
    )
    assert other.notes == (
        "Not measured in this run: surtitle bench PARTIALS.jsonl --to German --limit 9 --paper",
    )
    comet = "COMET: surtitle bench a.txt --reference a.de --to German --limit 9 --comet MODEL.ckpt --paper"
    assert comet in run.closing()
    assert not any("COMET:" in line for line in made(comet=0.8).closing())
    assert any("tokens of 13a" in line for line in run.closing())
    flores = run._replace(signature={**run.signature, "tokenizer": "flores101"})
    assert not any("tokens of" in line for line in flores.closing()[:-2])


@pytest.mark.parametrize("corpus", ["a.txt|updates:3-words", RECORDED])
def test_the_tables_fit_a_terminal_of_100_columns_with_each_group_over_its_columns(corpus: str) -> None:
    run = made(corpus=corpus, comet=0.8, tokens_per_second=987.0, accepted_over_drafted=1.0)
    for table in paper_tables(run):
        console = Console(width=100, record=True, force_terminal=False)
        with console.capture() as printed:
            console.print(table.rich())
        heading, columns, *cells = printed.get().splitlines()
        assert len(cells) == len(table.rows)
        assert max(map(len, (heading, columns, *cells))) <= 100
        starts = [place for place in range(len(columns)) if columns.startswith("COMET", place)]
        assert [heading.index(name) for name, _ in table.groups] == starts
