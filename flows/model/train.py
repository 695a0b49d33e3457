"""surtitle model train: trains an adapter on pairs of texts, with a prompt and corpora for each language."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import torch
from tqdm import tqdm

from connectors.corpora import read_aligned
from connectors.files.atomic import write_atomically
from connectors.files.contents import read_lines, sha256_of
from connectors.files.distinct import check_distinct
from connectors.gguf.file import Entry, GgufFile, encode, read_gguf
from connectors.machine.quiet import GivesWay, lock_file
from connectors.models.adapter import adapter_file, read_adapter
from connectors.models.resolve import resolve_model
from connectors.models.writer import check_place, write_model
from flows.model.in_torch import ends, fast_dtype, torch_model
from flows.model.jobs import Lesson, Point, TrainingJob, TrainingRecord, Used, read_record, write_record
from operators.errors import InputError, UsageError, printable
from operators.languages import Direction, Language, language
from operators.models.llama_model import LlamaModel
from operators.models.tensor_types import TYPES_KEY, spell_types
from operators.prompts.prompt import Prompt
from operators.prompts.template import (
    TEMPLATES_KEY,
    TrainedPrompts,
    few_shot_prompt,
    labels_of,
    spell_prompts,
    telling_unfinished,
)
from operators.training.fit import Fit, Schedule, Step
from operators.training.generate import judge
from operators.training.noise import Lexicon, Noise
from operators.training.packing import Asked, Corpus, Rows, asked, mixture, pack

#: Number of tokens of a row. The longest examples, 60 words on each side, have about 200.
_LENGTH = 256
#: Sentences of each corpus whose words the noise draws from.
_LEXICON = 20_000


class Subject(NamedTuple):
    """What is learned for one target language: its prompt and its corpora."""

    prompt: Prompt
    separator: str
    corpora: list[Corpus]

    @property
    def share(self) -> float:
        """Its share of the segments, relative to the other languages."""
        return sum(corpus.share for corpus in self.corpora)


def subjects_of(
    job: TrainingJob, lessons: list[tuple[Lesson, Corpus]], prompts: TrainedPrompts, model: LlamaModel
) -> list[Subject]:
    """The corpora by language."""
    subjects: dict[Language, Subject] = {}
    for lesson, corpus in lessons:
        if lesson.target not in subjects:
            prompt = few_shot_prompt(model, prompts.find(job.source, lesson.target.name))
            subjects[lesson.target] = Subject(prompt, lesson.target.joint, [])
        subjects[lesson.target].corpora.append(corpus)
    return list(subjects.values())


def batches(job: TrainingJob, subjects: list[Subject], seen: int) -> Iterator[Rows]:
    """Endless batches for a run that has seen ``seen`` tokens."""
    # A resumed run draws new samples, and does not repeat those that it has seen. Nor does one that begins
    # with the adapter of another run.
    before = "" if job.begin is None or seen else f" after {sha256_of(job.begin)}"
    seed = f"{job.seed} {seen}{before}"
    words = (pair.source for one in subjects for corpus in one.corpora for pair in corpus.pairs[:_LEXICON])
    noise = Noise(job.noise, Lexicon.of(words)) if job.noise else None
    return pack(_examples(subjects, seed, job.prefixes, noise), job.rows, _LENGTH)


def _examples(subjects: list[Subject], seed: str, prefixes: float, noise: Noise | None) -> Iterator[Asked]:
    """Endless examples of all languages by their shares."""
    rng = Random(seed)
    # Languages are drawn apart, so that a run for one language draws what it would draw without this.
    languages = Random(f"{seed} languages")
    streams = [
        mixture(one.corpora, rng, prefixes=prefixes, noise=noise, separator=one.separator) for one in subjects
    ]
    while True:
        (drawn,) = languages.choices(range(len(subjects)), [one.share for one in subjects])
        found = next(streams[drawn])
        yield asked(subjects[drawn].prompt, found.source, found.target, is_final=found.is_final)


_SAVE_EVERY_S = 300.0
#: Tokens during which the learning rate rises, at most, and as a share of short runs.
_WARMUP, _WARMUP_SHARE = 50_000, 0.03
#: Seconds between two lines of progress where there is no terminal.
_LINE_EVERY_S = 60.0
_LOWEST_PRIORITY = 19
#: Fields of the job that are recorded in another way, or do not affect what is learned.
_UNRECORDED = (
    "pairs", "documents", "output", "model", "tokens", "rate", "judged", "reference", "judge_lines",
    "judge_every", "compiles", "kinds", "branch_every", "decay", "background",
)  # fmt: skip


def run(job: TrainingJob) -> None:
    """Train, and write the adapter; raises `InputError`, `UsageError` and `OutputError`."""
    path = resolve_model(job.model, Direction.of(job.source, job.target))
    written = [("--output", job.output), ("its state", job.state), ("its record", job.record)]
    check_distinct(written, [path, *(one.path for one in job.lessons), job.begin, job.judged, job.reference])
    check_place(job.output)
    file = read_gguf(path)
    lessons = [(one, _corpus(one)) for one in job.lessons]
    model = LlamaModel(path)
    prompts = _prompts(job)
    subjects = subjects_of(job, lessons, prompts, model)
    schedule = Schedule(job.rate, min(_WARMUP, int(_WARMUP_SHARE * job.tokens)))
    dtype = fast_dtype()
    # Weights that are quantised to few bits must not be rounded to bfloat16 first.
    weights = torch_model(file, dtype if job.types is None else torch.float32)
    fit = Fit(
        weights, job.rank, schedule, seed=job.seed, types=job.types, compiles=job.compiles, dtype=dtype,
        source_loss=job.source_loss,
    )  # fmt: skip
    record = _begin(job, file, path, lessons, fit)
    prompt = few_shot_prompt(model, prompts.find(job.source, job.target))
    entries = _entries(job, prompts, file, path)
    architecture = file.text("general.architecture")

    def publish() -> None:
        tokens = {"surtitle.trained.tokens": encode(fit.seen)}
        sha256 = write_model(job.output, adapter_file(fit.adapter(), architecture, entries | tokens))
        size = job.output.stat().st_size / 1e6
        print(f"{printable(str(job.output))}: {fit.seen:,} tokens, {size:.1f} MB, sha256 {sha256}")

    with _background(job) as pause:
        trainer = _Run(job, fit, prompt, ends(prompt, model.vocabulary_size), record, pause)
        trainer.learn(lambda: batches(job, subjects, fit.seen), publish)


@contextmanager
def _background(job: TrainingJob) -> Iterator[Callable[[], float]]:
    """What to call between two steps: with ``--background`` it waits while something is measured."""
    if not job.background:
        yield lambda: 0.0
        return
    os.nice(_LOWEST_PRIORITY - os.nice(0))
    # Where Linux groups processes by session, priorities only count within a group, and groups share evenly.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_LOWEST_PRIORITY), encoding="ascii")
    with closing(GivesWay(lock_file())) as way:
        yield way.pause


class _Run:
    """The training loop: reports its progress, and evaluates and saves at intervals."""

    def __init__(
        self, job: TrainingJob, fit: Fit, prompt: Prompt, stops: frozenset[int], record: TrainingRecord,
        pause: Callable[[], float],
    ) -> None:  # fmt: skip
        self._job, self._fit, self._prompt, self._stops = job, fit, prompt, stops
        self._record, self._pause = record, pause
        self._texts = _judged_texts(job)
        self._state = job.state
        self._losses: list[float] = []
        self._since_saved = 0.0
        self._chrf: float | None = None
        self._bar = tqdm(
            total=job.tokens,
            initial=fit.seen,
            unit=" tokens",
            unit_scale=True,
            mininterval=0.1 if sys.stderr.isatty() else _LINE_EVERY_S,
        )

    def learn(self, batches: Callable[[], Iterator[Rows]], publish: Callable[[], None]) -> None:
        """Train to the end of the job, and ``publish`` the adapter at the end of each branch.

        ``batches`` gives the batches from the present state on.
        """
        done = max((point.tokens for point in self._record.points if point.decayed), default=0)
        every = self._job.branch_every or self._job.tokens
        ends = [*range(every, self._job.tokens, every), self._job.tokens]
        with self._bar:
            for end in ends:
                if end <= done:
                    continue
                decay = range(end - int(self._job.decay * every), end)
                if self._fit.seen < decay.start:
                    self._until(decay.start, batches(), None)
                self._branch(decay, batches, publish)
        if not ends or ends[-1] <= done:
            print(f"{self._job.output} is trained on {done:,} tokens; raise --tokens to go on")

    def _branch(
        self, decay: range, batches: Callable[[], Iterator[Rows]], publish: Callable[[], None]
    ) -> None:
        """Let the rate fall, judge and publish, and take back what was learned since."""
        trunk = self._fit.state()
        if self._job.branch.exists():
            self._fit.resume(self._job.branch.read_bytes())
        self._state = self._job.branch
        self._until(decay.stop, batches(), decay)
        self._judge(decayed=True)
        publish()
        self._fit.resume(trunk)
        self._state = self._job.state
        self._save()
        self._job.branch.unlink(missing_ok=True)

    def _until(self, end: int, batches: Iterator[Rows], decay: range | None) -> None:
        while self._fit.seen < end:
            self._fit.run(batches, min(end, self._fit.seen + self._job.judge_every), self._tell, decay)
            if self._fit.seen < end:
                self._judge()
            self._save()

    def _tell(self, step: Step) -> None:
        self._losses.append(step.loss)
        self._bar.update(step.seen - self._bar.n)
        recent = self._losses[-50:]
        shown = {"loss": f"{sum(recent) / len(recent):.3f}"}
        if self._chrf is not None:
            shown["chrF"] = f"{self._chrf:.1f}"
        self._bar.set_postfix(shown, refresh=False)
        self._since_saved += step.seconds
        if self._since_saved > _SAVE_EVERY_S:
            self._save()
        waited = self._pause()
        # The rate that is shown is that of training, without the pauses.
        self._bar.start_t += waited

    def _judge(self, *, decayed: bool = False) -> None:
        loss = sum(self._losses) / max(1, len(self._losses))
        self._losses = []
        point = Point(tokens=self._fit.seen, loss=round(loss, 4), decayed=decayed)
        if self._texts:
            sources, references = self._texts
            nats = self._fit.unlearned(self._asked(sources, references))
            with self._fit.computing():
                found = judge(self._fit.model, self._prompt, self._stops, sources, references)
            self._chrf = found.chrf
            point = msgspec.structs.replace(
                point,
                nats=round(nats, 4),
                chrf=round(found.chrf, 2),
                erasure=round(found.erasure, 3),
                endless=round(found.endless, 4),
            )
            shown = found.outputs[0]
            self._bar.write(
                f"{point.tokens:,} tokens: loss {loss:.3f}, references {nats:.3f} nats, "
                f"chrF {found.chrf:.1f}, NE {found.erasure:.2f}, endless {found.endless:.1%}; "
                f"{shown[len(shown) // 2]!r} … {shown[-1]!r}"
            )
        self._record.points.append(point)

    def _asked(self, sources: list[str], references: list[str]) -> Iterator[Rows]:
        examples = (
            asked(self._prompt, source, reference, is_final=True)
            for source, reference in zip(sources, references, strict=True)
        )
        return pack(examples, self._job.rows, _LENGTH)

    def _save(self) -> None:
        write_atomically(self._state, self._fit.state())
        write_record(self._job.record, self._record)
        self._since_saved = 0.0


def _judged_texts(job: TrainingJob) -> tuple[list[str], list[str]] | None:
    """The sources and references that judge the run. Raises `InputError`."""
    if job.judged is None or job.reference is None:
        return None
    sources, references = (read_lines(path) for path in (job.judged, job.reference))
    if len(sources) != len(references) or not sources:
        raise InputError(
            f"{job.judged} has {len(sources)} lines and {job.reference} {len(references)}; "
            "give files with a translation for each line"
        )
    return sources[: job.judge_lines], references[: job.judge_lines]


def _begin(
    job: TrainingJob, file: GgufFile, path: Path, lessons: list[tuple[Lesson, Corpus]], fit: Fit
) -> TrainingRecord:
    """The record of this run: a new one, or that of the resumed run."""
    record = TrainingRecord(
        settings=job.recorded(*_UNRECORDED) | {"rate": job.rate, "types": job.types},
        model=Used(path.name, sha256_of(path)),
        data=[_used(one, len(corpus.pairs), language(job.target)) for one, corpus in lessons],
        versions={name: version(name) for name in ("torch", "transformers", "peft")},
    )
    if job.state.exists():
        earlier = read_record(job.record)
        if (earlier.settings, earlier.model, earlier.data) != (record.settings, record.model, record.data):
            raise UsageError(
                f"{job.state} belongs to a run with other settings or data (see {job.record}); "
                "use the same ones, remove it, or name another file with --output"
            )
        try:
            fit.resume(job.state.read_bytes())
        except InputError as error:
            raise InputError(f"{job.state}: {error}") from None
        return earlier
    if job.begin is not None:
        architecture = file.text("general.architecture")
        blocks = file.value(f"{architecture}.block_count")
        assert isinstance(blocks, int)
        fit.begin_with(read_adapter(job.begin, architecture, blocks)[0])
    return record


def _corpus(lesson: Lesson) -> Corpus:
    return Corpus(read_aligned(lesson.path, lesson.target.code), lesson.share, lesson.in_order)


def _used(lesson: Lesson, pairs: int, usual: Language) -> Used:
    other = None if lesson.target == usual else lesson.target.name
    return Used(lesson.path.name, sha256_of(lesson.path), lesson.share, pairs, other, lesson.in_order)


def _prompts(job: TrainingJob) -> TrainedPrompts:
    """One prompt for each target language; that of ``--to`` is the first. Raises `UsageError`."""
    usual = language(job.target).name
    taught = [one.target.name for one in job.lessons]
    if usual not in taught:
        raise UsageError(
            f"--to {usual}: no --pairs or --documents has translations into it; add some, or choose another"
        )
    labels = (labels_of(job.source, name) for name in dict.fromkeys([usual, *taught]))
    return TrainedPrompts(tuple(telling_unfinished(one) for one in labels))


def _entries(job: TrainingJob, prompts: TrainedPrompts, file: GgufFile, path: Path) -> dict[str, Entry]:
    targets = ", ".join(one.language for one in prompts.prompts)
    types = {} if job.types is None else {TYPES_KEY: encode(spell_types(job.types))}
    return {
        "general.name": encode(f"{file.text('general.name')} {job.source} to {targets}"),
        TEMPLATES_KEY: encode(spell_prompts(prompts)),
        "surtitle.trained.model": encode(path.name),
        **types,
    }
