"""Translation over a pivot language, on toy models: as if each model were asked by hand."""

from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.conditioning import Conditioning
from operators.decoding.drive import SequentialDecoder
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import PivotTranslator, SegmentState, Translator, TranslatorSettings
from operators.model_errors import ErrorKind, ModelError
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.stages.snapshots import pack, unpack
from tests.toy import Letters, ToyStore

KEY = "s/000000"
texts = st.lists(st.text("ab c.", min_size=1, max_size=20), min_size=1, max_size=6)


def pool_of(store: ToyStore) -> SessionPool:
    return SessionPool(store, (), 2)


def translator(first: int, pool: SessionPool | None = None) -> Translator:
    """One of two models: what it says depends on the ``first`` token of its prompt."""
    return Translator(
        Prompt(Letters(), (first, 2), " ", (3,), EndOfTurn(Letters())),
        SequentialDecoder(pool or pool_of(ToyStore(3))),
        lambda task: ssbd(task, BiasedAcceptance(0.2)),
        TranslatorSettings(max_source=30, max_output=12, conditioning=Conditioning(hold_back=1, close=True)),
    )


@given(texts)
@example(["a", "a b", "a b", "a c b"])
def test_it_says_what_both_say_by_hand_and_goes_on_from_a_stored_state(updates: list[str]) -> None:
    first, second = translator(1), translator(4)
    inner, outer, state = SegmentState(), SegmentState(), SegmentState()
    for number, text in enumerate(updates):
        is_final = number == len(updates) - 1
        how = {"is_final": is_final, "is_stable": number % 2 == 1}
        inner, english = first.update(KEY, inner, text, **how)
        outer, want = second.update(KEY, outer, "".join(english.pieces), **how)
        # Another process goes on: its models hold nothing.
        stored = unpack(pack(state), SegmentState)
        state, got = PivotTranslator(translator(1), translator(4)).update(KEY, stored, text, **how)
        assert (got.tokens, got.pieces) == (want.tokens, want.pieces)
        assert (state.pivot, state.windows) == (inner.windows, outer.windows)
        both = english.effort + want.effort
        assert (got.effort.drafted, got.effort.accepted) == (both.drafted, both.accepted)
        assert got.effort.passes == both.passes


def test_where_the_first_model_fails_the_last_output_stays_and_the_failure_is_told() -> None:
    def fail(_sequence: int, _tokens: object) -> None:
        raise ModelError(ErrorKind.FAILED_PASS, "no luck")

    store, second = ToyStore(3), ToyStore(3)
    model = PivotTranslator(translator(1, pool_of(store)), translator(4, pool_of(second)))
    state, good = model.update(KEY, SegmentState(), "a b c", is_final=False, is_stable=True)
    store.before = second.before = fail
    after, output = model.update(KEY, state, "a b c d", is_final=False, is_stable=True)
    assert good.pieces
    assert (after, output.pieces) == (state, good.pieces)
    assert (output.trouble, output.why) == (ErrorKind.FAILED_PASS, "no luck")
    assert output.effort.passes == 0


def test_the_sessions_of_both_are_freed_with_the_segment() -> None:
    pools = [pool_of(ToyStore(3)) for _ in range(2)]
    model = PivotTranslator(*(translator(head, pool) for head, pool in zip((1, 4), pools, strict=True)))
    state, _ = model.update(KEY, SegmentState(), "a b c", is_final=True)
    assert [pool.usage.sessions for pool in pools] == [1, 1]
    model.release(KEY, state)
    assert [pool.usage.sessions for pool in pools] == [0, 0]
