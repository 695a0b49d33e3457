"""A glossary from end to end on the real model: what it changes, and what it leaves alone."""

import json
from pathlib import Path

import pytest

from tests.flows.talk import partials, write
from tests.program import surtitle

#: What two speakers say, update by update; the second one says no term.
SAID = {
    "talk": [
        "We are going",
        "We are going to focus on lexical",
        "We are going to focus on lexical borrowing.",
    ],
    "hall": ["Good morning, everyone,", "Good morning, everyone, and welcome to the city."],
}
TERMS = "lexical borrowing\tlexikalische Entlehnung\nwelcome party\tWillkommensfeier\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    said = [one for stream, texts in SAID.items() for one in partials([texts], stream=stream)]
    write(tmp_path / "partials.jsonl", said)
    (tmp_path / "terms.tsv").write_text(TERMS)
    return tmp_path


def captions(folder: Path, name: str, *arguments: object) -> dict[str, str]:
    """The last caption of each stream, by a command that writes them to the file of this name."""
    done = surtitle(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = (folder / name).read_text().splitlines()
    return {one["stream"]: one["shown"] for one in map(json.loads, lines) if one["is_final"]}


def test_captions_say_the_glossarys_words_alone_and_in_rooms(folder: Path) -> None:
    replay = ("replay", "partials.jsonl", "--quiet", "--set", "translate.threads=1")
    plain = captions(folder, "plain.jsonl", *replay, "--captions", "plain.jsonl")
    assert "lexikalische Entlehnung" not in plain["talk"]
    terms = ("--glossary", "terms.tsv")
    leaning = captions(folder, "leaning.jsonl", *replay, *terms, "--captions", "leaning.jsonl")
    assert "lexikalische Entlehnung" in leaning["talk"]
    # Nobody has said a term there.
    assert leaning["hall"] == plain["hall"]
    rooms = captions(
        folder, "rooms.jsonl", *replay, *terms, "--set", "translate.rooms=2", "--captions", "rooms.jsonl"
    )
    assert "lexikalische Entlehnung" in rooms["talk"]


def test_a_benchmark_counts_the_terms_that_came_out_right(folder: Path) -> None:
    (folder / "text.txt").write_text("We are going to focus on lexical borrowing.\n")
    done = surtitle(
        "bench", "text.txt", "--to", "German", "--vary", "method=ssbd", "--vary", "glossary=none,terms.tsv",
        "--repeat", 1, "--set", "translate.threads=1", "--json", "out.json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads((folder / "out.json").read_text())
    found = [
        (*map(row["settings"].get, ("method", "glossary")), row["metrics"]["terms"])
        for row in results["rows"]
    ]
    assert found == [("retranslate", None, 0.0), ("ssbd", None, 0.0), ("ssbd", "terms.tsv", 1.0)]
    assert results["signature"]["glossary"].startswith("terms.tsv|")
    assert "ssbd accept=utility-0.6 beam=4 glossary=terms.tsv" in done.stdout
