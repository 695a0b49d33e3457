"""A thread that owns a scheduler: workers submit methods and wait for their results.

No lock is held while the model computes, so the requests of all workers are answered in the same passes.
"""

from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread

from operators.decoding.decoder import Decode
from operators.decoding.drive import Cost
from operators.decoding.forward import Decoded
from operators.serving.job import Job
from operators.serving.scheduler import Scheduler

_Result = tuple[Decoded, Cost]


class SchedulerThread:
    """A thread-safe `Decoder`."""

    def __init__(self, scheduler: Scheduler) -> None:
        """Take over ``scheduler``: nothing else may use it from now on."""
        self._scheduler = scheduler
        # A job to run, a key to release, or None to end the thread.
        self._inbox: SimpleQueue[tuple[Decode, Future[_Result]] | str | None] = SimpleQueue()
        self._promised: dict[Job, Future[_Result]] = {}
        # A daemon: the program waits for workers that wait for a result, but not for an idle model.
        self._thread = Thread(target=self._run, name="scheduler", daemon=True)
        self._thread.start()

    def decode(self, asked: Decode) -> tuple[Decoded, Cost]:
        """Run the method; return its result and effort. Raises `ModelTrouble` if the model fails."""
        future: Future[_Result] = Future()
        self._inbox.put((asked, future))
        return future.result()

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are ignored."""
        self._inbox.put(key)

    def close(self) -> None:
        """End the thread when all submitted work is done; nothing may be submitted afterwards."""
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open or not self._scheduler.is_idle:
            # Take everything that has come by now into the next pass; when idle, wait for more.
            while not self._inbox.empty() or (is_open and self._scheduler.is_idle):
                is_open = self._take(self._inbox.get()) and is_open
            try:
                ended = self._scheduler.step()
            except Exception as error:  # noqa: BLE001 - a defect, which those who wait are to hear of
                ended = self._scheduler.abandon(error)
            for job in ended:
                future = self._promised.pop(job)
                if job.error is None:
                    future.set_result(job.result)
                else:
                    future.set_exception(job.error)

    def _take(self, handed_in: tuple[Decode, Future[_Result]] | str | None) -> bool:
        """Take the submitted work from the queue; return whether more may come."""
        if handed_in is None:
            return False
        if isinstance(handed_in, str):
            self._scheduler.release(handed_in)
        else:
            asked, future = handed_in
            self._promised[self._scheduler.add(asked)] = future
        return True
