"""Commands that align words: surtitle model align and surtitle model lexicon."""

from pathlib import Path
from typing import Annotated

import typer

from connectors.files.atomic import atomic_file
from connectors.files.distinct import check_distinct
from connectors.files.output import make_folder
from flows.running.waiting import Waiting
from operators.errors import UsageError, printable
from operators.glossary import lexicon_lines
from operators.languages import language


def align(
    pairs: Annotated[
        list[Path], typer.Argument(help="Pairs: a source, a tab and its translation in each line (.gz too).")
    ],
    target: Annotated[str, typer.Option("--to", help="Language of the translations.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for a file of each name.")],
    way: Annotated[
        str, typer.Option("--by", help="alignment of words, or proportion of lengths.")
    ] = "alignment",
    seed: Annotated[int, typer.Option(help="Random seed of the alignment.")] = 1,
) -> None:
    """Add a column to pairs that says how much of the translation each prefix of the source supports.

    All files are aligned together, because small ones profit from large ones.
    """
    # Imported here because other commands do not need it and should start fast.
    from connectors.corpora import read_texts, write_aligned
    from operators.training.pairs import by_alignment, by_proportion

    if way not in ("alignment", "proportion"):
        raise UsageError(f"--by {way!r} is unknown; choose alignment or proportion")
    names = [output / f"{_stem(path)}.tsv.gz" for path in pairs]
    if len(set(names)) < len(names):
        raise UsageError("two of the files have the same name; give them different ones")
    make_folder(output)
    check_distinct([(name.name, name) for name in names], pairs)
    code = language(target).code
    with Waiting(quiet=False, captions=False) as waiting:
        texts = [read_texts(path) for path in pairs]
        every = [pair for file in texts for pair in file]
        if way == "proportion":
            made = by_proportion(every, code)
        else:
            made = by_alignment(
                every, code, seed=seed, progress=lambda part: waiting.doing("aligning words", part)
            )
        rest = iter(made)
        for name, file in zip(names, texts, strict=True):
            write_aligned(name, [next(rest) for _ in file])
            print(f"{printable(str(name))}: {len(file)} pairs")


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".tsv")


#: A mapped file of this size costs no memory to speak of.
_MAX_BYTES = 5_000_000


def lexicon(
    pairs: Annotated[
        list[Path], typer.Argument(help="Pairs: a source, a tab and its translation in each line (.gz too).")
    ],
    target: Annotated[str, typer.Option("--to", help="Language of the translations.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The lexicon to write.")],
    about: Annotated[str, typer.Option(help="Sources and licences, for the lexicon's first line.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed of the alignment.")] = 1,
) -> None:
    """Make a lexicon for --dictionary of pairs: how each rarer word was translated, and how often.

    All files are aligned together; more pairs give better translations.
    """
    # Imported here because other commands do not need it and should start fast.
    from connectors.corpora import read_texts
    from operators.training.alignment import LinkedPair, align, lexicon_entries, pieces

    check_distinct([("--output", output)], pairs)
    code = language(target).code
    with Waiting(quiet=False, captions=False) as waiting:
        sides = [
            (source.split(), pieces(translation, code))
            for path in pairs
            for source, translation in read_texts(path)
        ]
        links = align(sides, seed=seed, progress=lambda part: waiting.doing("aligning words", part))
        entries = lexicon_entries(LinkedPair(*side, found) for side, found in zip(sides, links, strict=True))
        data = b"".join(lexicon_lines(" ".join(about.split()) or "no sources named", entries))
        if len(data) > _MAX_BYTES:
            raise UsageError(
                f"the lexicon would have {len(data):,} bytes; give fewer pairs, for {_MAX_BYTES:,} at most"
            )
        with atomic_file(output) as file:
            file.write(data)
        common = sum(not translations for translations in entries.values())
        made = f"{len(entries) - common} words, {common} common ones, {len(data):,} bytes"
        print(f"{printable(str(output))}: {made}")
