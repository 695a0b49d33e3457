"""What goes wrong with a model costs the update at which it does, and no more; on the toy model."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import SequentialDecoder
from operators.decoding.forward import Logits, Method, Task, best_tokens
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import Output, SegmentState, Translator, TranslatorSettings
from operators.languages import language
from operators.model_errors import MAX_FAILURES, ErrorKind, ModelError, ModelErrorLog, answer_error
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from tests.toy import END, ToyStore, ToyVocabulary

#: The token that the toy's language is not written with.
FOREIGN = 7
#: The troubles whose answer is lost.
LOST = [trouble for trouble in ErrorKind if trouble.is_loss]


class TroubledStore(ToyStore):
    """Answers as a `ToyStore`, until ``trouble`` is set: then the next pass and those after it go wrong."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences, vocabulary=8)
        self.trouble: ErrorKind | None = None
        #: Passes that still go well.
        self.spare = 0
        #: Passes that went wrong.
        self.count = 0

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = super().evaluate(sequence, tokens, start, rows)
        logits[:, FOREIGN] = -np.inf
        if self.trouble is None:
            return logits
        if self.trouble.is_failure and self.spare > 0:
            self.spare -= 1
            return logits
        self.count += 1
        if self.trouble is ErrorKind.FAILED_PASS:
            # The cache holds what it should not, as after a pass that broke off.
            self.caches[sequence].tokens.append(1)
            raise ModelError(self.trouble, "llama_decode returned -3 for 2 tokens")
        _spoil(logits, self.trouble, self.count)
        return logits


def _spoil(logits: Logits, trouble: ErrorKind, count: int) -> None:
    if trouble is ErrorKind.NOT_A_NUMBER:
        logits[-1, count % 8] = [np.nan, np.inf, np.nan][count % 3]
        return
    logits[:] = 0
    if trouble is ErrorKind.WRONG_SCRIPT:
        # Some words, and an end.
        logits[:, FOREIGN if count < 4 else END] = 9
    else:
        logits[:, {ErrorKind.EMPTY: END, ErrorKind.REPETITION: 2}[trouble]] = 9


class WithForeignWords(ToyVocabulary):
    """Its token 7 is a word of another script."""

    def piece(self, token: int) -> bytes:
        return " здесь".encode() if token == FOREIGN else super().piece(token)


def troubled_translator(store: ToyStore, bias: float = 0.2, *, size: int = 3) -> Translator:
    """A translator into a language of Latin letters; ``size`` is one less than the sequences of the store."""
    vocabulary = WithForeignWords()
    prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))

    def method(task: Task) -> Method:
        return ssbd(task, BiasedAcceptance(bias))

    settings = TranslatorSettings(max_source=100, max_output=40, scripts=("Latin",))
    return Translator(prompt, SequentialDecoder(SessionPool(store, prompt.head, size)), method, settings)


# Long enough not to be answered with nothing.
texts = st.text("ab c", min_size=1, max_size=16).map("abcabcabc ".__add__)
# Texts, each with what goes wrong at it, and after how many passes.
updates = st.lists(
    st.tuples(texts, st.none() | st.sampled_from(LOST), st.integers(0, 3)), min_size=1, max_size=8
)
Update = tuple[str, ErrorKind | None, int]


def run(given: Sequence[Update], bias: float) -> list[Output]:
    store = TroubledStore(4)
    translator = troubled_translator(store, bias)
    state, outputs = SegmentState(), []
    for text, store.trouble, store.spare in given:
        store.count = 0
        state, output = translator.update("s/000000", state, text, is_final=False)
        # An unchanged text costs no pass, and an answer may be over before one goes wrong.
        if store.count:
            assert output.trouble is store.trouble
        outputs.append(output)
    return outputs


@given(updates, st.sampled_from([0.0, 0.2, 0.4]))
def test_captions_are_those_of_a_run_that_never_saw_the_updates_that_were_lost(
    given: list[Update], bias: float
) -> None:
    outputs = run(given, bias)
    pairs = list(zip(given, outputs, strict=True))
    kept = [(text, None, 0) for (text, _, _), output in pairs if not _lost(output)]
    assert [one.pieces for one in outputs if not _lost(one)] == [one.pieces for one in run(kept, bias)]


@given(updates)
def test_a_lost_update_has_the_caption_of_the_one_before_it(given: list[Update]) -> None:
    before: tuple[str, ...] = ()
    for output in run(given, 0.2):
        assert output.pieces == before or not _lost(output)
        before = output.pieces


def _lost(output: Output) -> bool:
    return output.trouble is not None and output.trouble.is_loss


@given(texts, st.sampled_from([ErrorKind.FAILED_PASS, ErrorKind.NOT_A_NUMBER]))
def test_a_final_at_which_the_model_fails_once_is_translated_all_the_same(
    text: str, trouble: ErrorKind
) -> None:
    class Once(TroubledStore):
        def copy_sequence(self, source: int, target: int) -> None:
            super().copy_sequence(source, target)
            self.trouble = trouble if target == 1 and not self.count else None

    _, want = troubled_translator(TroubledStore(4)).update("s", SegmentState(), text, is_final=True)
    store = Once(4)
    _, got = troubled_translator(store).update("s", SegmentState(), text, is_final=True)
    assert store.count == 1
    assert (got.pieces, got.trouble) == (want.pieces, want.trouble)


@given(texts, texts, st.sampled_from(LOST))
def test_a_final_that_is_lost_keeps_the_last_good_caption_and_leaves_nothing_in_the_cache(
    text: str, last: str, trouble: ErrorKind
) -> None:
    assume(ToyVocabulary().tokenize(text) != ToyVocabulary().tokenize(last))
    store = TroubledStore(4)
    translator = troubled_translator(store)
    state, good = translator.update("s", SegmentState(), text, is_final=False)
    store.trouble, store.spare = trouble, 0
    state, final = translator.update("s", state, last, is_final=True)
    translator.release("s", state)
    assert (final.pieces, final.trouble) == (good.pieces, trouble)
    assert [cache.tokens for cache in store.caches[1:]] == [[], [], []]


def test_an_endless_repetition_is_cut_and_counted() -> None:
    store = TroubledStore(4)
    store_translator = troubled_translator(store)
    store.trouble = ErrorKind.REPETITION
    _, output = store_translator.update("s", SegmentState(), "a b c", is_final=False)
    assert ("".join(output.pieces), output.trouble) == ("b", ErrorKind.REPETITION)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", range(4))
def test_a_row_with_a_bad_number_anywhere_has_no_best_token(bad: float, place: int) -> None:
    rows = np.zeros((2, 4), np.float32)
    rows[1, place] = bad
    with pytest.raises(ModelError, match="not finite"):
        best_tokens(rows)
    # A token that is never said is beside others.
    rows[1, place] = -np.inf
    assert best_tokens(rows)[1] == (1 if place == 0 else 0)


@pytest.mark.parametrize(
    ("target", "answer", "trouble"),
    [
        ("German", "Die Stadt Санкт-Петербург liegt an der Newa.", None),
        ("German", "Город стоит на Неве, sagte er.", ErrorKind.WRONG_SCRIPT),
        ("German", "α + β = γ", None),
        ("German", "这座城市位于河畔", ErrorKind.WRONG_SCRIPT),
        ("German", "42 %!", None),
        ("Japanese", "サーバーはOpenSSLとPostgreSQLを使います。", None),
        ("Japanese", "OpenSSL and PostgreSQL", None),
        ("Japanese", "サーーーーーーーーバー", None),
        ("Japanese", "서버는 괜찮습니다", ErrorKind.WRONG_SCRIPT),
        ("Chinese", "服务器使用 PostgreSQL", None),
        ("Chinese", "サーバーはいいです", ErrorKind.WRONG_SCRIPT),
        ("Russian", "Die Stadt", None),
        ("Hindi", "शहर नदी के किनारे है", None),
        ("Vietnamese", "Thành phố nằm bên sông", None),
        ("Arabic", "\u05d4\u05e2\u05d9\u05e8 \u05e2\u05dc \u05d4\u05e0\u05d4\u05e8", ErrorKind.WRONG_SCRIPT),
    ],
)
def test_an_answer_is_in_the_script_of_its_language_but_for_names(
    target: str, answer: str, trouble: ErrorKind | None
) -> None:
    assert (
        answer_error("The city is on the river.", answer, language(target).scripts, is_first=True) is trouble
    )


@pytest.mark.parametrize(
    ("source", "how", "trouble"),
    [
        ("uh", {"is_first": True}, None),
        ("uh", {"is_first": False}, ErrorKind.EMPTY),
        ("The city is on the river.", {"is_first": True}, ErrorKind.EMPTY),
        ("… — !", {"is_first": False}, None),
        # A model that was taught to wait may say nothing until it has said something.
        ("We will talk about", {"is_first": True, "may_wait": True}, None),
        ("We will talk about", {"is_first": False, "may_wait": True}, ErrorKind.EMPTY),
    ],
)
@pytest.mark.parametrize("answer", ["", " \n", "\u200b\u202e", "\x1b[31m"])
def test_nothing_is_an_answer_to_little_that_had_none_before(
    source: str, how: dict[str, bool], trouble: ErrorKind | None, answer: str
) -> None:
    assert answer_error(source, answer, (), **how) is trouble


def test_what_goes_wrong_is_said_once_and_what_lasts_is_said_to_last() -> None:
    said: list[str] = []
    watch = ModelErrorLog()
    for number in range(MAX_FAILURES + 5):
        said += watch.note(ErrorKind.EMPTY if number % 2 else ErrorKind.FAILED_PASS, f"segment s/{number}")
    assert len(said) == 3
    assert "segment s/0" in said[0]
    assert f"no answer {MAX_FAILURES} times in a row" in said[2]
    assert "no answer to the last 25 updates" in (watch.complaint() or "")
    assert watch.note(ErrorKind.REPETITION, "segment s/1") == ["the model answers again"]
    assert watch.complaint() is None


@pytest.mark.parametrize(
    ("outcomes", "complains"),
    [
        ([ErrorKind.NOT_A_NUMBER], True),  # a model that never answered, however short the run
        ([None, *[ErrorKind.FAILED_PASS] * (MAX_FAILURES - 1)], False),
    ],
)
def test_a_model_that_is_not_known_to_be_broken_is_not_complained_of(
    outcomes: list[ErrorKind | None], complains: bool
) -> None:
    watch = ModelErrorLog()
    for outcome in outcomes:
        watch.note(outcome, "")
    assert (watch.complaint() is not None) == complains


def test_a_long_text_is_translated_over_several_updates_and_a_final_is_cut() -> None:
    store = ToyStore(4)
    translator = troubled_translator(store)
    text = " ".join("abc"[number % 3] for number in range(100 * 40))
    state, output = translator.update("s", SegmentState(), text, is_final=False)
    assert (len(state.windows), output.trouble) == (16, ErrorKind.LONG_SOURCE)
    state, output = translator.update("s", state, text, is_final=False)
    assert (len(state.windows), output.trouble) == (32, ErrorKind.LONG_SOURCE)
    state, output = translator.update("s", state, text, is_final=True)
    assert (len(state.windows), output.trouble) == (40, None)
    translator.release("s", state)
    assert [cache.tokens for cache in store.caches[1:]] == [[], [], []]
