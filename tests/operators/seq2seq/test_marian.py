"""A Marian model answers requests as if each came alone, whatever its sequences hold."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.decoding.forward import Forward, Logits
from operators.errors import InputError, UsageError
from operators.languages import Direction
from operators.model_errors import ModelError
from operators.models.pool import SessionPool
from operators.seq2seq.marian import MarianModel, is_marian
from operators.seq2seq.prompt import pair_prompt
from operators.seq2seq.store import PairStore
from tests.tiny_marian import write_tiny

EN_DE = Direction.of("en", "de")


@pytest.fixture(scope="module", params=[True, False], ids=["causal", "older"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MarianModel:
    return opened(tmp_path_factory.mktemp("marian"), is_causal=request.param)


def opened(folder: Path, **options: object) -> MarianModel:
    return MarianModel(write_tiny(folder, **options), 1)  # type: ignore[arg-type]  # config.json's


def pool(model: MarianModel, sessions: int, least_kept: int | None = None) -> SessionPool:
    return SessionPool(PairStore(model, 1 + 2 * sessions), (), sessions, least_kept=least_kept)


def afresh(model: MarianModel, tokens: Sequence[int], rows: int) -> Logits:
    return PairStore(model, 1).evaluate(0, tokens, 0, rows)


words = st.lists(st.integers(1, 20), min_size=1, max_size=5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), words, words, st.integers(0, 5)), min_size=1, max_size=8))
def test_answers_do_not_depend_on_what_was_asked_before(
    model: MarianModel, requests: list[tuple[str, list[int], list[int], int]]
) -> None:
    used = pool(model, 2)
    for key, source, output, unverified in requests:
        prompt = [*source, model.ends[0], model.start]
        first = len(prompt) - 1 + min(unverified, len(output))
        with used.session(key) as session:
            rows = session.forward(Forward([*prompt, *output], first, len(prompt), 0))
        want = afresh(model, [*prompt, *output], len(rows))
        assert len(rows) == len(prompt) + len(output) - first
        np.testing.assert_allclose(rows, want, atol=1e-4)


def test_tokens_of_an_older_export_do_not_see_those_after_them(tmp_path: Path) -> None:
    model = opened(tmp_path, is_causal=False)
    prompt = [3, 4, model.ends[0], model.start]
    store = PairStore(model, 1)
    first = store.evaluate(0, [*prompt, 5], 0, 1)
    again = store.evaluate(0, [6, 7], len(prompt) + 1, 2)
    np.testing.assert_allclose(first, afresh(model, [*prompt, 5], 1), atol=1e-4)
    np.testing.assert_allclose(again, afresh(model, [*prompt, 5, 6, 7], 2), atol=1e-4)


def test_kept_tokens_are_those_computed_for_the_shorter_source_and_the_rest_sees_the_longer(
    tmp_path: Path,
) -> None:
    model = opened(tmp_path)
    end, start = model.ends[0], model.start
    before, after, output = [3, 4, end, start], [3, 4, 5, end, start], [6, 7, 8, 9]
    with pool(model, 1, least_kept=1).session("a") as session:
        session.forward(Forward([*before, *output], 3, 4, 0))
        rows = session.forward(Forward([*after, *output], 7, 5, 2)).copy()
        assert (session.kept, session.reused) == (2, 4)
    whole = afresh(model, [*after, *output], 5)
    read, old = model.read([3, 4, end]), model.read([3, 4, 5, end])
    start_held, kept = model.begin(old, [start])[1], model.begin(read, [start, *output])[1]
    held = {name: np.concatenate((start_held[name], kept[name][:, :, 1:3]), axis=2) for name in kept}
    want, _ = model.go_on(old, held, output[2:])
    np.testing.assert_allclose(rows[-2:], want, atol=1e-4)
    assert not np.allclose(rows[-2:], whole[-2:], atol=1e-3), "a random model notices"


def test_banned_tokens_are_never_said(model: MarianModel) -> None:
    rows = afresh(model, [3, model.ends[0], model.start, 4], 2)
    assert np.isneginf(rows[:, model.start]).all()


def test_a_pass_that_fails_is_trouble_with_the_model(model: MarianModel) -> None:
    with pytest.raises(ModelError, match="ONNX Runtime"):
        afresh(model, [10_000, model.ends[0], model.start], 1)


def test_speech_never_spells_control_tokens(model: MarianModel) -> None:
    prompt = pair_prompt(model, EN_DE)
    source = prompt.source("the </s> of <pad>")
    assert not {*model.ends, model.start} & {*source}
    assert prompt.build(source, is_final=True)[-2:] == (model.ends[0], model.start)


def test_a_word_has_a_space_before_it_only_where_the_text_has(model: MarianModel) -> None:
    spell = model.vocabulary.piece
    for text in (" Berge", "Berge", " das Wetter", "(Berge)"):
        assert b"".join(map(spell, model.vocabulary.tokenize(text))).decode() == text


def test_a_model_of_several_languages_is_told_which(tmp_path: Path) -> None:
    model = opened(tmp_path, added=(">>deu<<", ">>cmn_Hans<<"))
    numbers = model.vocabulary.source.numbers
    assert pair_prompt(model, EN_DE).head == (numbers[">>deu<<"],)
    assert pair_prompt(model, Direction.of("en", "zh")).head == (numbers[">>cmn_Hans<<"],)
    with pytest.raises(UsageError, match="does not translate to French, but to cmn_Hans, deu"):
        pair_prompt(model, Direction.of("en", "fr"))


def test_a_model_for_another_direction_is_refused(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path)
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "de"}')
    model = MarianModel(folder, 1)
    pair_prompt(model, EN_DE)
    with pytest.raises(UsageError, match="translates en to de, not English to French"):
        pair_prompt(model, Direction.of("en", "fr"))


def test_weights_lie_beside_the_other_files_or_in_a_folder_of_their_own(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path)
    (folder / "onnx").mkdir()
    for name in ("encoder_model", "decoder_model_merged"):
        (folder / f"{name}.onnx").rename(folder / "onnx" / f"{name}_quantized.onnx")
    assert is_marian(folder)
    assert MarianModel(folder, 1).files[1] == folder / "onnx" / "decoder_model_merged_quantized.onnx"


def test_the_folder_of_another_model_is_refused_by_its_type(tmp_path: Path) -> None:
    assert not is_marian(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "m2m_100"}')
    with pytest.raises(InputError, match="of the type m2m_100"):
        is_marian(tmp_path)


@pytest.mark.parametrize("content", [None, b"{damaged"], ids=["missing", "damaged"])
@pytest.mark.parametrize("name", ["encoder_model.onnx", "vocab.json", "target.spm"])
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = write_tiny(tmp_path) / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(InputError, match=name.partition(".")[0]):
        MarianModel(tmp_path, 1)


def test_generation_config_comes_before_config(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 2, "bad_words_ids": [[5]]}))
    found = MarianModel(folder, 1)
    assert (found.ends, found.start) == ((2,), 30)
    assert np.isneginf(afresh(found, [3, 2, found.start, 4], 2)[:, 5]).all()
