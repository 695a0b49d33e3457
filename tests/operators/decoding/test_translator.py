"""A segment's translation from its first partial to its final, on the toy model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.conditioning import Conditioning, split_source
from operators.decoding.drive import SequentialDecoder
from operators.decoding.forward import DecodingResult, Forward, Logits, Method, Task
from operators.decoding.pieces import decode_pieces
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.translator import (
    CommitRule,
    Guard,
    Output,
    SegmentState,
    Translator,
    TranslatorSettings,
    Window,
)
from operators.glossary import Glossary, spelling
from operators.model_errors import ErrorKind
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt, PromptNotes
from tests.toy import END, Letters, ToyStore, ToyVocabulary

texts = st.lists(st.text("ab c", max_size=20), min_size=1, max_size=6)


def translator(
    method: float | Callable[[Task], Method] | None,
    *,
    vocabulary: ToyVocabulary | None = None,
    store: ToyStore | None = None,
    glossary: Glossary | None = None,
    tail: int = 3,
    prompt: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Translator:
    """A translator with this method: `ssbd` with a bias, or without one `retranslate`.

    ``prompt`` and ``settings`` are further arguments of the prompt and the settings.
    """
    vocabulary = vocabulary or ToyVocabulary()
    whole = Prompt(vocabulary, (1, 2), " ", (tail,), EndOfTurn(vocabulary), **(prompt or {}))

    def chosen(task: Task) -> Method:
        if callable(method):
            return method(task)
        return retranslate(task) if method is None else ssbd(task, BiasedAcceptance(method))

    pool = SessionPool(store or ToyStore(3), whole.head, 2)
    how = TranslatorSettings(**({"max_source": 100, "max_output": 40} | settings))
    return Translator(whole, SequentialDecoder(pool), chosen, how, glossary)


def keeping(tasks: list[Task]) -> Callable[[Task], Method]:
    """A method that accepts every draft; it lists its tasks."""

    def method(task: Task) -> Method:
        tasks.append(task)
        return ssbd(task, BiasedAcceptance(1.0))

    return method


def run(model: Translator, updates: list[str]) -> list[Output]:
    state, outputs = SegmentState(), []
    for text in updates:
        state, output = model.update("s/000000", state, text, is_final=False)
        outputs.append(output)
    return outputs


@given(texts)
def test_without_bias_every_update_equals_retranslation_whatever_was_revised(updates: list[str]) -> None:
    want = [output.tokens for output in run(translator(None), updates)]
    assert [output.tokens for output in run(translator(0.0), updates)] == want


@given(texts)
def test_state_that_was_stored_and_restored_continues_as_if_nothing_had_happened(updates: list[str]) -> None:
    want = run(translator(0.2), updates)
    state = SegmentState()
    for text, output in zip(updates, want, strict=True):
        state, got = translator(0.2).update("s/000000", state, text, is_final=False)  # a new pool each time
        assert got.tokens == output.tokens


class Later(Letters):
    """The vocabulary of another model: the same words as other tokens."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        return [7 - token for token in super().tokenize(text, special=special)]

    def piece(self, token: int) -> bytes:
        return super().piece(token and 7 - token) if 0 <= token < 7 else b""


@pytest.mark.parametrize("stored", [Letters(), Later()])
def test_a_state_goes_on_as_its_text_in_a_model_of_another_vocabulary(stored: Letters) -> None:
    said = "a b c"
    tokens = tuple(stored.tokenize(said))
    state = SegmentState((Window(tokens, tokens, (9,) * len(tokens), " a b c"),))
    tasks: list[Task] = []
    vocabulary = Later()
    model = translator(keeping(tasks), vocabulary=vocabulary, commit=CommitRule(1))
    _, output = model.update("s/000000", state, "a b c d", is_final=False)
    assert tasks[0].draft == tuple(vocabulary.tokenize(said))
    assert tasks[0].committed == (3 if stored.tokenize("a") == vocabulary.tokenize("a") else 0)
    assert "".join(output.pieces).startswith(said)


def test_an_unchanged_text_costs_no_pass() -> None:
    outputs = run(translator(0.2), ["a b", "a  b "])
    assert outputs[1].effort.passes == 0
    assert outputs[1].tokens == outputs[0].tokens


class SpaceAlone(ToyVocabulary):
    """Has the space before a word as a token of its own."""

    def piece(self, token: int) -> bytes:
        return b" " if token == 1 else super().piece(token).strip()


@given(
    st.text("ab c", max_size=20),
    st.sampled_from([None, 0.0, 0.2]),
    st.booleans(),
    st.sampled_from([ToyVocabulary(), SpaceAlone()]),
)
@example("b b c c", None, False, SpaceAlone())
@example("c c b c", None, True, SpaceAlone())
@example("bc bc acc", None, True, SpaceAlone())
def test_a_model_that_may_wait_says_something_in_the_end(
    text: str, bias: float | None, is_new: bool, vocabulary: ToyVocabulary
) -> None:
    model = translator(bias, prompt={"knows_unfinished": True}, vocabulary=vocabulary)
    state, partial = model.update("s/000000", SegmentState(), text, is_final=False)
    if is_new:
        state = SegmentState()
    _, final = model.update("s/000000", state, text, is_final=True)
    assert bool("".join(final.pieces)) == bool(text.strip())
    # A final that begins with two spaces might go on so for ever.
    is_blank = isinstance(vocabulary, SpaceAlone) and partial.tokens[:2] == (1, 1)
    if partial.tokens and bias is None and not is_blank:
        assert final.tokens == partial.tokens


@given(texts)
def test_a_model_that_is_told_is_asked_for_finals_and_for_partials_each_in_its_own_words(
    updates: list[str],
) -> None:
    told, of_partials, of_finals = (
        translator(None, prompt={"unfinished_tail": (4,)}), translator(None, tail=4), translator(None),
    )  # fmt: skip
    outputs = run(told, updates)
    assert [output.tokens for output in outputs] == [output.tokens for output in run(of_partials, updates)]
    # The text of a final is often that of the last partial; it is asked for again all the same.
    state, _ = told.update("s/000000", SegmentState(), updates[-1], is_final=False)
    _, final = told.update("s/000000", state, updates[-1], is_final=True)
    _, want = of_finals.update("s/000000", SegmentState(), updates[-1], is_final=True)
    if want.tokens:  # else the last translation stays
        assert final.tokens == want.tokens


def test_a_text_without_words_is_translated_as_nothing() -> None:
    (output,) = run(translator(0.2), ["  "])
    assert (output.tokens, output.pieces, output.effort.passes) == ((), (), 0)


def test_a_text_longer_than_the_context_is_translated_in_windows_and_nothing_is_lost() -> None:
    text = " ".join("abc"[number % 3] for number in range(50))
    state, output = translator(0.2, max_source=8).update("s/000000", SegmentState(), text, is_final=False)
    assert len(state.windows) == 7
    assert sum(len(window.source) for window in state.windows) == 50
    assert "".join(output.pieces).strip() == "".join(output.pieces)


@pytest.mark.parametrize(("knows_unfinished", "ratio"), [(True, 2), (False, 4)])
@pytest.mark.parametrize("words", [1, 5, 60])
def test_an_answer_has_room_to_spare_and_more_in_a_vocabulary_not_made_for_captions(
    words: int, knows_unfinished: bool, ratio: int
) -> None:
    tasks: list[Task] = []
    prompt = {"knows_unfinished": knows_unfinished}
    model = translator(keeping(tasks), max_output=400, prompt=prompt)
    model.update("s/000000", SegmentState(), "a " * words, is_final=True)
    assert tasks[0].limit == ratio * words + 24


class Counts(ToyStore):
    """Says the token 1 for ever, and would rather end than say another."""

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = np.zeros_like(super().evaluate(sequence, tokens, start, rows))
        logits[:, [1, END]] = 2, 1
        return logits


class Digits(ToyVocabulary):
    """Its token 1 is a digit."""

    def piece(self, token: int) -> bytes:
        return b"3" if token == 1 else super().piece(token)


def test_a_model_that_loses_count_of_digits_says_as_many_as_the_source() -> None:
    model = translator(0.2, vocabulary=Digits(), store=Counts(3))
    state, partial = model.update("s/000000", SegmentState(), "3" * 20, is_final=False)
    _, final = model.update("s/000000", state, "3" * 20 + ".", is_final=True)
    assert [("".join(one.pieces), one.trouble) for one in (partial, final)] == [("3" * 20, None)] * 2


@pytest.mark.parametrize(
    ("vocabulary", "ends"),
    [(Digits(), {Guard.FIGURES: None}), (ToyVocabulary(), {Guard.REPETITION: ErrorKind.REPETITION})],
)
@pytest.mark.parametrize("guard", [*Guard, None])
def test_what_has_no_end_goes_on_to_its_limit_unless_its_own_guard_is_there(
    vocabulary: ToyVocabulary, ends: dict[Guard | None, ErrorKind | None], guard: Guard | None
) -> None:
    guards = frozenset() if guard is None else frozenset((guard,))
    model = translator(0.2, vocabulary=vocabulary, store=Counts(3), guards=guards)
    _, output = model.update("s/000000", SegmentState(), "3" * 20, is_final=True)
    assert output.trouble == ends.get(guard, ErrorKind.LONG_ANSWER)


class Spaced(ToyVocabulary):
    """Its answers have white space around them, as those of chat models do."""

    def piece(self, token: int) -> bytes:
        return b"\n " + super().piece(token).strip() + b" \n"


@pytest.mark.parametrize("joint", [" ", ""])
def test_windows_are_joined_by_what_stands_between_two_sentences_of_the_language(joint: str) -> None:
    vocabulary = Spaced()

    def method(task: Task) -> Method:
        # One token an answer, so that all white space stands at the end of a window.
        return retranslate(task._replace(limit=1, stop=()))

    model = translator(method, vocabulary=vocabulary, max_source=8, prompt={"joint": joint})
    _, output = model.update("s/000000", SegmentState(), "a b c " * 8, is_final=True)
    words = [vocabulary.piece(token).decode().strip() for token in output.tokens]
    assert len(words) >= 3
    assert "".join(output.pieces) == joint.join(words)
    assert len(output.pieces) == len(output.tokens)


@given(st.text("ab .", max_size=200), st.integers(4, 30))
def test_windows_hold_the_whole_text_in_order(text: str, budget: int) -> None:
    windows = list(split_source(text, budget, lambda part: len(part.split())))
    assert "".join("".join(windows).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["a", "bb.", "c"]), min_size=1, max_size=60), st.integers(4, 9))
def test_windows_that_are_full_stay_as_they_are_when_the_text_grows(words: list[str], budget: int) -> None:
    def count(part: str) -> int:
        return len(part.split())

    before = list(split_source(" ".join(words[:-1]), budget, count))
    after = list(split_source(" ".join(words), budget, count))
    assert after[: len(before) - 1] == before[:-1]


def test_a_word_without_end_is_cut_between_characters() -> None:
    windows = list(split_source("x" * 1000, 40, len))
    assert "".join(windows) == "x" * 1000
    assert max(map(len, windows)) <= 40


@given(st.text(max_size=20), st.integers(1, 3))
def test_pieces_add_up_to_the_text_even_if_tokens_end_inside_characters(text: str, size: int) -> None:
    data = text.encode("utf-8", "ignore")
    cut = [data[begin : begin + size] for begin in range(0, len(data), size)]
    assert "".join(decode_pieces(cut)) == data.decode()


def test_what_is_looked_up_comes_from_the_same_stream_alone() -> None:
    seen: list[Task] = []
    model, said = translator(keeping(seen)), {}
    for key in ("a/000000", "b/000000", "a/000001"):
        _, said[key] = model.update(key, SegmentState(), "b", is_final=True)
    assert said["a/000000"].tokens
    assert [task.recent for task in seen] == [(), (), (said["a/000000"].tokens,)]


def with_glossary(
    terms: dict[str, str] | None,
    method: float | Callable[[Task], Method] | None = 0.2,
    *,
    copies: bool = False,
) -> Translator:
    """A translator with a glossary of ``terms``."""
    glossary = None if terms is None else Glossary({spelling(term): terms[term] for term in terms})
    return translator(method, vocabulary=Letters(), glossary=glossary, prompt={"copies": copies})


def said(model: Translator, updates: list[str]) -> list[tuple[int, ...]]:
    return [output.tokens for output in run(model, updates)]


glossaries = st.dictionaries(st.sampled_from("abf"), st.sampled_from(["d e", "d", "e f d"]), min_size=1)


@given(texts, glossaries)
def test_updates_without_a_term_are_translated_as_without_a_glossary(
    updates: list[str], terms: dict[str, str]
) -> None:
    terms = {f"{term} unsaid": target for term, target in terms.items()}
    assert said(with_glossary(terms), updates) == said(with_glossary(None), updates)


@given(texts, glossaries)
def test_with_terms_and_without_bias_every_update_equals_retranslation_with_them(
    updates: list[str], terms: dict[str, str]
) -> None:
    want = said(with_glossary(terms, None), updates)
    assert said(with_glossary(terms, 0.0), updates) == want


@pytest.mark.parametrize(
    ("to_mixed", "shown", "then"), [("e d", "e d", ["d b c"]), ("e e", "b", ["a b c", "d b c"])]
)
def test_a_term_that_an_answer_lacks_is_put_into_the_source_for_as_long_as_that_helps(
    to_mixed: str, shown: str, then: list[str]
) -> None:
    answers = {"a b": "b", "d b": to_mixed, "a b c": "b c", "d b c": "d b c"}
    asked = list[str]()

    def method(task: Task) -> Method:
        asked.append(" ".join(chr(96 + token) for token in task.source))
        yield Forward([*task.prompt], len(task.prompt) - 1)
        return DecodingResult(tuple(Letters().tokenize(answers[asked[-1]])))

    output, _ = run(with_glossary({"a": "d"}, method, copies=True), ["a b", "a b c"])
    assert "".join(output.pieces) == shown
    assert asked == ["a b", "d b", *then]


def test_a_term_that_the_speaker_takes_back_is_no_longer_leaned_to() -> None:
    model = with_glossary({"f": "d e f d"}, 0.0)
    before, with_term, after = said(model, ["a b", "a b f", "a b"])
    assert with_term[:4] == (4, 5, 6, 4)
    assert after == before != with_term


@pytest.mark.parametrize(
    ("is_final", "settings", "draft"),
    [
        (False, {}, (2, 3)),
        (True, {}, (2, 3, 6, 6)),
        (False, {"guards": frozenset()}, (2, 3, 6, 6)),
        (True, {"draft_mask": 3}, (2,)),
        (True, {"draft_mask": 9}, ()),
    ],
)
def test_a_full_stop_is_no_draft_for_what_was_said_since_unless_the_paper_is_followed(
    is_final: bool, settings: dict[str, Any], draft: tuple[int, ...]
) -> None:
    class Marks(ToyVocabulary):
        def piece(self, token: int) -> bytes:
            return b"." if token == 6 else super().piece(token)

    vocabulary, tasks = Marks(), list[Task]()
    output = (2, 3, 6, 6)
    spelled = b"".join(map(vocabulary.piece, output)).decode()
    state = SegmentState((Window((1,), output, (0,) * 4, spelled),))
    model = translator(keeping(tasks), vocabulary=vocabulary, **settings)
    model.update("s/0", state, "a b", is_final=is_final)
    assert [task.draft for task in tasks] == [draft]


@pytest.mark.parametrize(
    ("text", "is_final", "shown"),
    [("a b c", False, (2, 3)), ("a b c.", False, (2, 3)), ("a b.", True, (2, 3, 6))],
)
def test_a_full_stop_that_only_the_model_was_told_is_not_shown_and_not_missed(
    text: str, is_final: bool, shown: tuple[int, ...]
) -> None:
    class Marks(ToyVocabulary):
        def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002
            return [6 if letter == "." else 2 for letter in text]

        def piece(self, token: int) -> bytes:
            return b"." if token == 6 else super().piece(token)

    def method(_task: Task) -> Method:
        return DecodingResult((2, 3, 6), 0, 0)
        yield

    model = translator(method, vocabulary=Marks(), conditioning=Conditioning(close=True))
    before, _ = model.update("s/0", SegmentState(), "a b", is_final=False)
    _, output = model.update("s/0", before, text, is_final=is_final)
    assert output.tokens == shown


def test_a_model_is_told_the_terms_of_its_text_or_else_what_its_stream_said_before() -> None:
    tasks: list[Task] = []
    prompt = {
        "terms": PromptNotes((5,), (5,), (4,), "{term}{translation}"),
        "context": PromptNotes((6,), (6,), (7,)),
    }
    model = translator(keeping(tasks), prompt=prompt, context=1, glossary=Glossary({("c",): "b"}))
    for number, (stream, text) in enumerate([("s", "a"), ("s", "b b"), ("t", "a"), ("s", "a a"), ("s", "c")]):
        model.update(f"{stream}/{number:06d}", SegmentState(), text, is_final=True)
    a, bb, aa, c, cb = (tuple(ToyVocabulary().tokenize(text)) for text in ("a", "b b", "a a", "c", "cb"))
    assert [tuple(task.prompt) for task in tasks] == [
        (1, 2, *a, 3),
        (6, *a, 6, *bb, 7),
        (1, 2, *a, 3),
        (6, *bb, 6, *aa, 7),
        (5, *cb, 5, *c, 4),
    ]


@pytest.mark.parametrize(("text", "decodes"), [("a b.", True), ("a b", False)])
def test_a_final_that_says_what_the_last_partial_said_is_decoded_again_if_its_end_was_withheld(
    text: str, decodes: bool
) -> None:
    model, vocabulary = translator(None, prompt={"knows_unfinished": True}), ToyVocabulary()
    output = (2, 3)
    spelled = b"".join(map(vocabulary.piece, output)).decode()
    before = SegmentState((Window(tuple(vocabulary.tokenize(text)), output, (0, 0), spelled),))
    _, final = model.update("s/000000", before, text, is_final=True)
    assert (final.effort.passes > 0) == decodes
