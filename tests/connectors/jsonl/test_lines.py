"""Any bytes give a valid event or an error, and any event that is written is read back the same."""

import contextlib
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.jsonl.files import event_type_of, validate
from connectors.jsonl.source import JsonlSource
from connectors.sinks.jsonl import JsonlSink
from operators.errors import InputError
from operators.events import AudioChunk, Caption, Effort, Erasure, ErasureRecord, Event, Partial, Translation
from tests.connectors.jsonl.partials import drained, partial, write


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
almost_partials = st.builds(
    lambda changed: json.dumps({**msgspec.to_builtins(partial()), **changed}).encode(),
    st.dictionaries(st.sampled_from((*Partial.__struct_fields__, "event", "x")), json_values, max_size=3),
)


@given(st.lists(st.binary(max_size=80) | almost_partials, max_size=4))
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_lines_give_a_valid_event_or_an_input_error(scratch: Path, hostile: list[bytes]) -> None:
    path = write(scratch / "hostile.jsonl", b"\n".join(hostile))
    with contextlib.suppress(InputError):
        validate(path, event_type_of(path))
    part = JsonlSource(path, Partial, skip_bad=True).build_part("in", "part", None)
    kept = list(drained(part))
    part.close()
    for event in kept:
        again = msgspec.json.decode(msgspec.json.encode(event), type=Partial)
        assert again == event
        assert again.segment >= 0
        assert again.arrival_s >= 0


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
finite = st.floats(min_value=0, max_value=1e10)
counts = st.integers(min_value=0, max_value=2**53 - 1)
lengths = st.integers(min_value=0, max_value=10**9)
segments_of = {"stream": texts, "segment": counts, "revision": counts, "is_final": st.booleans()}
times_of = {"start_s": finite, "end_s": finite, "arrival_s": finite}
efforts = st.builds(Effort, drafted=counts, accepted=counts, decoded=counts, model_s=finite)
erasures = st.builds(Erasure, length=lengths, erased=lengths, ne_segment=finite, ne_stream=finite)
any_events = st.one_of(
    st.builds(AudioChunk, stream=texts, start_s=finite, pcm=st.binary(max_size=40), is_last=st.booleans()),
    st.builds(Partial, **segments_of, **times_of, text=texts),
    st.builds(
        Translation, **segments_of, **times_of, source=texts, text=texts,
        tokens=st.lists(st.integers(0, 2**31 - 1)).map(tuple), pieces=st.lists(texts).map(tuple),
        ready_s=finite, effort=efforts,
    ),
    st.builds(
        Caption, **segments_of, **times_of, source=texts, shown=texts, withheld=texts, ready_s=finite,
        effort=efforts,
    ),
    st.builds(
        ErasureRecord, **segments_of, raw=erasures, shown=erasures, accepted_over_drafted=st.none() | finite,
        accepted_over_output=st.none() | finite, latency_from_speech_s=finite, latency_from_arrival_s=finite,
        effort=efforts, signature=texts,
    ),
)  # fmt: skip


@given(any_events)
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back_the_same(scratch: Path, event: Event) -> None:
    path = scratch / "round.jsonl"
    sink = JsonlSink(path).build_part("out", "part", None)
    sink.write_batch([event])
    sink.close()
    assert event_type_of(path) is type(event)
    source = JsonlSource(path, type(event)).build_part("in", "part", None)
    assert list(drained(source)) == [event]
    source.close()
