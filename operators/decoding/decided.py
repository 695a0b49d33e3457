"""What observed passes decided, derived from the method's next request and from its result."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from operators.decoding.forward import Decoded, Origin, Task
from operators.decoding.trace import Decoding, LogitsRow, Pass, Token, deciding
from operators.decoding.tree import TokenTree


class Seen(NamedTuple):
    """A pass as it was observed; what it decided shows only later."""

    #: The output's tokens before the first row.
    known: tuple[int, ...]
    #: Without ``stands`` and ``ends``.
    rows: tuple[LogitsRow, ...]
    evaluated: int
    model_ms: float
    #: What was offered, if it has branches: row i + 1 belongs to node i and judges its first child.
    tree: TokenTree = TokenTree()
    #: Tokens found in the cache; of these, those that were kept although the source has changed.
    reused: int = 0
    kept: int = 0


def decoding(task: Task, seen: Sequence[Seen], decoded: Decoded) -> Decoding:
    """What a method did for a task, from the observed passes and its result."""
    after = [*(one.known for one in seen[1:]), decoded.tokens]
    passes = tuple(
        Pass(len(one.known), _judged(one, then), one.evaluated, one.model_ms, one.reused, one.kept)
        for one, then in zip(seen, after, strict=True)
    )
    if passes:
        passes = (*passes[:-1], _ended(passes[-1], task, decoded))
    return Decoding(
        prompt_tokens=len(task.prompt),
        draft=tuple(task.draft),
        committed=task.committed,
        output=_tokens(decoded, passes),
        finished=decoded.cut is None,
        passes=passes,
    )


def unchanged(output: Sequence[int]) -> Decoding:
    """A window whose source had not changed: its output is kept without a check."""
    tokens = tuple(Token(token, Origin.COMMITTED, 0, None) for token in output)
    return Decoding(0, tuple(output), len(output), tokens, finished=True, passes=())


def _judged(one: Seen, then: Sequence[int]) -> tuple[LogitsRow, ...]:
    if one.tree.size:
        one = one._replace(rows=_on_path(one, then[len(one.known) :]))
    stand = then[len(one.known) : len(one.known) + len(one.rows)]
    decided = (
        msgspec.structs.replace(row, stands=token) for row, token in zip(one.rows, stand, strict=False)
    )
    return (*decided, *one.rows[len(stand) :])


def _on_path(one: Seen, tokens: Sequence[int]) -> tuple[LogitsRow, ...]:
    """The rows of the accepted branch, one for each place.

    A branch is accepted if it is the model's choice.
    """
    path = one.tree.first(len(one.rows) - 1).walk(tokens)
    rows = [one.rows[0], *(one.rows[node + 1] for node in path)]
    for place, node in enumerate(path):
        row = rows[place]
        if row.choice == one.tree.tokens[node]:
            rows[place] = msgspec.structs.replace(row, offered=row.choice, p_offered=row.p_choice)
    return tuple(rows)


def _ended(last: Pass, task: Task, decoded: Decoded) -> Pass:
    """The last pass, with the row that ended the output marked."""
    place = last.decided
    if decoded.cut is not None or place >= len(last.rows) or last.rows[place].choice not in task.stop:
        return last
    end = msgspec.structs.replace(last.rows[place], ends=True)
    return msgspec.structs.replace(last, rows=(*last.rows[:place], end, *last.rows[place + 1 :]))


def _tokens(decoded: Decoded, passes: Sequence[Pass]) -> tuple[Token, ...]:
    begins = [one.begin for one in passes]
    tokens = []
    for place, (token, origin) in enumerate(zip(decoded.tokens, decoded.origins, strict=True)):
        number = deciding(begins, place)
        row = passes[number - 1].rows[place - begins[number - 1]] if number else None
        tokens.append(Token(token, origin, number, None if row is None else _probability(row, token)))
    return tuple(tokens)


def _probability(row: LogitsRow, token: int) -> float | None:
    return row.p_choice if token == row.choice else row.p_offered
