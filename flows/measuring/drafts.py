"""Drafting with a draft model, without a last output: trajectories of all ways, on the same texts.

The texts are the finals of a corpus, translated from scratch, or utterances, transcribed from scratch by two
Whisper models. Each model is asked only once for its prediction after a prefix (`Memory`), so that all ways
meet the same two models and give the same output.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from msgspec.structs import replace

from flows.engine.translation import open_engine
from flows.measuring.corpus import Clip, Corpus, read_clips, samples
from flows.measuring.draft_tables import Costs, Drafts
from flows.measuring.results import running
from flows.measuring.signature import of_clips, of_engine, of_texts, sign
from flows.settings.translate import TranslateSettings
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafter
from operators.decoding.drive import drive
from operators.decoding.forward import Task, output_limit
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate
from operators.errors import InputError, UsageError
from operators.languages import language
from operators.models.pass_times import measure_costs
from operators.prompts.prompt import Prompt
from operators.recognizers.whisper.model import Encoded, WhisperModel, load_model
from operators.recognizers.whisper.recognizer import RULES, speech_task
from operators.recognizers.windowed import Samples, Segmenter, silero
from operators.research.draft_model import ModelDrafts, TwoBeams
from operators.research.prediction import Prediction
from operators.research.trajectory import Memory, Remembered, Trajectory, record
from operators.text import cleaned

_KEY = "drafts"
# Only whole utterances are decoded, and their ends do not depend on this interval.
_INTERVAL_S = 10.0
# How often each utterance's encoder is timed.
_TURNS = 3

#: The ways to draft, by name.
Ways = dict[str, Callable[[Task], Drafter]]


class Sweep(NamedTuple):
    """The ways to compare."""

    #: Draft lengths of plain speculative decoding, with one and with two beams.
    lengths: Sequence[int]
    beamed: Sequence[int]
    #: Probabilities below which adaptive prediction stops or branches.
    thresholds: Sequence[float]
    #: Settings of the adaptive ways.
    prediction: Prediction

    @property
    def signature(self) -> str:
        """The settings of the adaptive ways, for a signature."""
        one = self.prediction
        return f"length:{one.length}|branches:{one.branches}|reach:{one.reach}"

    def ways(self) -> Ways:
        """Plain speculative decoding, then SpecASR's techniques, each combined with the previous ones."""
        ways: Ways = {}
        for length in self.lengths:
            ways[f"plain, {length}"] = _predicting(Prediction(length=length, threshold=0.0, recycles=False))
        for length in self.beamed:
            ways[f"plain, {length}, 2 beams"] = _beams(length)
        for threshold in self.thresholds:
            tree = replace(self.prediction, threshold=threshold, recycles=True)
            recycling = replace(tree, branches=0)
            ways[f"adaptive, {threshold:g}"] = _predicting(replace(recycling, recycles=False))
            ways[f"+ recycling, {threshold:g}"] = _predicting(recycling)
            ways[f"+ sparse tree, {threshold:g}"] = _predicting(tree)
        return ways


def _predicting(prediction: Prediction) -> Callable[[Task], Drafter]:
    return lambda task: ModelDrafts(task, prediction)


def _beams(length: int) -> Callable[[Task], Drafter]:
    return lambda task: TwoBeams(task, length)


def run_drafts(corpus: Corpus, settings: TranslateSettings, sweep: Sweep) -> Drafts:
    """Decode the finals of ``corpus`` with the model and the draft model of the settings.

    Raises `InputError` if the models cannot be used together.
    """
    texts = [segment.updates[-1] for segment in corpus.segments if segment.updates[-1].strip()]
    with running() as runner:
        engine = open_engine(settings, runner.doing)
        draft = engine.draft_costs()
        costs = [] if draft is None else [Costs("in milliseconds as measured here", draft, engine.costs())]
        assert engine.drafts is not None, "the settings name a draft model"
        made: list[Trajectory] = []
        for text in runner.each(texts, "drafting", "texts"):
            task = _task(engine.prompt, text)
            with engine.pool.session(_KEY) as session, engine.drafts.session(_KEY) as second:
                first = Memory(session, task.prompt)
                made += _compared(text, task, first, Memory(second, task.prompt), sweep.ways())
        signature = sign(
            **of_engine(engine, settings), **of_texts(corpus, engine, [settings]), drafting=sweep.signature
        )
    return Drafts(signature, costs, made)


def _task(prompt: Prompt, text: str) -> Task:
    source = prompt.source(cleaned(text))
    limit = output_limit(len(source))
    tokens, piece = prompt.build(source, is_final=True), prompt.vocabulary.piece
    return Task(tokens, (), prompt.stop, limit, is_final=True, source=source, piece=piece)


def _compared(text: str, task: Task, memory: Memory, second: Memory, ways: Ways) -> list[Trajectory]:
    """The trajectories of one text, given as the ``task`` of the two models.

    Raises `RuntimeError` if a way does not give the output of greedy decoding.
    """
    greedy, _ = drive(retranslate(task), Remembered(memory))
    made = []
    for name, drafter in ways.items():
        decoded, rounds = record(
            decode(task, drafter(task)), task, Remembered(memory), Remembered(second), second.prompt
        )
        if decoded.tokens != greedy.tokens:
            raise RuntimeError(f"{name} gave another output than greedy decoding of {text[:40]!r}")
        made.append(Trajectory(name, len(decoded.tokens), rounds))
    return made


class SpeechPair(NamedTuple):
    """The recordings, and the folders of the models."""

    audio: Sequence[Path]
    model: Path
    draft_model: Path
    #: Name or code of the spoken language.
    spoken: str
    threads: int
    #: Number of utterances to skip at the beginning, and to take.
    skip: int
    limit: int | None


class _Model:
    """One of the two models, and its prompt."""

    def __init__(self, folder: Path, spoken: str, threads: int) -> None:
        self._model: WhisperModel = load_model(str(folder.absolute()), threads)
        self.vocabulary = self._model.files.vocabulary
        self._prompt = self.vocabulary.prompt(language(spoken))

    def encode(self, audio: Samples) -> Encoded:
        """The encoder's output for an utterance."""
        return self._model.encode(audio, self._prompt)


def run_speech_drafts(pair: SpeechPair, sweep: Sweep) -> Drafts:
    """Decode the utterances of ``pair`` in all ways.

    Raises `InputError` for unusable files, and `UsageError` for models with different vocabularies.
    """
    with running() as runner:
        runner.doing("loading the models", None)
        models = [_Model(one, pair.spoken, pair.threads) for one in (pair.model, pair.draft_model)]
        if not models[0].vocabulary.spells_like(models[1].vocabulary):
            raise UsageError(
                f"{pair.draft_model} has another vocabulary than {pair.model}; choose a draft model with the "
                "same"
            )
        clips = read_clips(pair.audio, None)
        end = None if pair.limit is None else pair.skip + pair.limit
        utterances = list(islice(_utterances(clips), pair.skip, end))
        if not utterances:
            raise InputError(
                f"{pair.audio[0]}: no speech was found; check the recordings, --limit and --skip"
            )
        runner.doing("measuring what a pass costs", None)
        costs = _costs(models, utterances)
        made: list[Trajectory] = []
        for audio in runner.each(utterances, "drafting", "utterances"):
            heard = [model.encode(audio) for model in models]
            task = speech_task(heard[0], (), is_final=True)
            first, second = (Memory(PrefixSession(one), one.prompt) for one in heard)
            greedy, _ = drive(retranslate(task), Remembered(first))
            made += _compared(models[0].vocabulary.text(greedy.tokens), task, first, second, sweep.ways())
    signature = of_clips(
        pair.model,
        clips,
        pair.threads,
        draft_model=pair.draft_model.name,
        corpus=f"{len(clips)} recordings|utterances:{pair.skip + 1}-{pair.skip + len(utterances)}",
        drafting=sweep.signature,
    )
    return Drafts(signature, [costs], made)


def _utterances(clips: Sequence[Clip]) -> Iterator[Samples]:
    for clip in clips:
        segmenter = Segmenter(silero(), _INTERVAL_S, RULES)
        for window in [*segmenter.accept(samples(clip)), *segmenter.finish()]:
            if window.is_final:
                yield window.samples


def _costs(models: Sequence[_Model], utterances: Sequence[Samples]) -> Costs:
    """The cost of passes of the two models and of an utterance's encoder here, in milliseconds."""
    longest = max(utterances, key=len)
    encoder_ms = _encoder_ms(models, utterances)
    target, draft = (measure_costs(_pass_timer(model.encode(longest))) for model in models)
    busy = "" if draft.is_steady and target.is_steady else "; the machine was busy"
    name = f"in milliseconds as measured here, encoders included{busy}"
    return Costs(name, draft, target, draft_encoder=encoder_ms[1], target_encoder=encoder_ms[0])


def _pass_timer(encoded: Encoded) -> Callable[[int], float]:
    """Make a function that times a pass over a number of tokens after the prompt."""
    encoded.evaluate(encoded.prompt, 0, 1)
    begin = len(encoded.prompt)

    def seconds(tokens: int) -> float:
        encoded.cut(begin)
        began = perf_counter()
        encoded.evaluate([encoded.prompt[-1]] * tokens, begin, tokens)
        return perf_counter() - began

    return seconds


def _encoder_ms(models: Sequence[_Model], utterances: Sequence[Samples]) -> list[float]:
    """The mean over all utterances of the minimum of several times; the models take turns."""
    sums = [0.0] * len(models)
    for audio in utterances:
        times: list[list[float]] = [[] for _ in models]
        for _turn in range(_TURNS):
            for model, own in zip(models, times, strict=True):
                began = perf_counter()
                model.encode(audio)
                own.append(perf_counter() - began)
        sums = [before + min(own) for before, own in zip(sums, times, strict=True)]
    return [1000 * total / len(utterances) for total in sums]
