"""A thread that owns a scheduler: workers hand in methods and wait for what they return.

Nobody holds a lock while the model computes: what all workers wait for is answered in the same passes.
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
    """A `Decoder` for any number of threads."""

    def __init__(self, scheduler: Scheduler) -> None:
        """Nobody else may use ``scheduler`` from now on."""
        self._scheduler = scheduler
        # A key alone is to be released; None ends the thread.
        self._inbox: SimpleQueue[tuple[Decode, Future[_Result]] | str | None] = SimpleQueue()
        self._promised: dict[Job, Future[_Result]] = {}
        # Whoever waits for a result holds up the end of the program; an idle model does not.
        self._thread = Thread(target=self._run, name="scheduler", daemon=True)
        self._thread.start()

    def decode(self, asked: Decode) -> tuple[Decoded, Cost]:
        """What the method returns, and what it took. Raises `ModelTrouble` where the model cannot."""
        future: Future[_Result] = Future()
        self._inbox.put((asked, future))
        return future.result()

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are welcome."""
        self._inbox.put(key)

    def close(self) -> None:
        """End the thread when all that was handed in is done; nothing may be handed in afterwards."""
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open or not self._scheduler.is_idle:
            # Whatever has come by now can be in the next pass; without anything to do it waits for more.
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
        """Take note of what was handed in; tell whether more may come."""
        if handed_in is None:
            return False
        if isinstance(handed_in, str):
            self._scheduler.release(handed_in)
        else:
            asked, future = handed_in
            self._promised[self._scheduler.add(asked)] = future
        return True
