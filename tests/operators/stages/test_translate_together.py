"""Sentences that share passes, on the toy model. (Bytewax leaves its runners unannotated.)"""

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from operators.clock import VirtualClock
from operators.decoding.translator import SegmentState
from operators.decoding.translator_of_each import TranslatorOfEach
from operators.events import Partial, Translation, parted
from operators.serving.rooms import Rooms
from operators.stages.snapshots import unpack
from operators.stages.translate import translate
from operators.stages.translate_together import TOGETHER, _Stream, translate_together
from operators.stages.translation import StageState, no_note
from tests.operators.serving.toy_rooms import alone, scheduler, texts, toy_rooms, translator


def finals(said: list[str]) -> list[Partial]:
    return [
        Partial(
            stream="talk", segment=number, revision=0, is_final=True, text=text,
            start_s=number, end_s=number + 0.5, arrival_s=number + 1,
        )
        for number, text in enumerate(said)
    ]  # fmt: skip


def output(made: list[Translation]) -> list[tuple[int, str, tuple[int, ...]]]:
    return [(one.segment, one.text, one.tokens) for one in made]


@given(st.lists(texts, max_size=40), st.integers(1, 5), st.integers(1, 64))
def test_sentences_that_share_passes_are_translated_as_if_they_were_alone_and_in_order(
    said: list[str], sessions: int, fill: int
) -> None:
    flow, apart, together = Dataflow("test"), list[Translation](), list[Translation]()
    spoken = op.input("in", flow, TestingSource(finals(said)))
    model, served = alone("ssbd"), toy_rooms(scheduler(sessions, fill), "ssbd", keep_up=False)
    op.output("apart", translate("one", spoken, lambda: model, VirtualClock()), TestingSink(apart))
    op.output(
        "together",
        translate_together("many", spoken, lambda _channel: served, VirtualClock()),
        TestingSink(together),
    )
    run_main(flow)  # type: ignore[no-untyped-call]
    assert output(together) == output(apart)


@given(st.lists(texts, min_size=1, max_size=20))
def test_each_language_has_its_own_translator_on_the_same_model(said: list[str]) -> None:
    methods, flow, made = {"de": "ssbd", "fr": "retranslate"}, Dataflow("test"), list[Translation]()
    shared = scheduler(3, 16)
    own = {code: translator(shared, method) for code, method in methods.items()}
    each = TranslatorOfEach(lambda channel: own[parted(channel)[1]])
    served = Rooms(shared, each, keep_up=False)
    both = [replace(one, language=code) for one in finals(said) for code in methods]
    spoken = op.input("in", flow, TestingSource(both))
    stage = translate_together("many", spoken, lambda _channel: served, VirtualClock())
    op.output("out", stage, TestingSink(made))
    run_main(flow)  # type: ignore[no-untyped-call]
    for code, method in methods.items():
        model = alone(method)
        want = [model.update("talk/0", SegmentState(), text, is_final=True)[1].tokens for text in said]
        assert [one.tokens for one in made if one.language == code] == want


@given(st.lists(texts, min_size=1, max_size=40), st.data())
def test_a_resumed_run_translates_what_waited(said: list[str], data: st.DataObject) -> None:
    def stage(state: StageState) -> _Stream:
        served = toy_rooms(scheduler(3, 16), "ssbd", keep_up=False)
        return _Stream(lambda _channel: served, VirtualClock(), state, no_note)

    spoken, cut = finals(said), data.draw(st.integers(0, len(said)))
    first = stage(StageState())
    made = first.on_batch(spoken[:cut])[0]
    assert len(made) == cut // TOGETHER * TOGETHER
    second = stage(unpack(first.snapshot(), StageState))
    made += second.on_batch(spoken[cut:])[0] + second.on_eof()[0]
    whole = stage(StageState())
    assert output(made) == output(whole.on_batch(spoken)[0] + whole.on_eof()[0])
