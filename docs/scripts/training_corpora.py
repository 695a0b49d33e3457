"""Parallel text to train on, from Debian's packages.

python docs/scripts/training_corpora.py FOLDER --held-out TEXT…

On Debian 12, as any user with ``apt-get`` and ``dpkg-deb``: fetches the packages, installs none, and writes
``en-LANGUAGE.SOURCE.tsv.gz`` (English, tab, translation; UTF-8, no header) for each source into FOLDER, with
a line for each in FOLDER/READY. Sentences of the held-out files (lines of text, or the strings in lines of
JSON) are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from corpora_clean import Pair, clean, is_sentence, key, sentences, word_count
from corpora_kinds import LANGUAGES, Language, Source
from corpora_read import descriptions
from corpora_sources import SOURCES

WANTED = (
    "*.mo",
    "*.qm",
    "*.properties",
    "*/descript/*.txt",
    "*.po",
    "*.html",
    "*.page",
    "*.xml",
    "*.lua",
    "*/stringtables/*.txt",
    "*/de-en",
    "*/public.zip",
    "*/copyright",
)
PLAIN = {"sentences": (3, 10_000), "phrases": (2, 10_000), "words": (1, 1), "labels": (1, 10_000)}


def apt(folder: Path, *command: str) -> str:
    """What an apt program prints, with its lists and cache in ``folder``, apart from the system's own."""
    for name in ("lists/partial", "cache/archives/partial", "debs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": ",".join(["en", *(language.locale for language in LANGUAGES.values())]),
        "APT::Sandbox::User": "",
    }
    settings = [f"-o{name}={value}" for name, value in options.items()]
    finished = subprocess.run(
        [command[0], *settings, *command[1:]],
        cwd=folder / "debs",
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return finished.stdout


def unpack(folder: Path, packages: Iterable[str]) -> None:
    """Fetch packages that are not there yet, and unpack of each what holds text."""
    missing = [name for name in packages if not (folder / "packages" / name).exists()]
    if missing:
        apt(folder, "apt-get", "download", *missing)
    for name in missing:
        target = folder / "packages" / name
        target.mkdir(parents=True)
        (package,) = (folder / "debs").glob(f"{name}_*.deb")
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as archive:
            # tar says 2 where a pattern matches nothing, and no package has all of them.
            subprocess.run(
                ["tar", "-xC", target, "--wildcards", *WANTED],
                stdin=archive.stdout,
                stderr=subprocess.DEVNULL,
            )
        package.unlink()


def indexed(folder: Path, language: Language) -> Iterator[Pair]:
    """The descriptions of Debian's packages, from the archive's indexes in English and ``language``."""
    texts: dict[str, str] = {}
    for name in ("en", language.locale.replace("_", "%5f")):
        for path in (folder / "lists").glob(f"*_dists_bookworm_main_i18n_Translation-{name}.*"):
            texts[name] = apt(folder, "/usr/lib/apt/apt-helper", "cat-file", str(path))
    if len(texts) == 2:
        yield from descriptions(*texts.values())


def keys_of(paths: Iterable[Path]) -> frozenset[str]:
    """The keys of all sentences and lines of files that models are measured on."""
    found: set[str] = set()
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            values = json.loads(line).values() if path.suffix == ".jsonl" else [line]
            for text in (value for value in values if isinstance(value, str)):
                found.update(map(key, [text, *sentences(text)]))
    return frozenset(found - {""})


def selected(
    source: Source, blocks: Iterable[Pair], language: Language, held_out: frozenset[str]
) -> list[Pair]:
    """The clean pairs of one source that are of the kind it is kept for."""
    labels = source.keeps != "sentences"
    least, most = PLAIN[source.keeps]
    return [
        (english, other)
        for english, other in clean(blocks, language.code, held_out, labels=labels)
        if least <= len(english.split()) <= most
        and not (labels and is_sentence(english))
        and not (source.keeps == "labels" and "," in english)  # "Altai, Northern" is how a list sorts a name
    ]


def write(path: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs so that a reader finds the old file or the new, whole."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as file:
        file.writelines(f"{english}\t{other}\n".encode() for english, other in pairs)
    partial.replace(path)


def record(path: Path, name: str, line: str) -> None:
    """Replace or append the line that begins with ``name``."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    kept = [old for old in lines if not old.startswith(f"{name}\t")]
    partial = path.with_suffix(".partial")
    partial.write_text("\n".join([*kept, line]) + "\n", "utf-8")
    partial.replace(path)


def build(folder: Path, source: Source, language: Language, held_out: frozenset[str]) -> str:
    """Fetch, read, clean and write one source; returns the line that records it."""
    if source.packages:
        unpack(folder, map(language.fill, source.packages))
        blocks = source.read(folder / "packages", language)
    else:
        blocks = indexed(folder, language)
    pairs = selected(source, blocks, language, held_out)
    name = f"en-{language.code}.{source.name}.tsv.gz"
    ours = sum(word_count(english, "en") for english, _ in pairs)
    theirs = sum(word_count(other, language.code) for _, other in pairs)
    line = f"{name}\t{len(pairs)} pairs\t{ours} words en, {theirs} {language.code}\t{source.licence}"
    write(folder / name, pairs)
    record(folder / "READY", name, line)
    return line


def main() -> None:
    """Build what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--held-out", type=Path, nargs="*", default=[], help="files of sentences to leave out"
    )
    parser.add_argument("--languages", nargs="*", choices=LANGUAGES, default=["de"])
    parser.add_argument(
        "--sources", nargs="*", choices=[source.name for source in SOURCES], help="all by default"
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    held_out = keys_of(options.held_out)
    if not any((folder / "lists").glob("*Translation-en*")):
        apt(folder, "apt-get", "update")
    for language in (LANGUAGES[code] for code in options.languages):
        for source in SOURCES:
            if language.code in source.languages and source.name in (options.sources or [source.name]):
                print(build(folder, source, language, held_out), flush=True)


if __name__ == "__main__":
    main()
