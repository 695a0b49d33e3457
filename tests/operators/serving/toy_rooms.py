"""Rooms on the toy model: what they say, in any order, and what one at a time makes of it."""

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.commit import CommitRule
from operators.decoding.decoder import Decode, Decoder, OneAtATime
from operators.decoding.forward import Logits, Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import BlockLength
from operators.decoding.recycling import recycling
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import Output, SegmentState, Translator, TranslatorSettings
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt, PromptNotes
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.jacobi import Jacobi
from operators.serving.rooms import Done, Rooms, Update
from operators.serving.scheduler import Scheduler
from operators.trouble import ModelTrouble, Trouble
from tests.toy import END, ToyStore, ToyVocabulary

HEAD = (1, 2)
#: How far the toy that drafts differs from the other.
ERROR = 0.4
BIASED = BiasedAcceptance(0.2)

METHODS: dict[str, Callable[[Task], Method]] = {
    "retranslate": retranslate,
    "ssbd": lambda task: ssbd(task, BIASED, 3 if task.is_final else None),
    "recycle": lambda task: ssbd(task, BIASED, None, recycling(task, BlockLength(), BIASED)),
    "jacobi": lambda task: ssbd(task, BIASED, None, Jacobi(task, None, BIASED)),
    "draft model": lambda task: ssbd(task, BIASED, None, ModelDrafts(task, Prediction(threshold=0.2))),
    "tree": lambda task: ssbd(task, BIASED, None, ModelDrafts(task, Prediction(threshold=0.6, branches=2))),
}

#: A token that the toy never says.
POISON = 9

methods = st.sampled_from(list(METHODS))
texts = st.lists(st.sampled_from(["a", "b", "c", "d e"]), max_size=5).map(" ".join)


def ask(
    prompt: Sequence[int], method: str = "retranslate", *, is_final: bool = False, key: str = ""
) -> Decode:
    """A request of one room."""
    task = Task([*HEAD, *prompt], (), frozenset([END]), 12)
    return Decode(key or repr(prompt), METHODS[method](task), is_final)


def fail(_sequence: int, _tokens: Sequence[int]) -> NoReturn:
    """What a store whose passes fail does before each."""
    raise ModelTrouble(Trouble.FAILED_PASS, "llama_decode returned -3")


class Failing(ToyStore):
    """Fails in passes over `POISON`."""

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        if POISON in tokens:
            self.caches[sequence].tokens += tokens[:1]
            fail(sequence, tokens)
        return super().evaluate(sequence, tokens, start, rows)


@st.composite
def talks(draw: st.DrawFn) -> list[Update]:
    """Updates of some rooms, segment after segment in each, in any order between the rooms."""
    rooms = [
        [
            Update(f"room {number}", segment, text, is_final=place == len(segment_texts) - 1)
            for segment, segment_texts in enumerate(said)
            for place, text in enumerate(segment_texts)
        ]
        for number, said in enumerate(
            draw(st.lists(st.lists(st.lists(texts, min_size=1, max_size=3), max_size=2), max_size=5))
        )
    ]
    order = draw(st.permutations([number for number, updates in enumerate(rooms) for _ in updates]))
    left = [iter(updates) for updates in rooms]
    return [next(left[number]) for number in order]


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
    return translator(OneAtATime(*pools), method, max_source=max_source, context=context)


def scheduler(
    sessions: int,
    fill: int,
    store: ToyStore | None = None,
    most: int | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Scheduler:
    stores = [store or ToyStore(sessions + 1), ToyStore(sessions + 1, error=ERROR)]
    passes = [SessionPool(one, HEAD, sessions) for one in stores]
    return Scheduler(*passes, fill=fill, most=most, clock=clock)


def toy_rooms(
    served: Scheduler, method: str = "retranslate", *, keep_up: bool = True, context: int = 0
) -> Rooms:
    """Rooms as a run has them."""
    return Rooms(served, translator(served, method, context=context), keep_up=keep_up)


#: The tokens of all translations of each segment: room and number.
Segments = dict[tuple[str, int], list[tuple[int, ...]]]


def by_segment(done: Iterable[Done]) -> Segments:
    """What became of updates, segment by segment."""
    made: Segments = {}
    for one in done:
        made.setdefault((one.update.room, one.update.segment), []).append(one.output.tokens)
    return made


def tokens_alone(model: Translator, updates: Sequence[Update]) -> Segments:
    """The same of updates one after the other."""
    made = translate_alone(model, updates)
    return {key: [output.tokens for output in outputs] for key, outputs in made.items()}


def translate_alone(model: Translator, updates: Sequence[Update]) -> dict[tuple[str, int], list[Output]]:
    """What becomes of all updates, segment by segment."""
    states: dict[str, SegmentState] = {}
    made: dict[tuple[str, int], list[Output]] = {}
    for update in updates:
        before = states.get(update.key, SegmentState())
        states[update.key], output = model.update(update.key, before, update.text, is_final=update.is_final)
        made.setdefault((update.room, update.segment), []).append(output)
    return made
