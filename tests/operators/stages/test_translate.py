"""The translate stage in a real dataflow, on the toy model. (Bytewax leaves its runners unannotated.)"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main
from msgspec.structs import replace

from operators.clock import VirtualClock
from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.conditioning import Conditioning
from operators.decoding.decoder import OneAtATime
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import Translator, TranslatorSettings
from operators.events import Partial, Translation
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from operators.stages.translate import translate
from tests.toy import ToyStore, ToyVocabulary


def partials(*texts: str, segment: int = 0, stream: str = "s") -> list[Partial]:
    return [
        Partial(
            stream=stream, segment=segment, revision=number, is_final=number == len(texts) - 1, text=text,
            start_s=0.0, end_s=number + 0.5, arrival_s=number + 1.0,
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip


def toy_translator(store: ToyStore, *, max_source: int = 50, hold_back: int = 0) -> Translator:
    vocabulary = ToyVocabulary()
    prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))
    return Translator(
        prompt,
        OneAtATime(SessionPool(store, prompt.head, 3)),
        lambda task: ssbd(task, BiasedAcceptance(0.2)),
        TranslatorSettings(
            max_source=max_source, max_output=40, conditioning=Conditioning(hold_back=hold_back)
        ),
    )


def flow(
    source: Sequence[Partial | TestingSource.ABORT], out: list[Translation], translator: Translator
) -> Dataflow:
    dataflow = Dataflow("test")
    stream = op.input("in", dataflow, TestingSource(source, batch_size=2))
    op.output("out", translate("translate", stream, lambda: translator, VirtualClock()), TestingSink(out))
    return dataflow


def test_every_partial_is_translated_in_order_and_carries_what_later_stages_need() -> None:
    out: list[Translation] = []
    given = partials("a b", "a b c", "a b c a")
    run_main(flow(given, out, toy_translator(ToyStore(4))))  # type: ignore[no-untyped-call]
    assert [one.revision for one in out] == [0, 1, 2]
    assert [one.source for one in out] == [one.text for one in given]
    for one, partial in zip(out, given, strict=True):
        assert one.text == "".join(one.pieces)
        assert len(one.pieces) == len(one.tokens)
        assert one.ready_s >= one.arrival_s == partial.arrival_s
    assert out[1].effort.drafted == len(out[0].tokens)


def test_no_word_of_stable_text_waits() -> None:
    out: list[Translation] = []
    first, stable = partials("a b c", "a b c")
    given = [first, replace(stable, is_final=False, is_stable=True)]
    run_main(flow(given, out, toy_translator(ToyStore(4), hold_back=1)))  # type: ignore[no-untyped-call]
    assert out[0].effort.prompt_tokens < out[1].effort.prompt_tokens
    assert [one.is_stable for one in out] == [False, True]


def test_a_segment_that_has_ended_leaves_nothing_in_the_cache() -> None:
    store = ToyStore(4)
    given = [*partials("a", "a b"), *partials("c", "c a", segment=1)]
    run_main(flow(given, [], toy_translator(store)))  # type: ignore[no-untyped-call]
    assert [cache.tokens for cache in store.caches[1:]] == [[], [], []]


def test_segments_that_never_end_are_forgotten_at_last_and_begun_anew_when_they_come_again() -> None:
    out: list[Translation] = []
    many = [partials("one two", "", segment=number)[0] for number in range(1025)]
    again = [partials("one two three", "", segment=number)[0] for number in (0, 2)]
    run_main(flow([*many, *again], out, toy_translator(ToyStore(4))))  # type: ignore[no-untyped-call]
    assert len(out) == 1027
    assert [translation.effort.drafted > 0 for translation in out[-2:]] == [False, True]


def test_segments_of_several_streams_do_not_mix() -> None:
    alone: list[Translation] = []
    run_main(flow(partials("a b", "a b c"), alone, toy_translator(ToyStore(4))))  # type: ignore[no-untyped-call]
    together: list[Translation] = []
    mixed: list[Partial] = [
        one
        for pair in zip(partials("a b", "a b c"), partials("c", "b c", stream="t"), strict=True)
        for one in pair
    ]
    run_main(flow(mixed, together, toy_translator(ToyStore(4))))  # type: ignore[no-untyped-call]
    assert [one.text for one in together if one.stream == "s"] == [one.text for one in alone]


def test_open_segments_of_one_stream_come_back_together(tmp_path: Path) -> None:
    pairs = zip(partials("a b", "a b c", "a b c a"), partials("c", "b c", "b c d", segment=1), strict=True)
    given = [one for pair in pairs for one in pair]
    want: list[Translation] = []
    run_main(flow(given, want, toy_translator(ToyStore(4))))  # type: ignore[no-untyped-call]
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call]
    recovery = RecoveryConfig(tmp_path, backup_interval=timedelta(0))  # type: ignore[no-untyped-call]
    got: list[Translation] = []
    broken: list[Partial | TestingSource.ABORT] = [*given[:4], TestingSource.ABORT(), *given[4:]]
    for _ in range(2):
        run_main(  # type: ignore[no-untyped-call]
            flow(broken, got, toy_translator(ToyStore(4))),
            epoch_interval=timedelta(0),
            recovery_config=recovery,
        )
    by_revision = {(one.segment, one.revision): (one.tokens, one.effort.drafted) for one in got}
    assert by_revision == {(one.segment, one.revision): (one.tokens, one.effort.drafted) for one in want}


def test_the_translations_of_a_stream_keep_their_order_whatever_the_workers() -> None:
    given = [
        partial
        for segment in range(20)
        for stream in ("s0", "s1", "s2", "s3")
        for partial in partials("a", "a b", segment=segment, stream=stream)
    ]
    out: list[Translation] = []
    dataflow = flow(given, out, toy_translator(ToyStore(4)))
    cluster_main(dataflow, [], 0, worker_count_per_proc=3)  # type: ignore[no-untyped-call]
    for stream in ("s0", "s1", "s2", "s3"):
        said = [(one.segment, one.revision) for one in out if one.stream == stream]
        assert said == [(segment, revision) for segment in range(20) for revision in (0, 1)]


def test_a_segment_longer_than_the_context_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    long = " ".join(["a"] * 30)
    out: list[Translation] = []
    given = partials("a", long, long + " b", long + " b c")
    run_main(flow(given, out, toy_translator(ToyStore(4), max_source=10)))  # type: ignore[no-untyped-call]
    assert len(out) == 4
    assert [record.message for record in caplog.records] == [
        "segment s/000000 is longer than the context and is translated in parts"
    ]
