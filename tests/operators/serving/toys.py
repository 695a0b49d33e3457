"""Streams on the toy model: what they say, in any order, and what one at a time makes of it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import Any, NoReturn

from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import Decoder, DecodeRequest, SequentialDecoder
from operators.decoding.forward import Logits, Method, Task
from operators.decoding.pass_cost import BlockLength
from operators.decoding.recycling import recycling
from operators.decoding.ssbd import retranslate, ssbd
from operators.decoding.translator import CommitRule, Output, SegmentState, Translator, TranslatorSettings
from operators.events import Partial
from operators.model_errors import ErrorKind, ModelError
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt, PromptNotes
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.jacobi import Jacobi
from operators.serving.queues import Response, StreamQueue
from operators.serving.scheduler import Scheduler
from operators.serving.service import ModelQueue, Service
from tests.toy import END, ToyStore, ToyVocabulary

HEAD = (1, 2)
#: How far the toy that drafts differs from the other.
ERROR = 0.4
BIASED = BiasedAcceptance(0.2)

METHODS: dict[str, Callable[[Task], Method]] = {
    "retranslate": retranslate,
    "ssbd": lambda task: ssbd(task, BIASED, 3 if task.is_final else None),
    "recycle": lambda task: ssbd(task, BIASED, None, recycling(task, BlockLength(), BIASED)),
    "jacobi": lambda task: ssbd(task, BIASED, None, Jacobi(task, BIASED, starts_with_draft=True)),
    "draft model": lambda task: ssbd(task, BIASED, None, ModelDrafts(task, Prediction(threshold=0.2))),
    "tree": lambda task: ssbd(task, BIASED, None, ModelDrafts(task, Prediction(threshold=0.6, branches=2))),
}

#: A token that the toy never says.
POISON = 9

methods = st.sampled_from(list(METHODS))
texts = st.lists(st.sampled_from(["a", "b", "c", "d e"]), max_size=5).map(" ".join)


def ask(
    prompt: Sequence[int], method: str = "retranslate", *, is_final: bool = False, key: str = ""
) -> DecodeRequest:
    """A method to run."""
    task = Task([*HEAD, *prompt], (), frozenset([END]), 12)
    return DecodeRequest(key or repr(prompt), METHODS[method](task), is_final)


def fail(_sequence: int, _tokens: Sequence[int]) -> NoReturn:
    """What a store whose passes fail does before each."""
    raise ModelError(ErrorKind.FAILED_PASS, "llama_decode returned -3")


class Failing(ToyStore):
    """Fails in passes over `POISON`."""

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        if POISON in tokens:
            self.caches[sequence].tokens += tokens[:1]
            fail(sequence, tokens)
        return super().evaluate(sequence, tokens, start, rows)


def partial(
    text: str, *, stream: str = "s", segment: int = 0, revision: int = 0, is_final: bool = False
) -> Partial:
    return Partial(
        stream=stream, segment=segment, revision=revision, is_final=is_final, text=text,
        start_s=0.0, end_s=revision + 0.5, arrival_s=revision + 1.0,
    )  # fmt: skip


@st.composite
def talks(draw: st.DrawFn) -> list[Partial]:
    """Updates of some streams, segment after segment in each, in any order between the streams."""
    streams = [
        [
            (segment, text, place == len(segment_texts) - 1)
            for segment, segment_texts in enumerate(said)
            for place, text in enumerate(segment_texts)
        ]
        for said in draw(st.lists(st.lists(st.lists(texts, min_size=1, max_size=3), max_size=2), max_size=5))
    ]
    order = draw(st.permutations([number for number, said in enumerate(streams) for _ in said]))
    left = [iter(said) for said in streams]
    talk = []
    for revision, number in enumerate(order):
        segment, text, is_final = next(left[number])
        talk.append(
            partial(text, stream=f"stream {number}", segment=segment, revision=revision, is_final=is_final)
        )
    return talk


def translator(decoder: Decoder, method: str, *, max_source: int = 100, context: int = 0) -> Translator:
    vocabulary = ToyVocabulary()
    prompt = Prompt(vocabulary, HEAD, " ", (3,), EndOfTurn(vocabulary), context=PromptNotes((6,), (6,), (7,)))
    settings = TranslatorSettings(
        max_source=max_source, max_output=12, commit=CommitRule(1), finals_differ=True, context=context
    )
    return Translator(prompt, decoder, METHODS[method], settings)


def alone(method: str, *, max_source: int = 100, context: int = 0) -> Translator:
    """A translator that decodes one segment after the other."""
    pools = [SessionPool(ToyStore(3, error=error), HEAD, 2) for error in (0.0, ERROR)]
    return translator(SequentialDecoder(*pools), method, max_source=max_source, context=context)


def scheduler(
    sessions: int, fill: int, store: ToyStore | None = None, clock: Callable[[], float] = lambda: 0.0
) -> Scheduler:
    stores = [store or ToyStore(sessions + 1), ToyStore(sessions + 1, error=ERROR)]
    passes = [SessionPool(one, HEAD, sessions) for one in stores]
    return Scheduler(*passes, fill=fill, clock=clock)


def model_of(
    served: Scheduler, method: str = "retranslate", *, max_source: int = 100, context: int = 0
) -> ModelQueue:
    """A model as a run has it."""
    own = translator(served, method, max_source=max_source, context=context)
    return ModelQueue(served, lambda _update: own)


class Streams:
    """Queues of streams for a service or a model, and the responses that they got."""

    def __init__(self, *, keep_up: bool = True) -> None:
        self.got: SimpleQueue[Any] = SimpleQueue()
        self.queues = defaultdict[str, StreamQueue](lambda: StreamQueue({}, self.got.put, keep_up=keep_up))

    def put(self, model: ModelQueue, *partials: Partial) -> None:
        for one in partials:
            model.put(self.queues[one.channel], one)

    def submit(self, service: Service, *partials: Partial) -> None:
        for one in partials:
            service.submit(self.queues[one.channel], [one])

    def finish(self, model: ModelQueue) -> list[Response]:
        while not model.is_idle:
            model.step()
        return self.responses()

    def responses(self) -> list[Response]:
        """Those that have come by now."""
        return [self.got.get() for _ in range(self.got.qsize())]

    def wait(self, count: int) -> list[Response]:
        """So many responses, when they are there."""
        return [self.got.get(timeout=60) for _ in range(count)]


#: Outputs of the updates of each segment: of a channel, by its number.
Outputs = dict[tuple[str, int], list[tuple[Any, ...]]]


def _compared(output: Output) -> tuple[Any, ...]:
    effort = output.effort
    return output.tokens, output.trouble, effort.drafted, effort.accepted, effort.passes


def by_segment(responses: Iterable[Response]) -> Outputs:
    """The outputs of a service, segment by segment."""
    made: Outputs = {}
    for one in responses:
        made.setdefault((one.partial.channel, one.partial.segment), []).append(_compared(one.output))
    return made


def outputs_alone(model: Translator, partials: Iterable[Partial]) -> Outputs:
    """The same of updates one after the other."""
    states: dict[str, SegmentState] = {}
    made: Outputs = {}
    for one in partials:
        before = states.get(one.key, SegmentState())
        states[one.key], output = model.update(one.key, before, one.text, is_final=one.is_final)
        made.setdefault((one.channel, one.segment), []).append(_compared(output))
    return made
