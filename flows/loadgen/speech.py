"""What rooms say during a load, with the moment at which each event is due. Pure."""

from collections.abc import Iterator
from heapq import merge
from operator import itemgetter
from typing import TypeVar

from flows.loadgen.sound import PIECE_S, Sound
from flows.loadgen.target import Load
from operators.events import AudioChunk, Event, Partial
from operators.serving.recording import Recording, phase
from operators.serving.rooms import Update

E = TypeVar("E", bound=Event)
#: An event, and when it is due, in seconds since the load began.
Due = tuple[float, E]

# Seconds over which the beginnings of the rooms are spread. Recognisers that heard their first sound in the
# same moment would all be busy in the same moments.
_BEGIN_S = 1.0


def partials(recording: Recording, load: Load, prefix: str = "") -> Iterator[Due[Partial]]:
    """The partials of all rooms, in the order of their times; ``prefix`` begins the names of the rooms."""
    revisions: dict[tuple[str, int], int] = {}
    for update in recording.arrivals(load.rooms, load.seconds):
        segment = (update.room, update.segment)
        revision = revisions.pop(segment, -1) + 1
        if not update.is_final:
            revisions[segment] = revision
        yield update.arrival_s, _partial(update, revision, prefix)


def _partial(update: Update, revision: int, prefix: str) -> Partial:
    return Partial(
        stream=f"{prefix}{update.room}",
        segment=update.segment,
        revision=revision,
        text=update.text,
        is_final=update.is_final,
        start_s=update.arrival_s,
        end_s=update.arrival_s,
        arrival_s=update.arrival_s,
        # Each update of a recording gets a caption, so that the captions can be told apart.
        is_sentence=True,
    )


def chunks(sound: Sound, load: Load) -> Iterator[Due[AudioChunk]]:
    """The sound of all rooms, each piece when its last sample has been said."""
    return merge(*(_room(sound, load, number) for number in range(load.rooms)), key=itemgetter(0))


def begin_s(room: int) -> float:
    """When a room begins to speak, in seconds since the load began."""
    return _BEGIN_S * phase(room)


def _room(sound: Sound, load: Load, number: int) -> Iterator[Due[AudioChunk]]:
    stream, start_s = f"room {number + 1}", begin_s(number)
    for pcm in sound.pieces(number):
        end_s = start_s + PIECE_S
        if end_s > load.seconds:
            break
        yield end_s, AudioChunk(stream=stream, start_s=start_s, pcm=pcm)
        start_s = end_s
    yield start_s, AudioChunk(stream=stream, start_s=start_s, pcm=b"", is_last=True)
