"""A correction is drafted from its source: the changes of the last output are made again in the new text."""

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.correction import carried
from operators.decoding.forward import Method, Task
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import CommitRule, SegmentState, Window
from tests.operators.decoding.test_translator import run, texts, translator

words = st.lists(st.integers(1, 6), max_size=12)


def merged(before: str, output: str, source: str) -> str:
    """Of words, of which every token is one."""
    known = sorted({*before.split(), *output.split(), *source.split()})
    ids = ([known.index(word) for word in text.split()] for text in (before, output, source))
    return " ".join(known[one] for one in carried(*ids))


def test_what_was_corrected_stays_corrected_in_a_text_that_has_grown_or_was_revised_elsewhere() -> None:
    assert merged("as not what york", "ask not what york", "as not what your country") == (
        "ask not what your country"
    )
    assert merged("so my fellow", "So, my fellow", "so my fellow Americans") == "So, my fellow Americans"
    assert merged("a noisy est authority", "a noisiest authority", "a noisy est authority insisted") == (
        "a noisiest authority insisted"
    )


def test_a_correction_of_words_that_the_recogniser_has_revised_itself_is_gone() -> None:
    assert merged("fine and form", "fine or form", "fine in form") == "fine in form"
    assert merged("the books", "the books of the Chinese", "the books which were") == "the books which were"


@given(words, words, words)
def test_a_source_that_was_not_corrected_is_the_draft_and_one_that_stays_keeps_the_last_output(
    before: list[int], output: list[int], source: list[int]
) -> None:
    assert carried(before, before, source) == tuple(source)
    assert carried(before, output, before) == tuple(output)
    assert carried([], [], source) == tuple(source)
    # Nothing is invented.
    assert set(carried(before, output, source)) <= {*output, *source}


@given(texts)
def test_without_bias_every_update_equals_retranslation_whatever_is_drafted(updates: list[str]) -> None:
    want = [output.tokens for output in run(translator(None), updates)]
    assert [output.tokens for output in run(translator(0.0, drafts_source=True), updates)] == want


def test_the_draft_is_verified_and_only_what_it_shares_with_the_last_output_is_committed() -> None:
    tasks: list[Task] = []

    def method(task: Task) -> Method:
        tasks.append(task)
        return ssbd(task, BiasedAcceptance(1.0))

    model = translator(method, drafts_source=True, commit=CommitRule(1))
    spelled = model._prompt.vocabulary.tokenize
    before, output = (tuple(spelled(text)) for text in ("a b c f", "a d c f"))
    state = SegmentState((Window(before, output, (1, 1, 1, 1), model._spelled(output)),))
    _, answer = model.update("s/000000", state, "a b c e", is_final=False)
    assert tasks[0].draft == tuple(spelled("a d c e"))
    assert tasks[0].committed == 3
    assert answer.effort.accepted == answer.effort.drafted == 4
    # Without the source, the last output.
    translator(method, commit=CommitRule(1)).update("s/000000", state, "a b c e", is_final=False)
    assert tasks[1].draft == output
