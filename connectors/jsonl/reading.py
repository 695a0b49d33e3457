"""Reads files of events outside of a flow: which type they have, and whether all lines are valid."""

from collections.abc import Callable, Iterator
from pathlib import Path

from connectors.files.line_reader import MAX_LINE_BYTES, LineReader
from connectors.jsonl.lines import BadLine, E, LineDecoder, type_of_line
from connectors.jsonl.order import SegmentOrder
from operators.errors import InputError
from operators.events import Event


def event_type_of(path: Path) -> type[Event]:
    """The event type of a file, judged by its first line that is an event at all.

    The search is limited to the maximum length of one line, so that a huge file of another kind costs little.

    Raises:
        InputError: when the file cannot be read or none of these lines is an event.
    """
    first_bad: InputError | None = None
    with LineReader(path) as lines:
        for line in lines:
            try:
                return type_of_line(line)
            except BadLine as bad:
                first_bad = first_bad or input_error(lines, bad, line, skips_bad=False)
            if lines.offset > MAX_LINE_BYTES:
                break
    raise first_bad or InputError(f"{path} is empty; give a file of events, one JSON object per line")


def validate(path: Path, event_type: type[Event]) -> int:
    """Read a file once to check that all of it can be used, and count its events.

    Raises:
        InputError: for the first unusable line, with file, line, field and what was expected.
    """
    return sum(1 for _ in read_events(path, event_type, skips_bad=True))


def read_events(
    path: Path, event_type: type[E], cut: Callable[[str], None] | None = None, *, skips_bad: bool = False
) -> Iterator[E]:
    """The events of a file, one at a time, outside of a flow.

    Args:
        cut: Gets a sentence when the last line is incomplete, as after a crash, and is skipped.
        skips_bad: Whether the command has the option ``--skip-bad``.

    Raises:
        InputError: for the first unusable line, with file, line, field and what was expected.
    """
    decoder, order = LineDecoder(event_type), SegmentOrder()
    with LineReader(path) as lines:
        for line in lines:
            try:
                event = decoder.decode(line)
                order.check(event, lines.number)
            except BadLine as bad:
                if cut is None or not is_cut(line, bad):
                    raise input_error(lines, bad, line, skips_bad=skips_bad) from None
                cut(f"{path}, line {lines.number}: the file was cut there; all lines before it are used")
                return
            yield event


def is_cut(line: bytes, bad: BadLine) -> bool:
    """Whether the last line of a file was only partly written."""
    return not line.endswith(b"\n") and not bad.is_json


def input_error(lines: LineReader, bad: BadLine, line: bytes, *, skips_bad: bool) -> InputError:
    """An error that names the file, the line, the problem and, if there is one, the option against it."""
    what_to_do = "correct that line, or remove it"
    if is_cut(line, bad):
        what_to_do = f"the file was cut there: remove that line{', or use --skip-bad' if skips_bad else ''}"
    elif lines.number == 1 and not bad.is_json:
        what_to_do = "give a file of events, one JSON object per line"
    return InputError(f"{lines.path}, line {lines.number}: {bad}; {what_to_do}")
