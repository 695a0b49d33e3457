"""A run of ``surtitle model heads``: trains heads on pairs of texts, and measures their block sizes.

The four variants of Stern et al. (2018, section 7.1): the base is frozen, or a Firefox model's decoder is
tuned with the heads; the data are the pairs' translations ("original"), or the model's own ("distilled").
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain, islice
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from connectors.files.atomic import write_atomically
from connectors.files.output import make_folder
from connectors.models.gguf import encode, write_gguf
from connectors.models.heads import heads_file
from connectors.models.resolve import resolve_model
from connectors.pairs import read_pairs
from flows.engine.marian import marian_folder
from flows.model.answers import Answering, Asked, Firefox, Llama, known_answers, own_answers
from flows.model.jobs import HeadsJob
from flows.settings.translate import TranslateSettings
from operators.decoding.conditioning import Conditioning
from operators.decoding.forward import Task, output_limit
from operators.errors import InputError, UsageError
from operators.languages import Direction, language
from operators.models.llama_model import LlamaModel
from operators.prompts.prompt import Prompt
from operators.research.heads import Head, Heads, mean_block
from operators.research.many_answers import Answer
from operators.seq2seq.firefox import is_firefox
from operators.training.examples import Pair, example
from operators.training.heads import HeadsFit, fast_type, places
from operators.training.ssru import Sentence, SsruDecoder, TunedFit

#: Epochs in which the decoder is tuned: with more it forgets what it has learned before (docs/papers.md).
_TUNE_EPOCHS = 2
#: Number of held-out prompts on which the heads are measured; one of ``_HELD_OUT`` pairs is held out.
_MEASURED, _HELD_OUT = 40, 20
#: Number of tokens that heads can propose, and of reference translations that contribute to them.
_TOKENS, _REFERENCES = 8192, 20_000


def run(job: HeadsJob) -> None:
    """Train heads, write and measure them; raises `InputError`, `UsageError` and `OutputError`."""
    direction = Direction.of(job.source, job.target)
    folder = marian_folder(job.model, direction, TranslateSettings())
    path = folder or resolve_model(job.model, direction)
    if not is_firefox(path) and (folder is not None or job.tune_base is not None):
        which = "language models and Firefox's have heads" if folder is not None else "Firefox's are tuned"
        raise UsageError(f"{path.name} is another kind of model: only {which}; choose another one")
    job.check(path)
    pairs = [pair for file in job.pairs for pair in read_pairs(file)]
    learned = [pair for number, pair in enumerate(pairs) if number % _HELD_OUT]
    if not learned:
        raise InputError(f"{job.pairs[0]}: the only pair is held out and none is left to train on; give more")
    with ExitStack() as opened:
        base: Answering
        if folder is not None:
            base = Firefox(folder, direction)
        else:
            base = Llama(path, opened.enter_context(closing(LlamaModel(path))), job)
        asked = _asked(learned, base.prompt, job, job.prompts)
        held = [one.task for one in _asked(pairs[::_HELD_OUT], base.prompt, job, _MEASURED)]
        shown = _answers(base, asked, job)
        tokens = _choice(shown, pairs, base)
        heads, losses = _fit(base, shown, tokens, job)
        if job.tune_base is not None:
            heads, tuned = _tune(base, heads, asked, shown, tokens, job)
            losses, base = [*losses, *tuned], Firefox(job.tune_base, direction)
        about = {
            "general.name": encode(f"proposal heads for {base.path.stem}"),
            "surtitle.heads.model": encode(base.path.name),
        }
        write_gguf(job.output, *heads_file(heads, tokens, base.layer, about))
        said = own_answers(base, held)
        blocks = _blocks(Heads(heads, base.layer.rows(tokens)), said)
    known, words = set(tokens.tolist()), [token for one in said for token in one.tokens]
    record = job.record(path, "torch", "llama-cpp-python") | {
        "tokens": sum(len(one.tokens) for one in shown),
        # Share of the held-out answers' tokens that the heads can predict.
        "covered": round(sum(token in known for token in words) / len(words), 4),
        # Of each epoch; those of a tuned base come last.
        "losses": losses,
        # Tokens per pass with one head, two, …
        "blocks": blocks,
    }
    job.write_record(record)
    for count, block in enumerate(blocks, start=1):
        print(f"{count} heads: {block:.2f} tokens a pass")
    print(job.written)


def _asked(pairs: Sequence[Pair], prompt: Prompt, job: HeadsJob, count: int) -> list[Asked]:
    """Prompts for whole and unfinished speech, as in normal use; each pair is used before any is repeated."""
    conditioning = Conditioning(close=not prompt.knows_unfinished)
    rng, joint, asked = Random(job.seed), language(job.target).script.joint, list[Asked]()
    while len(asked) < count:
        for pair in rng.sample(pairs, min(len(pairs), count - len(asked))):
            one = example(pair, rng, prefixes=job.prefixes, joint=joint)
            source = prompt.source(conditioning.prepare(one.source, is_final=one.is_final))
            built = prompt.build(source, is_final=one.is_final)
            asked.append(Asked(Task(built, (), prompt.stop, output_limit(len(source))), one.target))
    return asked


def _answers(model: Answering, asked: Sequence[Asked], job: HeadsJob) -> list[Answer]:
    tasks = [one.task for one in asked]
    if job.data == "distilled":
        return own_answers(model, tasks, job.beam)
    lead, tokenize = model.prompt.lead, model.prompt.vocabulary.tokenize
    return known_answers(model, tasks, [tokenize(lead + one.translation) for one in asked])


def _choice(answers: Sequence[Answer], pairs: Sequence[Pair], model: Answering) -> NDArray[np.int32]:
    """The tokens that heads can predict: those of answers, then of references, then the first ids."""
    said = Counter(chain.from_iterable(one.tokens for one in answers))
    lead, tokenize = model.prompt.lead, model.prompt.vocabulary.tokenize
    references = Counter(token for _, target in pairs[:_REFERENCES] for token in tokenize(lead + target))
    ordered = (token for counts in (said, references) for token, _ in counts.most_common())
    chosen = dict.fromkeys(chain(ordered, range(model.layer.vocabulary)))
    for token in model.unsaid:
        chosen.pop(token)
    return np.fromiter(islice(chosen, _TOKENS), np.int32)


class _Learning(Protocol):
    steps: int

    def epoch(self) -> Iterator[float]: ...


def _learn(fit: _Learning, epochs: int, what: str) -> list[float]:
    """The mean loss of each epoch, in nats per token."""
    means = []
    with tqdm(total=fit.steps, unit=" steps", desc=what) as bar:
        for _ in range(epochs):
            losses = []
            for loss in fit.epoch():
                losses.append(loss)
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}")
            means.append(round(sum(losses) / len(losses), 4))
    return means


def _fit(
    model: Answering, learned: Sequence[Answer], tokens: NDArray[np.int32], job: HeadsJob
) -> tuple[list[Head], list[float]]:
    rows = model.layer.rows(tokens)
    seen = places(
        [one.states for one in learned], [one.tokens for one in learned], tokens.tolist(), job.heads
    )
    width = model.layer.width
    fit = HeadsFit(seen, rows, hidden=width, epochs=job.epochs, seed=job.seed, dtype=fast_type())
    losses = _learn(fit, job.epochs, "learning")
    return fit.heads(), losses


def _tune(
    model: Answering,
    heads: Sequence[Head],
    asked: Sequence[Asked],
    learned: Sequence[Answer],
    tokens: NDArray[np.int32],
    job: HeadsJob,
) -> tuple[list[Head], list[float]]:
    """Tune the decoder with the heads, and write the model into its folder."""
    assert isinstance(model, Firefox)
    assert job.tune_base is not None
    weights, (file,) = model.model.weights, model.model.files
    decoder = SsruDecoder(weights, model.model.size, model.model.places)
    sentences = [
        Sentence(model.read(one.task.prompt), answer.tokens)
        for one, answer in zip(asked, learned, strict=True)
    ]
    fit = TunedFit(decoder, heads, sentences, tokens.tolist(), epochs=_TUNE_EPOCHS, seed=job.seed)
    losses = _learn(fit, _TUNE_EPOCHS, "tuning")
    make_folder(job.tune_base)
    for vocabulary in model.path.glob("*.spm"):
        shutil.copy(vocabulary, job.tune_base)
    write_atomically(job.tune_base / file.name, weights.replaced(decoder.values()))
    return fit.heads(), losses


def _blocks(heads: Heads, said: Sequence[Answer]) -> list[float]:
    proposed = [[heads.after(state).tokens for state in one.states] for one in said]
    answers = [one.tokens for one in said]
    return [round(mean_block(answers, proposed, count), 3) for count in range(1, len(heads) + 1)]
