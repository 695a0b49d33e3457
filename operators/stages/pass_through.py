"""The pass-through stage: in the place of `translate` where captions are in the spoken language."""

import regex
from bytewax import operators as op
from bytewax.dataflow import Stream, operator

from operators.clock import Clock
from operators.events import Partial, Translation, moment_of

# A word with the white space before it; in scripts without spaces, a character.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_PIECE = regex.compile(rf"\s*(?:{_UNSPACED}|(?:(?!{_UNSPACED})\S)+)|\s+\Z")


@operator
def pass_through(
    step_id: str,  # noqa: ARG001 - Bytewax scopes the steps inside by it
    up: Stream[Partial],
    clock: Clock,
) -> Stream[Translation]:
    """Pass on the sentences as they were spoken, in the form of translations.

    Nothing is superseded, because nothing takes time; and there is no state.
    """
    return op.map("each", up, lambda partial: _passed(partial, clock))


def _passed(partial: Partial, clock: Clock) -> Translation:
    ready_s = clock.done(partial.channel, partial.arrival_s, 0.0)
    return Translation(
        **moment_of(partial),
        source=partial.text,
        text=partial.text,
        tokens=(),
        # What the display withholds is counted in these.
        pieces=tuple(_PIECE.findall(partial.text)),
        started_s=ready_s,
        ready_s=ready_s,
        is_stable=partial.is_stable,
    )
