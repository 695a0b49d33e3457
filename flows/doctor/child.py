"""The child process of a check, called with its name and arguments: prints its facts as one line of JSON.

What is examined here may crash, hang, or be killed for its memory. Each function imports what it needs, as
importing llama.cpp alone can end the process.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from flows.settings.schema import TranslateSettings


def main() -> None:
    """Run one check."""
    checks: dict[str, Callable[..., msgspec.Struct]] = {
        "library": _library,
        "microphone": _microphone,
        "model": _model,
        "part": _part,
        "speed": _speed,
    }
    name, *arguments = sys.argv[1:]
    facts = checks[name](*arguments)
    sys.stdout.buffer.write(b"\n" + msgspec.json.encode(facts) + b"\n")
    sys.stdout.flush()


def _library() -> msgspec.Struct:
    from connectors.machine.trial import require_library
    from flows.doctor.processor import Library
    from operators.errors import SurtitleError

    try:
        require_library()
    except SurtitleError as error:
        return Library(error=str(error))
    import llama_cpp

    said: str = llama_cpp.llama_print_system_info().decode("utf-8", "replace")
    sets = [part.partition(" = ") for part in said.replace("|", ":").split(":")]
    return Library(uses=tuple(name.strip() for name, _, value in sets if value.strip() == "1"))


def _microphone(wanted: str) -> msgspec.Struct:
    from flows.doctor.microphone import listen

    return listen(wanted or None)


def _model(*named: str) -> msgspec.Struct:
    from flows.doctor.measure import load

    return load(_settings(*named))


def _part(subject: str, file: str, overrides: str) -> msgspec.Struct:
    from flows.doctor.part import Given, PartFacts, sentence
    from operators.errors import SurtitleError

    given = Given(Path(file) if file else None, msgspec.json.decode(overrides))
    try:
        return PartFacts(sentence=sentence(subject, given.load()))
    except SurtitleError as error:
        return PartFacts(error=str(error))


def _speed(*named: str) -> msgspec.Struct:
    from flows.doctor.measure import measure

    return measure(_settings(*named))


def _settings(model: str, source: str, target: str) -> TranslateSettings:
    return TranslateSettings(model=model, source=source, target=target)


if __name__ == "__main__":
    main()
