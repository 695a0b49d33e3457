"""Encoder-decoder models: weights, prompts, sessions for an engine, and the boundary scorer for English."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from connectors.machine.measured import recalled_costs
from connectors.machine.resources import usable_cores
from connectors.models.firefox import FIREFOX, firefox_folder, packaged_firefox
from connectors.models.opus import OPUS_MT, fetch_opus
from flows.settings.translate import TranslateSettings
from operators.decoding.forward import output_limit
from operators.decoding.pass_cost import PassCosts
from operators.errors import UsageError
from operators.languages import Direction
from operators.models.context import ContextSettings
from operators.models.pass_times import measure_costs
from operators.models.pool import SessionPool
from operators.notifications import Progress, silent
from operators.prompts.prompt import Prompt
from operators.prompts.template import BY_MODEL
from operators.sentences.probe import ENGLISH_ENCODER, Encoder, english_probe
from operators.sentences.seam import BoundaryScorer
from operators.seq2seq.firefox import FirefoxModel, is_firefox, only
from operators.seq2seq.marian import MarianModel, is_marian
from operators.seq2seq.prompt import pair_prompt
from operators.seq2seq.store import EncoderDecoder, PairStore

#: Passes are not shared, so a token of another room costs what it costs alone.
UNSHARED = PassCosts((1, 2), (1.0, 2.0))
#: Tokens by which a window joined from words may exceed the limit, including the end and language tokens.
_MORE = 18


class OpenMarian(NamedTuple):
    """A loaded model with its prompts, without sessions."""

    model: EncoderDecoder
    #: By the codes of the directions.
    prompts: Mapping[str, Prompt]
    context: ContextSettings

    def open(self, settings: TranslateSettings) -> SessionPool:
        keeps = settings.commit > 0 and self.model.can_shift
        store = PairStore(self.model, 1 + settings.sessions * (2 if keeps else 1))
        least = _LEAST_KEPT if keeps else None
        return SessionPool(store, (), settings.sessions, least_kept=least)

    def costs(self) -> PassCosts:
        """The cost of passes on this machine, for methods that propose tokens."""
        threads = self.context.threads
        return recalled_costs(self.model.files[-1], threads, lambda: measure_costs(self._pass_s))

    def _pass_s(self, tokens: int) -> float:
        store, model = PairStore(self.model, 1), self.model
        known = next(one for one in range(model.vocabulary_size) if one not in (*model.ends, model.start))
        held = [*[known] * _MEASURED, model.ends[0], model.start, *[known] * _MEASURED]
        store.evaluate(0, held, 0, 1)
        began = perf_counter()
        store.evaluate(0, [known] * tokens, len(held), tokens)
        return perf_counter() - began


#: Length of the source and of the output before the timed passes, in tokens.
_MEASURED = 24
#: Minimum number of kept tokens. To keep them, the start token needs a pass of its own, which in models of
#: OPUS-MT's size costs as much as this number of additional tokens in another pass.
_LEAST_KEPT = 16


def marian_folder(
    name: str, direction: Direction, settings: TranslateSettings, progress: Progress = silent
) -> Path | None:
    """The folder of an encoder-decoder model, downloaded if necessary; None if ``name`` is no such model.

    Raises:
        InputError, OutputError: its files cannot be read, fetched or stored.
        UsageError: ``firefox`` or ``opus-mt`` does not translate the direction.
    """
    if name == FIREFOX:
        return firefox_folder(direction, progress, registry=settings.registry)
    if name == OPUS_MT:
        return fetch_opus(direction, progress)
    path = Path(name).expanduser() if name.startswith("~/") else Path(name)
    return path if is_firefox(path) or is_marian(path) else None


def load_pair_model(folder: Path, threads: int) -> EncoderDecoder:
    """Raises `InputError` if the folder holds no such model."""
    if is_firefox(folder):
        return FirefoxModel(folder, threads)
    return MarianModel(folder, threads)


def open_marian(
    folder: Path,
    settings: TranslateSettings,
    directions: Sequence[Direction],
    progress: Progress = silent,
    load: Callable[[Path, int], EncoderDecoder] = load_pair_model,
) -> OpenMarian:
    """Load the model in a folder for any number of directions; ``load`` may return a loaded one.

    Raises:
        InputError: the folder holds no such model.
        UsageError: the model does not translate a direction, or does not support a setting.
    """
    if settings.template not in BY_MODEL:
        raise UsageError(
            f"{folder.name} is an encoder-decoder model, which has no prompt: leave out translate.template"
        )
    if settings.draft_model is not None:
        raise UsageError(f"{folder.name} is an encoder-decoder model; leave out translate.draft_model")
    progress("loading the model", None)
    # One thread computes a small model nearly as fast as two, and leaves the others to the recogniser.
    threads = settings.threads or (1 if is_firefox(folder) else usable_cores())
    model = load(folder, threads)
    needed = max(settings.max_source + _MORE, output_limit(settings.max_source) + 1)
    if needed > model.positions:
        raise UsageError(
            f"translate.max_source = {settings.max_source} needs {needed} positions, and {folder.name} has "
            f"{model.positions}: lower it"
        )
    window = settings.max_source + _MORE + output_limit(settings.max_source)
    context = ContextSettings(cells=settings.sessions * window, sequences=settings.sessions, threads=threads)
    prompts = {one.code: pair_prompt(model, one) for one in directions}
    return OpenMarian(model, prompts, context)


def open_boundary_scorer(models: Iterable[object]) -> BoundaryScorer | None:
    """The boundary scorer for English, on the encoder that a probe was trained for.

    Args:
        models: The loaded translation models. The encoder of one of them is reused where it fits.

    Returns:
        None if it is not installed: rules alone then decide where sentences end.

    Raises:
        InputError: the installed model is damaged.
    """
    model = next((one for one in models if isinstance(one, FirefoxModel) and _is_known(one.files[0])), None)
    if model is None:
        packaged = packaged_firefox(Direction.of("English", "Portuguese"))
        if packaged is None or not _is_known(only(packaged, "model.*.bin")):
            return None
        model = FirefoxModel(packaged, 1)
    return english_probe(encoder(model))


def encoder(model: FirefoxModel) -> Encoder:
    end = model.ends[0]
    return Encoder(model.vocabulary.source.tokenize, lambda tokens: model.read([*tokens, end]).states)


def _is_known(weights: Path) -> bool:
    return hashlib.sha256(weights.read_bytes()).hexdigest() == ENGLISH_ENCODER
