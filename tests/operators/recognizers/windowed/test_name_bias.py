"""Names of a glossary are heard where they were begun, and nothing else changes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from flows.captions.resources import RunResources
from flows.settings.loading import load_settings
from operators.decoding.forward import Logits, Task
from operators.decoding.pass_cost import PassCosts
from operators.decoding.speech import SpeechMethod, hear
from operators.recognizers.drafting import NameBias
from operators.recognizers.moonshine import MoonshineTranscriber
from operators.recognizers.windowed import WindowedRecognizer

PIECES = [b"<s>", b"</s>", b" The", b" G", b"ug", b"ut", b"uten", b"berg", b"den", b" Paris", b"e", b" Gu"]
TOKEN = {piece: number for number, piece in enumerate(PIECES)}


def raised(names: set[str], *said: bytes) -> set[bytes]:
    row = np.zeros(len(PIECES), np.float32)
    NameBias(names, PIECES).apply(row, tuple(TOKEN[one] for one in said))
    return {PIECES[token] for token in row.nonzero()[0]}


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        ((), set()),
        ((b" The",), set()),
        ((b" The", b" G"), {b"ut", b"uten"}),
        ((b" G", b"uten"), {b"berg"}),
        ((b" G", b"ug"), set()),
        ((b" G", b"uten", b"berg"), set()),
        ((b"ut", b"uten"), set()),
    ],
)
def test_a_name_that_was_begun_may_go_on_in_each_way_that_spells_it(
    said: tuple[bytes, ...], tokens: set[bytes]
) -> None:
    assert raised({"Gutenberg", "Xavier", "Paris", "Gut"}, *said) == tokens


def test_a_beginning_that_too_many_names_share_says_nothing() -> None:
    names = [f"Guten{'a' * number}" for number in range(1, 22)]
    assert (raised({*names}, b" G"), raised({*names[1:]}, b" G")) == (set(), {b"ut", b"uten"})


class _Hears:
    """Hears one token after the other, and at the second place another one nearly as well."""

    def cut(self, length: int) -> int:
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:  # noqa: ARG002 - the protocol
        likely = {b" The": b" G", b" G": b"ug", b"ug": b"den", b"uten": b"berg", b"den": b"berg"}
        logits = np.zeros((len(tokens), len(PIECES)), np.float32)
        for row, token in zip(logits, tokens, strict=True):
            row[TOKEN[likely.get(PIECES[token], b"</s>" if token else b" The")]] = 10
            if PIECES[token] == b" G":
                row[TOKEN[b"uten"]] = 7
        return logits[-rows:]


@pytest.mark.parametrize("draft", [(), tuple(TOKEN[one] for one in (b" The", b" G", b"ug", b"den"))])
@pytest.mark.parametrize(
    ("names", "text"),
    [(None, b" The Gugdenberg"), ({"Xavier"}, b" The Gugdenberg"), ({"Gutenberg"}, b" The Gutenberg")],
)
def test_a_final_has_the_name_that_was_nearly_heard_whatever_its_draft(
    names: set[str] | None, text: bytes, draft: tuple[int, ...]
) -> None:
    task = Task(prompt=[0], draft=draft, stop={1}, limit=9, is_final=True)
    adjust = None if names is None else NameBias(names, PIECES).apply
    costs = PassCosts((1, 8, 32), (1.0, 1.0, 1.0))
    heard = hear(SpeechMethod(), task, _Hears(), margin=0.2, costs=costs, adjust=adjust)
    assert b"".join(PIECES[token] for token in heard.tokens) == text
    # What was leant towards is not left out as doubtful.
    assert heard.mean_log_probability > -0.2


def test_the_recogniser_of_a_run_expects_the_names_of_its_glossary_only(tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("Johannes Gutenberg\tJohannes Gutenberg\n")
    for given, names in (({"glossary": str(terms)}, [b" Gutenberg"]), ({}, None)):
        settings = load_settings(None, {"translate": {"to": "German", **given}})
        made = RunResources(settings, lambda _event: None).recognizer("talk")
        assert isinstance(made, WindowedRecognizer)
        transcriber = made.transcriber
        assert isinstance(transcriber, MoonshineTranscriber)
        assert (transcriber._bias and transcriber._bias._names) == names
        made.close()
