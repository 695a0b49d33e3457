"""Glossaries of a run: each is for captions in one language, which it may name."""

from operators.errors import UsageError
from operators.languages import Direction, Language, is_language, language

#: One file or several; each may name its language.
Named = str | tuple[str, ...] | None


def parted(given: Named) -> list[tuple[Language | None, str]]:
    """Files, each with the language that it names: ``fr=termes.tsv``."""
    found = list[tuple[Language | None, str]]()
    for one in (given,) if isinstance(given, str) else given or ():
        name, _, file = one.partition("=")
        found.append((language(name), file) if file and is_language(name) else (None, one))
    return found


def of_direction(given: Named, wanted: Direction, first: Direction) -> str | None:
    """The glossary file for the captions of one direction; None if there is none.

    Args:
        given: Files for the spoken language of the ``first`` direction. A file without a language is for the
            captions of that direction.
        first: The first direction of the run.
    """
    files = dict(parted(given))
    if wanted.source == first.source and wanted.target in files:
        return files[wanted.target]
    return files.get(None) if wanted == first else None


def check_files(given: Named, targets: list[Language], *, is_of_first: bool) -> None:
    """Check that each language has at most one file.

    Args:
        targets: The languages of captions.
        is_of_first: Whether a file without a language is for the first of several.

    Raises:
        UsageError: for a second file of a language; for a language without captions; for an ambiguous file.
    """
    files, names = parted(given), " or ".join(dict.fromkeys(one.name for one in targets))
    for named, file in files:
        if named is not None and named not in targets:
            raise UsageError(f"{file} is for {named.name}, but captions are in {names}; leave it out")
        if named is None and len(targets) > 1 and not is_of_first:
            raise UsageError(f"say whether {file} is for {names}, such as {targets[0].code}={file}")
        if len(same := [other for language, other in files if language == named]) > 1:
            raise UsageError(f"{' and '.join(same)} are for the same language; give one file for each")
