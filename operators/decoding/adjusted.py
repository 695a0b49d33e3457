"""A method whose model is changed by a rule: before the method sees the logits, the rule changes them.

A rule looks only at the output before a row. To every decoding method this is simply another model: one pass
still verifies a whole draft, with any rule of acceptance, and with an exact one the output does not depend on
the draft.
"""

from collections.abc import Callable, Iterator

from operators.decoding.forward import AskDraftModel, Forward, Logits, Method, Task, TreeForward

#: Changes the row after an output, shape (vocabulary,), in place.
Adjust = Callable[[Logits, tuple[int, ...]], None]


def adjusted(method: Method, task: Task, adjust: Adjust) -> Method:
    """The method on the same task, with ``adjust`` called for each row that predicts an output token."""
    try:
        request = next(method)
        while True:
            rows = yield request
            # The draft model only proposes.
            if not isinstance(request, AskDraftModel):
                # Nodes at the end of a tree may be left out.
                pairs = list(zip(rows, _outputs(request, len(task.prompt)), strict=False))
                # The longest output first: what a rule found in it holds for those that it begins with.
                for row, output in reversed(pairs):
                    if output is not None:
                        adjust(row, output)
            request = method.send(rows)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _outputs(request: Forward | TreeForward, first: int) -> Iterator[tuple[int, ...] | None]:
    """The output before each row of a request, which begins at position ``first``; None inside the prompt."""
    tokens = tuple(request.tokens)
    for end in range(request.logits_from + 1, len(tokens) + 1):
        yield tokens[first:end] if end >= first else None
    if isinstance(request, TreeForward):
        tree = request.tree
        for node in range(max(0, request.logits_from - len(tokens)), tree.size):
            yield (*tokens[first:], *(tree.tokens[one] for one in tree.path(node)))
