"""Translates the growing text of a segment at each update, with its last output as the draft.

Pure: the caller passes the state of a segment in, gets the new state back, and runs the methods.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar

import msgspec
from typing_extensions import override

from operators.decoding.adjustment import adjusted, ending_figures, lacks_end, nonempty, whole
from operators.decoding.conditioning import Conditioning, is_closing, split_source
from operators.decoding.correction import carried, standing
from operators.decoding.drive import Cost, Decoder, DecodeRequest
from operators.decoding.forward import DecodingResult, Method, Task, output_limit
from operators.decoding.pieces import decode_pieces, strip_pieces
from operators.decoding.terms import SourceTerms, term_bias
from operators.events import Effort
from operators.glossary import Glossary
from operators.languages import SCRIPTS
from operators.model_errors import ErrorKind, ModelError, answer_error
from operators.prompts.prompt import Prompt
from operators.text import cleaned, common_prefix

# Scripts without a mark at the end of a sentence.
_UNMARKED = frozenset(name for name, one in SCRIPTS.items() if not one.has_marks)
#: Outputs kept per stream for lookup drafts, and the number of streams for which outputs are kept.
_MAX_RECENT = 16
_MAX_STREAMS = 1024

_T = TypeVar("_T")


class Window(msgspec.Struct, frozen=True, array_like=True):
    """One window of a segment: the last translated source and its output."""

    source: tuple[int, ...]
    #: The output, which is the draft of the next update.
    output: tuple[int, ...]
    #: For each token of the output, the number of passes that accepted it.
    stood: tuple[int, ...] = ()
    #: The text of the output, because a resumed run may have a model with another vocabulary.
    text: str = ""


class SegmentState(msgspec.Struct, frozen=True, array_like=True):
    windows: tuple[Window, ...] = ()
    #: The windows in the pivot language, for a `PivotTranslator`.
    pivot: tuple[Window, ...] = ()


class Output(NamedTuple):
    """The translation of one update; if the model gave no usable answer, the last usable one."""

    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    effort: Effort
    #: The model's worst failure, and details for a person to read.
    trouble: ErrorKind | None = None
    why: str = ""


#: An update in progress: yields one method after the other to be run, and receives the result of each or has
#: its `ModelError` thrown in. Returns the segment's new state and the output to show.
Updating = Generator[DecodeRequest, tuple[DecodingResult, Cost], tuple["SegmentState", "Output"]]


class _Answer(NamedTuple):
    window: Window
    effort: Effort = Effort()
    trouble: ErrorKind | None = None


class CommitRule(msgspec.Struct, frozen=True):
    """Selects draft tokens that were accepted often enough to be kept without another check.

    A token is committed if it was accepted in several passes, and all tokens before it are committed. It
    stays in the forward pass but requests no logits. It is checked again when the source changes at or before
    the place that it translates; that place is estimated in proportion.
    """

    #: Passes in which a token must have been accepted; 0 commits nothing.
    passes: int = 0

    def committed(self, accepted: Sequence[int], before: Sequence[int], source: Sequence[int]) -> int:
        """Number of committed tokens at the beginning of the draft.

        ``accepted`` counts for each draft token the passes that accepted it. ``before`` and ``source`` are
        the token ids of the draft's source and of the current one.
        """
        if not self.passes or not before:
            return 0
        count = next((place for place, passes in enumerate(accepted) if passes < self.passes), len(accepted))
        return min(count, len(accepted) * common_prefix(before, source) // len(before))


class Guard(StrEnum):
    """Measures in addition to the decoding method; the SSBD paper has none of them."""

    #: Punctuation at the end of the last output is left out of the draft, because the speaker has continued.
    MARKS = "marks"
    #: An answer that repeats itself is cut.
    REPETITION = "repetition"
    #: Figures end: see `adjustment.ending_figures`.
    FIGURES = "figures"
    #: A final is not empty and ends its sentence, if the model was trained on unfinished text.
    ENDINGS = "endings"
    #: An empty answer, or one in another script, is rejected: the last one stays.
    ANSWERS = "answers"


GUARDS = frozenset(Guard)


class TranslatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    #: Maximum number of tokens of source and of output in one window.
    max_source: int
    max_output: int
    #: Maximum number of windows translated in one update; the rest is left for the next.
    max_windows: int = 16
    #: Scripts of the target language, as in `operators.languages`; answers in other scripts are not shown.
    scripts: tuple[str, ...] = ()
    conditioning: Conditioning = Conditioning()
    commit: CommitRule = CommitRule()
    #: Whether the KV cells of committed tokens are kept when the source grows.
    keep: bool = False
    guards: frozenset[Guard] = GUARDS
    #: Tokens removed from the end of the draft (the paper's mask-k).
    draft_mask: int = 0
    #: Whether the draft is the source with the last corrections, instead of the last output.
    drafts_source: bool = False
    #: Whether the method decodes the last update of a segment differently from the earlier ones.
    finals_differ: bool = False
    #: Number of preceding sentences in the prompt, if it has a place for them.
    context: int = 0


class SegmentTranslator(ABC):
    """Translates the updates of segments."""

    #: Runs the methods.
    decoder: Decoder

    @abstractmethod
    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        """Like `update`, for a caller that runs the methods of several updates concurrently."""

    @abstractmethod
    def release(self, key: str, state: SegmentState) -> None:
        """Free the sessions of a segment that has ended."""

    def update(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> tuple[SegmentState, Output]:
        """Translate the current text of segment ``key``; words of a stable text will not be revised.

        If the model fails, state and output stay as they were. A final is tried once more, because no later
        update can repair it.
        """
        updating = self.updating(key, state, text, is_final=is_final, is_stable=is_stable)
        try:
            decode = next(updating)
            while True:
                try:
                    decoded = self.decoder.decode(decode)
                except ModelError as error:
                    decode = updating.throw(error)
                else:
                    decode = updating.send(decoded)
        except StopIteration as end:
            done: tuple[SegmentState, Output] = end.value
            return done


class Translator(SegmentTranslator):
    """Translates updates of segments with one model, one prompt and one decoding method."""

    def __init__(
        self,
        prompt: Prompt,
        decoder: Decoder,
        method: Callable[[Task], Method],
        settings: TranslatorSettings,
        glossary: Glossary | None = None,
    ) -> None:
        """Translations are biased towards those of ``glossary`` for terms of the source."""
        self._prompt = prompt
        self.decoder = decoder
        self._method = method
        self._settings = settings
        self._terms = SourceTerms(prompt, glossary)
        self._glossary = glossary if prompt.terms is not None else None
        # Recent outputs and sources by stream, because other streams must not affect a stream.
        self._recent: dict[str, deque[tuple[int, ...]]] = {}
        self._said: dict[str, deque[str]] = {}

    @override
    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        conditioning = self._settings.conditioning
        text = conditioning.prepare(cleaned(text), is_final=is_final, is_stable=is_stable)
        # A full stop that was added for the model is not shown to viewers.
        is_open = conditioning.close and not is_final
        state = SegmentState(tuple(self._readable(window) for window in state.windows))
        try:
            return (yield from self._update(key, state, text, is_open=is_open, is_final=is_final))
        except ModelError as error:
            failed = error
        if is_final:
            try:
                return (yield from self._update(key, state, text, is_open=False, is_final=True))
            except ModelError as error:
                failed = error
        return state, Output(*self._join(state.windows), Effort(), failed.kind, str(failed))

    def _update(self, key: str, state: SegmentState, text: str, *, is_open: bool, is_final: bool) -> Updating:
        answers: list[_Answer] = []
        left, is_cut = self._settings.max_windows, False
        # In a text of this length, even a final spends no pass on windows that did not change.
        is_long = len(state.windows) >= left
        try:
            for number, part in enumerate(self._split(text)):
                before = state.windows[number] if number < len(state.windows) else Window((), ())
                source = self._terms.source(part, before.source)
                if source == before.source and (is_long or left == 0):
                    answers.append(_Answer(before))
                    continue
                if is_cut := left == 0:
                    break
                name = f"{key}/{number}"
                answer = yield from self._translate(name, part, source, before, is_final=is_final)
                answers.append((yield from self._with_terms(name, part, answer, is_final=is_final)))
                left -= answers[-1].effort.passes > 0
        except ModelError:
            self._release(key, 0, max(len(answers) + 1, len(state.windows)))
            raise
        self._release(key, len(answers), len(state.windows))
        windows = tuple(answer.window for answer in answers)
        if is_open and windows and not is_cut:
            windows = (*windows[:-1], self._opened(windows[-1]))
        if is_final:
            _add(self._recent, _within(key), [one.output for one in windows if one.output], _MAX_RECENT)
            _add(self._said, _within(key), [text], self._settings.context)
        effort = sum((answer.effort for answer in answers), start=Effort())
        # Omitted text matters more than how an answer ended.
        troubles = [ErrorKind.LONG_SOURCE] * is_cut + [answer.trouble for answer in answers if answer.trouble]
        worst = next((one for one in troubles if one.is_loss), next(iter(troubles), None))
        return SegmentState(windows), Output(*self._join(windows), effort, worst)

    @override
    def release(self, key: str, state: SegmentState) -> None:
        self._release(key, 0, len(state.windows))

    def _release(self, key: str, first: int, end: int) -> None:
        for number in range(first, end):
            self.decoder.release(f"{key}/{number}")

    def _split(self, text: str) -> Iterator[str]:
        if text.strip():
            budget = self._settings.max_source
            yield from split_source(text, budget, self._prompt.size)

    def _translate(
        self, key: str, text: str, source: tuple[int, ...], before: Window, *, is_final: bool
    ) -> Generator[DecodeRequest, tuple[DecodingResult, Cost], _Answer]:
        settings = self._settings
        is_told = self._prompt.unfinished_tail is not None
        looks_again = is_final and (settings.finals_differ or is_told or settings.conditioning.close)
        # A model trained to wait may have held back a sentence that turns out to be complete.
        guards = settings.guards
        must_speak = is_final and self._prompt.knows_unfinished and any(map(str.isalnum, text))
        must_speak &= Guard.ENDINGS in guards
        must_end = must_speak and _UNMARKED.isdisjoint(settings.scripts)
        looks_again |= must_speak and not before.output
        looks_again |= must_end and lacks_end(before.text, text)
        if source == before.source and not looks_again:
            # An output is a fixed point: verifying or decoding it again would give the same output.
            return _Answer(before)
        prompt = self._prompt.with_notes(
            [] if self._glossary is None else self._glossary.pairs(text),
            self._said.get(_within(_within(key)), ()),
        )
        drafted = self._drafted(source, before)
        task = self._task(key, prompt, source, drafted, is_final=is_final)
        rules = [whole(task, text)] if must_end else []
        rules += [nonempty(task)] if must_speak else []
        rules += [ending_figures(task, text)] if Guard.FIGURES in guards else []
        if terms := self._terms.terms(text, source):
            rules.append(term_bias(terms, self._prompt.vocabulary.piece))
        decoded, cost = yield DecodeRequest(key, adjusted(self._method(task), task, *rules), is_final)
        effort = Effort(
            drafted=decoded.drafted,
            accepted=decoded.accepted,
            decoded=len(decoded.tokens) - decoded.accepted,
            proposed=decoded.proposed,
            taken=decoded.taken,
            passes=cost.passes,
            evaluated=cost.evaluated,
            prompt_tokens=len(task.prompt),
            prompt_reused=min(cost.reused - cost.kept, len(task.prompt)),
            kept=cost.kept,
            draft_passes=cost.draft_passes,
            draft_s=cost.draft_s,
            model_s=cost.model_s + cost.draft_s,
            first_s=cost.first_s,
        )
        answer = "".join(self._pieces(decoded.tokens))
        may_wait = self._prompt.knows_unfinished and not is_final
        lost = answer_error(text, answer, settings.scripts, is_first=not before.output, may_wait=may_wait)
        if lost is not None and Guard.ANSWERS in guards:
            # Neither shown nor used as a draft; the same text is tried again.
            return _Answer(before, effort, lost)
        # A blank output is no answer; the final must decode again.
        tokens = decoded.tokens if cleaned(answer) else ()
        # Fewer tokens are accepted if the draft was verified again without its last phrase.
        committed = min(task.committed, decoded.accepted)
        counts = count_passes(drafted.stood, committed, decoded.accepted, len(tokens))
        window = Window(source, tokens, counts, self._spelled(tokens))
        return _Answer(window, effort, decoded.cut)

    def _with_terms(
        self, key: str, text: str, answer: _Answer, *, is_final: bool
    ) -> Generator[DecodeRequest, tuple[DecodingResult, Cost], _Answer]:
        """The answer, or a second one whose source contains the translations of the missing terms."""
        window, effort, trouble = answer
        lacking = self._terms.lacking(text, window.text)
        source = self._terms.source(text, window.source, lacking)
        if trouble or source == window.source:
            return answer
        # Without a draft: words around another translation seldom fit the term.
        before = Window((), ())
        again = yield from self._translate(key, text, source, before, is_final=is_final)
        if again.trouble or len(self._terms.lacking(text, again.window.text)) >= len(lacking):
            again = answer
        return again._replace(effort=effort + again.effort)

    def _readable(self, window: Window) -> Window:
        """The window; its text is tokenised again if its tokens belong to another vocabulary."""
        if self._spelled(window.output) == window.text:
            return window
        return Window((), tuple(self._prompt.vocabulary.tokenize(window.text)), (), window.text)

    def _spelled(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self._prompt.vocabulary.piece, tokens)).decode(errors="replace")

    def _task(
        self, key: str, prompt: Prompt, source: tuple[int, ...], before: Window, *, is_final: bool
    ) -> Task:
        settings = self._settings
        draft = before.output[: max(0, len(before.output) - settings.draft_mask)]
        if Guard.MARKS in settings.guards and not is_final:
            draft = self._open(draft)
        committed = 0
        if not (is_final and settings.finals_differ):
            committed = min(settings.commit.committed(before.stood, before.source, source), len(draft))
        # A general vocabulary may split the target language into small pieces.
        length = len(source) if self._prompt.knows_unfinished else 2 * len(source)
        return Task(
            prompt=prompt.build(source, is_final=is_final),
            draft=draft,
            stop=self._prompt.stop,
            limit=min(settings.max_output, output_limit(length)),
            committed=committed,
            kept=committed if settings.keep else 0,
            is_final=is_final,
            source=source,
            recent=tuple(self._recent.get(_within(_within(key)), ())),
            pad=self._prompt.pad,
            piece=self._prompt.vocabulary.piece,
            may_repeat=Guard.REPETITION not in settings.guards,
        )

    def _drafted(self, source: tuple[int, ...], before: Window) -> Window:
        """The window whose output is the draft."""
        if not self._settings.drafts_source:
            return before
        # The full stop added to the source was removed from the output, so remove it from the source too.
        draft = carried(self._open(before.source), before.output, source)
        return msgspec.structs.replace(
            before, output=draft, stood=standing(before.output, draft, before.stood)
        )

    def _open(self, draft: tuple[int, ...]) -> tuple[int, ...]:
        """The draft without the punctuation at its end, because the speaker has continued since.

        In a draft it is likely to be accepted, and would then precede the new words.
        """
        end = len(draft)
        while end and is_closing(self._prompt.vocabulary.piece(draft[end - 1]).decode(errors="replace")):
            end -= 1
        return draft[:end]

    def _opened(self, window: Window) -> Window:
        output = self._open(window.output)
        stood = window.stood[: len(output)]
        return Window(window.source, output, stood, self._spelled(output))

    def _join(self, windows: Sequence[Window]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        tokens: list[int] = []
        pieces: list[str] = []
        for window in windows:
            texts = self._pieces(window.output)
            first = next((number for number, text in enumerate(texts) if text), None)
            if first is not None and any(pieces):
                texts[first] = self._prompt.joint + texts[first]
            tokens += window.output
            pieces += texts
        return tuple(tokens), tuple(pieces)

    def _pieces(self, tokens: Sequence[int]) -> list[str]:
        return strip_pieces(decode_pieces([self._prompt.vocabulary.piece(token) for token in tokens]))


class PivotTranslator(SegmentTranslator):
    """Translates the output of one translator with another, for languages that no model translates directly.

    Also called pivot or cascaded translation (Utiyama and Isahara 2007). Each model has its own draft and
    verifies its own last output. If the pivot text has not changed, the second model makes no pass.

    The methods of the first translator run at once, in its own decoder; only those of the second are yielded.
    """

    def __init__(self, first: SegmentTranslator, second: SegmentTranslator) -> None:
        """``first`` translates into the pivot language, and ``second`` from there.

        They must have different decoders, because both use the keys of the segments.
        """
        self._first = first
        self._second = second
        self.decoder = second.decoder

    @override
    def updating(
        self, key: str, state: SegmentState, text: str, *, is_final: bool, is_stable: bool = False
    ) -> Updating:
        how = {"is_final": is_final, "is_stable": is_stable}
        pivot, first = self._first.update(key, _pivot(state), text, **how)
        state, output = yield from self._second.updating(key, state, "".join(first.pieces), **how)
        worse = output if output.trouble and not (first.trouble and first.trouble.is_loss) else first
        return msgspec.structs.replace(state, pivot=pivot.windows), output._replace(
            effort=first.effort + output.effort, trouble=worse.trouble, why=worse.why
        )

    @override
    def release(self, key: str, state: SegmentState) -> None:
        self._first.release(key, _pivot(state))
        self._second.release(key, state)


def _within(key: str) -> str:
    """The part of a key before its last component: a segment's stream, or a window's segment."""
    return key.rpartition("/")[0]


def _add(streams: dict[str, deque[_T]], stream: str, new: Sequence[_T], most: int) -> None:
    """Add items to a stream, of which at most ``most`` are kept."""
    recent = streams.pop(stream, ())
    # The first stream is the one whose last ended segment is oldest. Copied because several workers do this
    # at the same time.
    for oldest in list(streams)[: max(0, len(streams) + 1 - _MAX_STREAMS)]:
        streams.pop(oldest, None)
    streams[stream] = deque([*recent, *new], most)


def count_passes(before: Sequence[int], committed: int, accepted: int, length: int) -> tuple[int, ...]:
    """The pass counts of an output of ``length`` tokens; ``accepted`` are from a draft with ``before``."""
    checked = [passes + 1 for passes in before[committed:accepted]]
    counts = [*before[:committed], *checked]
    return (*counts, *[1] * (accepted - len(counts)), *[0] * (length - accepted))


def _pivot(state: SegmentState) -> SegmentState:
    return SegmentState(state.pivot)
