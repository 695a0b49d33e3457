"""Every error that a user can fix ends with what to do."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ERRORS = ("UsageError", "InputError", "OutputError")
#: How the part of a sentence begins that says what to do.
VERBS = (
    "add", "allow", "ask", "assemble", "build", "change", "check", "choose", "compile", "connect",
    "convert", "copy", "correct", "create", "did you mean", "do", "download", "export", "fetch", "finish",
    "free", "give", "install", "keep", "leave", "let", "log in", "look", "lower", "make", "measure", "name",
    "nest", "open", "pip install", "prune", "put", "quantise", "record", "remove", "rename", "save", "say",
    "see", "set", "shorten", "start", "take", "separate", "train", "translate", "try", "unset", "use", "wait",
    "write", "`surtitle", "`{}",
)  # fmt: skip
WHAT_TO_DO = re.compile(rf"(?:^|[;:,?] (?:or |and )?)(?:{'|'.join(VERBS)})(?!\w)|\?$|; {{}}$")


#: Sentences whose end is filled in.
FILLED_IN = ("{}", "{}: {}", "{}: the {} cannot be read: {}")


def sentences(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The sentences of a module's errors, with their lines; what is filled in is a brace."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name(name), args=[ast.Constant(str(text)), *_]) if name in ERRORS:
                yield node.lineno, text
            case ast.Call(func=ast.Name(name), args=[ast.JoinedStr(values), *_]) if name in ERRORS:
                yield node.lineno, "".join(spelled(one) for one in values)


def spelled(part: ast.expr) -> str:
    """A part of an f-string."""
    return str(part.value) if isinstance(part, ast.Constant) else "{}"


def says_what_to_do(sentence: str) -> bool:
    """Whether a sentence ends with what to do; the rest of one that is filled in may say it."""
    return WHAT_TO_DO.search(sentence) is not None or sentence in FILLED_IN


@pytest.mark.parametrize("package", ["connectors", "flows", "operators"])
def test_every_error_says_what_to_do(package: str) -> None:
    silent = [
        f"{path.relative_to(ROOT)}:{line}: {sentence}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, sentence in sentences(ast.parse(path.read_text()))
        if not says_what_to_do(sentence)
    ]
    assert silent == []


def test_a_sentence_that_only_complains_is_found() -> None:
    code = 'raise InputError(f"{path} cannot be read")\nraise UsageError("it is wrong; give another")'
    assert [says_what_to_do(text) for _, text in sentences(ast.parse(code))] == [False, True]
