"""Translates the growing text of one segment again and again, its last output being the draft.

Pure: the state of a segment is handed in and out, and the model is asked through sessions that are
lent by a pool. Losing a session costs time, never a result.
"""

import codecs
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import msgspec

from operators.decoding.commit import CommitRule
from operators.decoding.conditioning import Conditioning
from operators.decoding.forward import Method, Task, drive
from operators.decoding.session import PrefixSession
from operators.decoding.windows import split_source
from operators.events import Effort
from operators.prompts.prompt import Prompt


class Sessions(Protocol):
    """Where sessions come from: one per key, possibly a new one each time."""

    def session(self, key: str) -> AbstractContextManager[PrefixSession]:
        """Lend the session of ``key``."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds."""
        ...


class Window(msgspec.Struct, frozen=True, array_like=True):
    """One window of a segment: what was translated last, and into what."""

    source: tuple[int, ...]
    #: The output; the draft of the next update.
    output: tuple[int, ...]
    #: Passes in which each token of the output stood with a clear margin.
    stood: tuple[int, ...] = ()


class SegmentState(msgspec.Struct, frozen=True, array_like=True):
    """All that an open segment has to remember: token ids, small and picklable."""

    windows: tuple[Window, ...] = ()


class Output(NamedTuple):
    """The translation of one update."""

    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    effort: Effort


class TranslatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How segments are translated, whatever the method."""

    #: Tokens of source and of output that one window may have.
    max_source: int
    max_output: int
    conditioning: Conditioning = Conditioning()
    commit: CommitRule = CommitRule()
    #: Tokens that are taken from the end of the draft, other than of a final's (the paper's mask-k).
    draft_mask: int = 0
    #: Whether the method decodes the last update of a segment in another way than those before it.
    finals_differ: bool = False
    #: Whether the draft is dropped when the source is not an extension of the one before it.
    drop_revised: bool = False


class Translator:
    """Translates updates of segments with one model, one prompt and one decoding method."""

    def __init__(
        self,
        prompt: Prompt,
        sessions: Sessions,
        method: Callable[[Task], Method],
        settings: TranslatorSettings,
    ) -> None:
        self._prompt = prompt
        self._sessions = sessions
        self._method = method
        self._settings = settings

    def update(
        self, key: str, state: SegmentState, text: str, *, is_final: bool
    ) -> tuple[SegmentState, Output]:
        """Translate the present text of segment ``key``."""
        text = self._settings.conditioning.prepare(text, is_final=is_final)
        windows: list[Window] = []
        effort = Effort()
        for number, part in enumerate(self._split(text)):
            before = state.windows[number] if number < len(state.windows) else Window((), ())
            source = self._prompt.source(part)
            window, spent = self._translate(f"{key}/{number}", source, before, is_final=is_final)
            windows.append(window)
            effort = effort + spent
        for number in range(len(windows), len(state.windows)):
            self._sessions.release(f"{key}/{number}")
        tokens, pieces = self._join(windows)
        return SegmentState(tuple(windows)), Output(tokens, pieces, effort)

    def release(self, key: str, state: SegmentState) -> None:
        """Free the sessions of a segment that has ended."""
        for number in range(len(state.windows)):
            self._sessions.release(f"{key}/{number}")

    def _split(self, text: str) -> list[str]:
        if not text.strip():
            return []
        return split_source(text, self._settings.max_source, lambda part: len(self._prompt.source(part)))

    def _translate(
        self, key: str, source: tuple[int, ...], before: Window, *, is_final: bool
    ) -> tuple[Window, Effort]:
        settings = self._settings
        looks_again = is_final and settings.finals_differ
        if source == before.source and not looks_again:
            # An output is a fixed point: verifying or decoding it again would only give it again.
            return before, Effort()
        task = self._task(source, before, is_final=is_final)
        with self._sessions.session(key) as session:
            decoded, cost = drive(self._method(task), session)
        effort = Effort(
            drafted=decoded.drafted,
            accepted=decoded.accepted,
            decoded=len(decoded.tokens) - decoded.accepted,
            passes=cost.passes,
            prompt_tokens=len(task.prompt),
            prompt_reused=min(cost.reused, len(task.prompt)),
            model_s=cost.model_s,
            first_s=cost.first_s,
        )
        stood = settings.commit.count(before.stood, task.committed, decoded.gaps, len(decoded.tokens))
        return Window(source, decoded.tokens, stood), effort

    def _task(self, source: tuple[int, ...], before: Window, *, is_final: bool) -> Task:
        settings = self._settings
        draft = before.output
        if settings.drop_revised and before.source != source[: len(before.source)]:
            draft = ()
        if settings.draft_mask and not is_final:
            draft = draft[: -settings.draft_mask]
        committed = 0
        if not (is_final and settings.finals_differ):
            committed = min(settings.commit.committed(before.stood, before.source, source), len(draft))
        return Task(
            prompt=self._prompt.build(source),
            draft=draft,
            stop=self._prompt.stop,
            limit=min(settings.max_output, 2 * len(source) + 24),
            committed=committed,
            want_gaps=settings.commit.is_on and settings.commit.gap > 0,
            is_final=is_final,
        )

    def _join(self, windows: Sequence[Window]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        tokens: list[int] = []
        pieces: list[str] = []
        for window in windows:
            texts = _strip(decode_pieces([self._prompt.vocabulary.piece(token) for token in window.output]))
            first = next((number for number, text in enumerate(texts) if text), None)
            if first is not None and any(pieces):
                texts[first] = self._prompt.joint + texts[first]
            tokens += window.output
            pieces += texts
        return tuple(tokens), tuple(pieces)


def decode_pieces(pieces: Sequence[bytes]) -> list[str]:
    """The text of each token; bytes that end inside a character are carried over to the next."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    last = len(pieces) - 1
    return [decoder.decode(piece, final=number == last) for number, piece in enumerate(pieces)]


def _strip(pieces: list[str]) -> list[str]:
    """White space around an answer is a habit of the model: Gemma opens with a space, ends with a line."""
    for number, piece in enumerate(pieces):
        pieces[number] = piece.lstrip()
        if pieces[number]:
            break
    for number in reversed(range(len(pieces))):
        pieces[number] = pieces[number].rstrip()
        if pieces[number]:
            break
    return pieces
