"""What a scheduler needs of a model: passes that answer the requests of several segments."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import Forward, Logits
from operators.trouble import ModelTrouble


class Asked(NamedTuple):
    """A request, and the key of the session that answers it."""

    key: str
    request: Forward


class Answered(NamedTuple):
    """The answer to one request."""

    #: Valid until the next answer is taken; or why there is none.
    logits: Logits | ModelTrouble
    #: Tokens of the request that did not have to be evaluated again.
    reused: int = 0


class Passes(Protocol):
    """One model, with a session for each of so many keys; a session that is lost costs time alone."""

    #: Sessions that there is room for: the requests of one pass at most.
    most: int

    def size(self, asked: Asked) -> int:
        """Tokens that a pass has to evaluate to answer this."""
        ...

    def answer(self, asked: Sequence[Asked]) -> Iterator[Answered]:
        """Answer requests of different keys together, in their order."""
        ...

    def succeed(self) -> None:
        """Take note that an answer could be used to its end."""
        ...

    def fail(self, key: str) -> None:
        """Drop what ``key`` holds, as something was wrong with an answer."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are welcome."""
        ...
