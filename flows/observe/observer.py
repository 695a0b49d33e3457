"""Those who look on at a run, and how they are told what happens."""

import logging
from collections.abc import Callable
from typing import Protocol, get_args

from connectors.messages.log import tell
from operators.observed import Observed

#: Takes what happened; never blocks for long and never raises, and any thread may call it.
Observe = Callable[[Observed], None]


class Observer(Protocol):
    """Looks on at a run, and changes nothing of it."""

    @property
    def takes(self) -> frozenset[type]:
        """The kinds of events that it wants to be told."""
        ...

    def observe(self, event: Observed, /) -> None:
        """Take note of an event of one of these kinds; any thread may call it, so it must not block."""
        ...


class Observers:
    """Tells each observer the events that it takes, in the order in which they are given here.

    One that raises must not end the captions: that is told with its traceback, and it is left out from then
    on.
    """

    def __init__(self, *observers: Observer) -> None:
        self._taking = {
            kind: tuple(one for one in observers if kind in one.takes) for kind in get_args(Observed)
        }
        # By identity: an observer need not be hashable.
        self._failed: set[int] = set()

    def observe(self, event: Observed) -> None:
        """Tell an event, on any thread; it raises nothing."""
        for one in self._taking[type(event)]:
            if id(one) in self._failed:
                continue
            try:
                one.observe(event)
            except Exception as error:  # noqa: BLE001 - whatever it is, captions go on
                self._leave_out(one, error)

    def wants(self, kind: type) -> bool:
        """Whether anybody takes this kind of event: what nobody wants to know need not be told."""
        return bool(self._taking[kind])

    @property
    def have_failed(self) -> bool:
        """Whether one of them was left out."""
        return bool(self._failed)

    def _leave_out(self, one: Observer, error: Exception) -> None:
        self._failed.add(id(one))
        name = type(one).__name__
        sentence = f"{name} failed and is left out from now on; captions go on"
        tell("observer_failed", sentence, level=logging.ERROR, error=error, observer=name)
