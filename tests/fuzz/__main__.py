"""Asks the subjects inputs that grow by what they reach: ``python -m tests.fuzz FOLDER SUBJECT [OPTION...]``.

Coverage is what atheris sees of surtitle's own modules; options are libFuzzer's. What is answered wrongly is
left in the folder as ``crash-…``, ``timeout-…`` or ``oom-…``, and the exit code is not 0.
"""

import contextlib
import io
import shutil
import sys
from pathlib import Path
from random import Random

import atheris

with (
    contextlib.redirect_stderr(io.StringIO()),
    atheris.instrument_imports(include=["connectors", "flows", "operators", "tomllib", "h11", "uvicorn"]),
):
    from tests.fuzz.mutation import mutated
    from tests.fuzz.subjects import SUBJECTS


def main(folder: Path, name: str, options: list[str]) -> None:
    """Ask one subject until an option says that it is enough."""
    subject = SUBJECTS[name]
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate((*subject.seeds, *subject.found.values())):
        (corpus / f"seed-{number}").write_bytes(seed)
    # libFuzzer's own dictionary: a token in each line, with all bytes as escapes.
    tokens = {token for token in subject.tokens if 0 < len(token) <= 64}
    lines = ('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in sorted(tokens))
    dictionary = folder / f"{name}.dict"
    dictionary.write_text("".join(lines))
    # libFuzzer ends the process itself: nothing would remove a folder of a new name each time.
    scratch = folder / f"{name}.scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()

    def ask(data: bytes) -> None:
        subject.ask(data, scratch)

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        random = Random(seed)
        match random.randrange(4):
            case 0:
                return bytes(atheris.Mutate(data, longest))
            case 1:
                # All that native code reads looks the same to it: valid inputs would soon be gone.
                return mutated(random.choice(subject.seeds), subject, random)[:longest]
            case _:
                return mutated(data, subject, random)[:longest]

    options = [f"-dict={dictionary}", f"-artifact_prefix={folder}/{name}-", *options]
    atheris.Setup([sys.argv[0], *options, str(corpus)], ask, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
