"""In which threads a flow runs: why Bytewax's `run_main` is used, though it calls that a means of tests."""

import threading
from threading import Event as Flag

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, cluster_main

from flows.running.dataflow import run


def flow(seen: set[int]) -> Dataflow:
    """A flow that notes the threads in which its stages run."""

    def note(item: int) -> int:
        seen.add(threading.get_native_id())
        return item

    made = Dataflow("threads")
    items = op.map("note", op.input("in", made, TestingSource(range(5))), note)
    op.output("out", items, TestingSink([]))
    return made


def test_one_worker_runs_in_the_thread_that_called() -> None:
    seen: set[int] = set()
    run(flow(seen), Flag())
    assert seen == {threading.get_native_id()}


def test_a_cluster_of_one_would_run_in_another_thread_for_which_this_one_waits() -> None:
    # The day that this fails `run` needs no case of its own for one worker.
    seen: set[int] = set()
    cluster_main(flow(seen), [], 0, worker_count_per_proc=1)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    assert len(seen) == 1
    assert threading.get_native_id() not in seen
