"""The observer interface, and the dispatch of events to observers."""

import logging
from collections.abc import Callable
from typing import Protocol, get_args

from connectors.messages import tell
from operators.notifications import Observed

#: Takes an event; never blocks for long, never raises, and is thread-safe.
Observe = Callable[[Observed], None]


class Observer(Protocol):
    """Observes a run without changing it."""

    @property
    def takes(self) -> frozenset[type]:
        """The types of events that it receives."""
        ...

    def observe(self, event: Observed, /) -> None:
        """Handle an event of one of these types; called from any thread, so it must not block."""
        ...


class Observers:
    """Passes events to the observers that take them, in the given order of observers.

    An observer that raises must not end the captions: the error is reported with its traceback, and the
    observer gets no more events.
    """

    def __init__(self, *observers: Observer) -> None:
        self._taking = {
            kind: tuple(one for one in observers if kind in one.takes) for kind in get_args(Observed)
        }
        # By identity: an observer need not be hashable.
        self._failed: set[int] = set()

    def observe(self, event: Observed) -> None:
        """Pass on an event; thread-safe, never raises."""
        for one in self._taking[type(event)]:
            if id(one) in self._failed:
                continue
            try:
                one.observe(event)
            except Exception as error:  # noqa: BLE001 - whatever it is, captions continue
                self._leave_out(one, error)

    def wants(self, kind: type) -> bool:
        """Whether any observer takes this type of event; otherwise it need not be sent."""
        return bool(self._taking[kind])

    @property
    def have_failed(self) -> bool:
        """Whether an observer has failed."""
        return bool(self._failed)

    def _leave_out(self, one: Observer, error: Exception) -> None:
        self._failed.add(id(one))
        name = type(one).__name__
        sentence = f"{name} failed and is not used any more; captions continue"
        tell("observer_failed", sentence, level=logging.ERROR, error=error, observer=name)
