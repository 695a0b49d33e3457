"""Adds names of countries and cities to a lexicon, from Unicode's CLDR.

python docs/scripts/lexicon_names.py operators/models/captions/en-ja/lexicon.tsv

A lexicon made from parallel texts has the names that occur there, and a small model invents the others:
"Hong Kong" became the Philippines. CLDR names 250 countries, and up to 400 cities (Unicode License V3);
the package babel contains it: pip install babel. What the lexicon has already is left as it is.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from babel import Locale

from connectors.files.atomic import write_atomically
from operators.glossary import MAX_WORDS, Lexicon, Translation, lexicon_lines, words_of
from operators.text import cleaned

#: Chinese captions are in simplified characters.
LOCALES = {"zh": "zh_Hans"}
#: What people say instead of CLDR's English names.
ALIASES = {
    "America": "US", "USA": "US", "Burma": "MM", "Cape Verde": "CV", "Czech Republic": "CZ",
    "East Timor": "TL", "European Union": "EU", "Great Britain": "GB", "Holland": "NL", "Ivory Coast": "CI",
    "Macedonia": "MK", "Palestine": "PS", "Swaziland": "SZ", "Turkey": "TR", "UK": "GB",
    "United Nations": "UN",
}  # fmt: skip
#: Time zones of places that few speak of; their names are those of better known ones.
REMOTE = ("Antarctica/", "America/Indiana/", "America/Kentucky/", "America/North_Dakota/", "Etc/")
#: Names that are more often a word, a person or another place.
OTHERS = frozenset(
    {
        "Christmas", "Currie", "Darwin", "Easter", "Jersey", "Johnston", "Jordan", "Lindeman", "Midway",
        "Nelson", "Nome", "Oral", "Regina", "Resolute", "Stanley", "Thomas", "Vincent", "Wake", "Wallis",
    }
)  # fmt: skip


def main() -> None:
    """Add the names, and say how many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lexicon", type=Path, help="a file of the folder that is named by its direction")
    path: Path = parser.parse_args().lexicon
    source, target = path.absolute().parent.name.split("-")
    about, entries = read(path)
    known = Lexicon(path.read_bytes())
    added = {
        phrase: [Translation(name)] for phrase, name in names(source, target) if known.find(phrase) is None
    }
    sources, *rest = about.split("; ")
    lines = lexicon_lines("; ".join([f"{sources}, CLDR (Unicode License V3)", *rest]), entries | added)
    write_atomically(path, b"".join(lines))
    print(f"{path}: {len(added)} names added")


def read(path: Path) -> tuple[str, dict[str, list[Translation]]]:
    """What a lexicon says of itself, and its entries."""
    first, *lines = path.read_text("utf-8").splitlines()
    entries: dict[str, list[Translation]] = {}
    for line in lines:
        phrase, text, percent = line.split("\t")
        found = entries.setdefault(phrase, [])
        if text:
            found.append(Translation(text, float(percent) / 100))
    return first.split(" ", 2)[2], entries


def names(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Phrases as a lexicon has them, and what they are called."""
    ours, theirs = Locale.parse(source), Locale.parse(LOCALES.get(target, target))
    # Codes that begin with Q, X or Z are not those of countries.
    codes = [code for code in ours.territories if len(code) == 2 and code[0] not in "QXZ"]
    places = {plain(ours.territories[code]): code for code in codes}
    for name, code in (places | ALIASES).items():
        yield from usable(name, theirs.territories.get(code, ""), target)
    for zone, about in theirs.time_zones.items():
        if zone.startswith(REMOTE):
            continue
        own = ours.time_zones.get(zone, {}).get("city") or zone.rpartition("/")[2].replace("_", " ")
        yield from usable(plain(own), about.get("city", ""), target)


def usable(name: str, other: str, target: str) -> Iterator[tuple[str, str]]:
    """A name and its translation, if they can be looked up, and said in any sentence."""
    phrase, other = words_of(name), plain(other)
    # "Vereinigte Staaten" is declined.
    declined = target == "de" and " " in other
    if name not in OTHERS and other and not declined and len(phrase) <= MAX_WORDS:
        yield " ".join(phrase).casefold(), other


def plain(name: str) -> str:
    """A name without what tells it from others: "Myanmar (Burma)", "Congo - Kinshasa", "Knox, Indiana"."""
    return cleaned(re.split(r"[(（\[,，、]| - ", name)[0].replace("&", "and"))


if __name__ == "__main__":
    main()
