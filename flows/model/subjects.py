"""What a training run teaches: for each target language a prompt and its corpora, drawn by their shares."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from flows.model.corpora import Lesson
from flows.model.jobs import TrainingJob
from operators.languages import Language
from operators.models.llama_model import LlamaModel
from operators.prompts.few_shot import few_shot_prompt
from operators.prompts.prompt import Prompt
from operators.prompts.trained import TrainedPrompts
from operators.training.mixture import Corpus, mixture
from operators.training.noise import Lexicon, Noise
from operators.training.packing import Asked, Rows, asked, pack

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
    # A resumed run draws new samples, and does not repeat those that it has seen.
    seed = f"{job.seed} {seen}"
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
