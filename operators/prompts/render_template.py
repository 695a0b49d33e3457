"""Renders a chat template, as a separate program with little time and little memory.

A template is code from a model file. jinja2's sandbox isolates it from the machine, and process limits keep
it from running or growing forever. Reads one JSON object from stdin (``template`` and its ``variables``) and
writes one (``text`` or ``error``) to stdout. Templates get what transformers offers, for which they are
written.
"""

import json
import sys
from contextlib import suppress
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

CPU_S = 5
MEMORY_BYTES = 1 << 30
MAX_TEXT = 1_000_000
#: Maximum characters of an error, because a template writes its own.
MAX_ERROR = 1000


class GenerationBlock(Extension):
    """``{% generation %}`` marks the text that a model is trained on; here only its content counts."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Replace the block by its content."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def render(template: str, variables: dict[str, Any]) -> str:
    """The text of a template. Raises jinja2's errors, and any error that the template's code causes."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlock, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
    parts: list[str] = []
    length = 0
    for part in environment.from_string(template).generate(**variables):
        length += len(part)
        if length > MAX_TEXT:
            raise ValueError("it does not end")
        parts.append(part)
    return "".join(parts)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _to_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _bound() -> None:
    with suppress(ImportError, ValueError, OSError):  # a system without these limits has only the timeout
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def main() -> None:
    """Answer one request."""
    _bound()
    request = json.load(sys.stdin)
    try:
        answer = {"text": render(request["template"], request["variables"])}
    except Exception as error:  # noqa: BLE001 - a template can raise whatever it likes
        answer = {"error": f"{error}"[:MAX_ERROR] or type(error).__name__}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
