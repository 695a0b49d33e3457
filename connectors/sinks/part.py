"""Sinks as parts: the facts about each that settings, options and the flow need."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from bytewax.outputs import Sink

from operators.extras import Extra
from operators.parts import Parts
from operators.subtitles.writer import Shown

#: What a sink takes: the events of a stage, or the cues of subtitles, with their keys.
Step = Literal["audio", "partials", "sentences", "translations", "captions", "cues", "records"]


class SinkPart(NamedTuple):
    """A file or an address that a key of ``[output]`` names."""

    name: str
    #: Makes it, as `FileSink` does: ``make(path, watch=watch)``.
    make: Callable[..., Sink[Any]]
    of: Step
    #: Contents of the file before the first record; None if it is created with the first record.
    header: str | None = ""
    #: Returns what ``doctor`` prints about it, given its file; as for recognisers.
    examine: Callable[[Path], str] | None = None
    extra: Extra | None = None
    #: Whether there may be several such files, which differ in ``shown``.
    shows: bool = False
    #: Switches before the name of such a file: arguments of ``make``, as in ``times=talk.txt``.
    switches: tuple[str, ...] = ()
    #: Whether it names an address, which may hold a secret, and not a file: ``make(address, watch=watch)``.
    is_address: bool = False
    #: Whether it names speakers: ``make`` also takes ``language_of``, which returns a caption's language.
    names: bool = False
    #: Whether an address takes the captions in one language only.
    in_one_language: bool = False
    #: Contents of a file: the speech, its translation or both; None for the default of all files.
    shown: Shown | None = None
    #: Code of the file's caption language, if there are several.
    language: str = ""

    @property
    def is_of_language(self) -> bool:
        """Whether its events belong to one language, if captions are in several."""
        return self.of not in ("audio", "partials", "sentences")

    def of_each(self, path: Path, codes: Sequence[str]) -> "list[tuple[SinkPart, Path]]":
        """Its file for each of several languages: ``talk.de.srt`` and ``talk.fr.srt`` for ``talk.srt``.

        Events from before the translation have one file.
        """
        if not codes or not self.is_of_language:
            return [(self, path)]
        if self.shown == "source":
            # The speech is the same in all languages; the events of the first one are used.
            return [(self._replace(language=codes[0]), path)]
        return [
            (self._replace(name=f"{self.name}-{code}", language=code), in_language(path, code))
            for code in codes
        ]


def in_language(path: Path, code: str) -> Path:
    """The file for one of several languages, by its ISO 639 code.

    >>> str(in_language(Path("talks/monday.srt"), "de"))
    'talks/monday.de.srt'
    """
    return path.with_name(f"{path.stem}.{code}{path.suffix}")


def asked_in(given: str, one: SinkPart) -> tuple[SinkPart, Path]:
    """The sink with the switches before a file's name, and the path of the file.

    >>> one = SinkPart("txt", dict, "captions", shows=True, switches=("times",))
    >>> [(asked.shown, asked.make(), str(path)) for asked, path in (
    ...     asked_in("talk.txt", one), asked_in("source,times=talk.txt", one), asked_in("a=talk.txt", one))]
    [(None, {}, 'talk.txt'), ('source', {'times': True}, 'talk.txt'), (None, {}, 'a=talk.txt')]
    """
    before, _, path = given.partition("=")
    words = set(before.split(","))
    shown = [what for what in get_args(Shown) if what in words]
    switches = words.intersection(one.switches)
    if not path or words != switches.union(shown) or len(shown) > 1:
        return one, Path(given)
    make = partial(one.make, **dict.fromkeys(switches, True)) if switches else one.make
    return one._replace(shown=shown[0] if shown else None, make=make), Path(path)


def sink(name: str, **about: Any) -> Callable[[Callable[..., Sink[Any]]], SinkPart]:
    """Decorate a function that makes a sink; ``about`` are other fields of `SinkPart`."""
    return lambda make: SinkPart(name, make, **about)


SINKS = Parts(SinkPart, what="a sink", package="connectors.sinks", group="surtitle.sinks")
