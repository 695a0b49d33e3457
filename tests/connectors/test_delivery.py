"""Each source and sink is held to the guarantee that its docstring states."""

import importlib
import inspect
import os
import pkgutil
from pathlib import Path

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import Source
from bytewax.outputs import Sink
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSource, run_main

import connectors
from connectors.callback import CallbackSink
from connectors.sinks.jsonl import JsonlSink
from operators.clock import VirtualClock
from operators.events import Caption
from operators.stages.show import show
from tests.connectors.jsonl.partials import events
from tests.flows.talk import captions


def test_every_source_and_sink_states_its_guarantee() -> None:
    for module in pkgutil.walk_packages(connectors.__path__, "connectors."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(kind, Source | Sink) and kind.__module__.startswith("connectors"):
                assert inspect.isabstract(kind) or "Delivery: " in str(kind.__doc__), kind


def test_a_pipe_gets_what_came_after_the_snapshot_again(tmp_path: Path) -> None:
    pipe, (first, second) = tmp_path / "pipe", events(2)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    killed = JsonlSink(pipe).build_part("out", "part", None)
    killed.write_batch([first])
    position = killed.snapshot()
    killed.write_batch([second])
    once = os.read(reader, 65536)
    resumed = JsonlSink(pipe).build_part("out", "part", position)
    resumed.write_batch([second])
    again = os.read(reader, 65536)
    assert again
    assert once.endswith(again)
    resumed.close()
    killed.close()
    os.close(reader)


def test_functions_and_the_screen_get_each_caption_at_least_once(tmp_path: Path) -> None:
    spoken = captions()
    given: list[Caption | TestingSource.ABORT] = [*spoken[:5], TestingSource.ABORT(), *spoken[5:]]
    called, drawn = list[Caption](), list[Caption]()
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    for _ in range(2):
        flow = Dataflow("test")
        stream = op.input("in", flow, TestingSource(given))
        shown = show("show", stream, drawn.extend, VirtualClock())
        op.output("out", shown, CallbackSink(called.append))
        run_main(flow, recovery_config=RecoveryConfig(tmp_path))  # type: ignore[no-untyped-call]  # as above
    expected = [(one.segment, one.revision) for one in [*spoken[:5], *spoken]]
    for got in (called, drawn):
        assert [(one.segment, one.revision) for one in got] == expected
