"""A trace of toy runs is exact: it says what was decoded, by which pass, and changes nothing."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flows.engine.methods import method
from flows.settings.translate import TranslateSettings
from operators.decoding.drive import SequentialDecoder
from operators.decoding.forward import Origin
from operators.decoding.recorder import Recorder
from operators.decoding.trace import Decoding, spelled
from operators.decoding.translator import Output, SegmentState, Translator, TranslatorSettings
from operators.glossary import Glossary
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from tests.toy import Letters, ToyStore

METHODS = ("retranslate", "continuous", "ssbd", "recycle", "jacobi", "gs-jacobi", "hybrid-jacobi")
MORE: list[dict[str, object]] = [
    {},
    {"sure": 0.0, "block": 3},
    {"accept": "top-2"},
    {"min_block": 3},
    {"proposal_accept": "bias-0.3"},
    {"draft_model": "a toy", "draft_length": 4},
    {"draft_model": "a toy", "draft_tree": True, "draft_threshold": 0.7},
    {"beam": 2},
    {"beam": 4},
    # With the rules for models trained on unfinished text.
    {"bias": None},
    {"bias": None, "beam": 4},
]
settings = st.builds(
    lambda name, bias, more: msgspec.convert({"method": name, "bias": bias, **more}, TranslateSettings),
    st.sampled_from(METHODS),
    st.sampled_from([0.0, 0.2, 0.45]),
    st.sampled_from(MORE),
)
updates = st.lists(st.text("ab c", max_size=20), min_size=1, max_size=6)
#: Its term occurs in some of the updates.
GLOSSARY = Glossary({("a", "b"): "d e f"})


def run(
    chosen: TranslateSettings, texts: list[str], *, is_traced: bool = True, max_source: int = 100
) -> list[tuple[Output, dict[str, Decoding]]]:
    beams = chosen.beam or 0
    beam = chosen.width(knows_unfinished=True) if beams else 1
    decode = method(chosen, knows_unfinished=chosen.bias is None, beam=beam)
    pool = SessionPool(ToyStore(8 + 3 * beams), (1, 2), 3, beams=beams, branches=0 if beams else 4)
    draft_pool = SessionPool(ToyStore(8, error=0.4), (1, 2), 3, branches=4)
    recorder = Recorder(decode, pool)
    prompt = Prompt(Letters(), (1, 2), " ", (3,), EndOfTurn(Letters()))
    model = Translator(
        prompt,
        SequentialDecoder(recorder if is_traced else pool, draft_pool),
        recorder.method if is_traced else decode,
        TranslatorSettings(max_source=max_source, max_output=40, finals_differ=True),
        GLOSSARY,
    )
    state, made = SegmentState(), []
    for number, text in enumerate(texts):
        state, output = model.update("s/000000", state, text, is_final=number == len(texts) - 1)
        made.append((output, recorder.take() if is_traced else {}))
    return made


@given(settings, updates)
def test_watching_changes_no_output_and_no_cost(chosen: TranslateSettings, texts: list[str]) -> None:
    for (plain, _), (output, decodings) in zip(
        run(chosen, texts, is_traced=False), run(chosen, texts), strict=True
    ):
        assert output.tokens == plain.tokens
        passes = [one for decoding in decodings.values() for one in decoding.passes]
        assert len(passes) == output.effort.passes == plain.effort.passes
        assert sum(one.evaluated for one in passes) == plain.effort.evaluated


@given(settings, updates)
# The draft fills the limit of the shorter text: no pass decides anything.
@example(TranslateSettings(to="German", method="continuous", bias=0.0), ["a", "a" * 20, "a"])
def test_outputs_are_rebuilt_from_what_each_pass_decided_with_its_probability(
    chosen: TranslateSettings, texts: list[str]
) -> None:
    for one in [one for _, decodings in run(chosen, texts) for one in decodings.values()]:
        output = [token.id for token in one.output]
        built = list(one.draft[: next((each.begin for each in one.passes if each.rows), len(output))])
        # What a search that was given up evaluated decided nothing.
        for number, each in enumerate(one.passes, 1):
            assert each.begin == (len(built) if each.rows else len(output))
            begin = len(built)
            built += [row.stands for row in each.rows if row.stands is not None]
            for place, token in enumerate(one.output):
                assert (token.decided == number) == (begin <= place < len(built))
        assert output == built
        for row in (row for each in one.passes for row in each.rows):
            assert 0.0 <= max(row.p_offered or 0.0, row.p_stands or 0.0) <= row.p_choice <= 1.0
            assert (row.offered is None, row.stands is None) == (row.p_offered is None, row.p_stands is None)
        for token in one.output:
            assert (token.p is None) == (token.decided == 0)
            assert token.origin is not Origin.OWN or one.passes[token.decided - 1].rows[0].p_choice > 0


def test_without_a_draft_each_token_is_the_models_own_and_has_a_pass_of_its_own() -> None:
    ((output, decodings),) = run(TranslateSettings(to="German", method="retranslate"), ["a b c"])
    (one,) = decodings.values()
    assert [token.decided for token in one.output] == list(range(1, len(output.tokens) + 1))
    assert {token.origin for token in one.output} == {Origin.OWN}
    assert [len(each.rows) for each in one.passes] == [1] * len(one.passes)
    assert one.passes[-1].rows[0].ends


@given(st.sampled_from(METHODS), st.sampled_from(["pad", "draft"]), st.text("ab c", max_size=20))
def test_against_greedy_decoding_a_pass_is_right_where_it_decides_and_where_it_guesses_well(
    name: str, guess: str, text: str
) -> None:
    chosen = msgspec.convert({"method": name, "guess": guess, "bias": 0.0}, TranslateSettings)
    ((greedy, _),) = run(TranslateSettings(to="German", method="retranslate"), [text])
    for one in run(chosen, [text])[0][1].values():
        compared = one.compared(greedy.tokens)
        assert compared.reference == greedy.tokens
        for number, each in enumerate(compared.passes, 1):
            known = range(one.known(number - 1), one.known(number))
            assert each.right is not None
            assert set(known) <= set(each.right)
            said = {place: row.choice for place, row in enumerate(each.rows, each.begin)}
            for place, token in enumerate(greedy.tokens):
                assert (place in each.right) == (said.get(place) == token)


def test_a_long_source_has_a_decoding_for_each_window_that_changed() -> None:
    first, second = run(TranslateSettings(to="German"), ["a b c " * 5, "a b c " * 5 + "a"], max_source=8)
    assert list(first[1]) == ["s/000000/0", "s/000000/1"]
    # The last update is decoded in another way than those before it, and so is every window of it.
    assert list(second[1]) == ["s/000000/0", "s/000000/1"]


@pytest.mark.parametrize(
    ("piece", "text"), [(b" Die", " Die"), (b"\xe2", "<0xE2>"), (b"\xff\x80", "<0xFF><0x80>"), (b"", "")]
)
def test_a_token_that_is_no_whole_character_is_spelled_as_bytes(piece: bytes, text: str) -> None:
    assert spelled(piece) == text
