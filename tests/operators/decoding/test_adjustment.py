"""Rules for answers of all models: figures end, and so do sentences."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.adjustment import adjusted, ending_figures, whole
from operators.decoding.forward import Logits, Task
from operators.decoding.ssbd import retranslate, ssbd
from tests.toy import END, ScriptedCache, ToyCache, prompts, row_of, run, tokens, toy_task


def spelling_task(source: str, draft: str = "") -> Task:
    """A task for a model whose tokens are characters."""
    task = toy_task([1], tuple(map(ord, draft)), 400)
    return task._replace(source=tuple(map(ord, source)), piece=lambda token: chr(token).encode())


def spelled(output: Sequence[int]) -> str:
    return "".join(map(chr, output))


def loses_count(begin: str, loop: str) -> ToyCache:
    """Says ``begin`` and then ``loop`` without end; what it would say next best is an x, which ends it."""
    endless = begin + loop * 200

    def row(prefix: Sequence[int]) -> Logits:
        best = END if prefix[-1] == ord("x") else ord(endless[len(prefix) - 1])
        return row_of(128, {ord("x"): 1.0, best: 2.0})

    return ScriptedCache(row)


@pytest.mark.parametrize(
    ("source", "begin", "loop", "want"),
    [
        ("One third is 0.3333333333333, as you know.", "0,", "3", "0,3333333333333x"),
        ("They sold 1,000,000,000 phones.", "1", ".000", "1.000.000.000.x"),
        ("They sold 1,000,000,000 phones.", "1", "0", "1000000000x"),
        ("It is 255.255.255.255, I think.", "", "255.", "255.255.255.255.x"),
        ("It is " + "8" * 90, "", "8", "8" * 90 + "x"),
        ("It is two hundred trillion.", "200", ".000", "200.000.000.000.000.x"),
    ],
)
def test_a_figure_ends_where_that_of_the_source_does(source: str, begin: str, loop: str, want: str) -> None:
    task = spelling_task(source)
    method = adjusted(retranslate(task), task, ending_figures(task, source))
    decoded, _ = run(method, loses_count(begin, loop))
    assert (spelled(decoded.tokens), decoded.cut) == (want, None)


PIECES = (b"", b"1", b"10", b".", b" ", b"a", b"12")


@given(prompts, tokens, st.sampled_from(["1", "it is 111,111,111"]))
def test_an_output_does_not_depend_on_its_draft(prompt: list[int], draft: list[int], source: str) -> None:
    task = toy_task(prompt, draft, 60)._replace(piece=PIECES.__getitem__)
    want, _ = run(adjusted(retranslate(task), task, ending_figures(task, source)))
    got, _ = run(adjusted(ssbd(task, BiasedAcceptance(0.0)), task, ending_figures(task, source)))
    assert (got.tokens, got.cut) == (want.tokens, want.cut)


def stops_short(answer: str, held: int) -> ToyCache:
    """Would say ``answer`` but prefers to end after ``held`` letters of it."""

    def row(prefix: Sequence[int]) -> Logits:
        said = len(prefix) - 1
        end = {END: 2.0} if said >= held or said == len(answer) else {}
        return row_of(128, ({ord(answer[said]): 1.0} if said < len(answer) else {}) | end)

    return ScriptedCache(row)


@pytest.mark.parametrize(
    ("source", "answer", "want"),
    [
        ("Which was so.", "Das war so.", "Das war so."),
        ("Which was so!", "Er war so! Und dann", "Er war so!"),
        ("Which was", "Das war so.", "Das"),
        ("It is.", "Es ist und ist und bleibt", "Es ist und i"),
    ],
)
@pytest.mark.parametrize("drafted", [0, 2, 3])
def test_a_final_ends_where_its_sentence_does_unless_the_model_goes_on_and_on(
    source: str, answer: str, want: str, drafted: int
) -> None:
    task = spelling_task(source, answer[:drafted])
    method = adjusted(ssbd(task, BiasedAcceptance(0.0)), task, whole(task, source))
    decoded, _ = run(method, stops_short(answer, 3))
    assert spelled(decoded.tokens) == want
