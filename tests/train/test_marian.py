"""What transformers says with a Marian model, its exported copy says: tokens, logits, and greedy answers."""

import warnings

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from flows.engine.translation import open_engine
from flows.settings.translate import TranslateSettings
from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.decoding.ssbd import retranslate
from operators.languages import Direction
from operators.seq2seq.marian import MarianModel
from operators.seq2seq.prompt import pair_prompt
from operators.seq2seq.store import PairStore
from tests.tiny_marian import FOLDER

TEXT = "we met in the hills today , it was good ( fine ) !"


TEXTS = {
    "source": ["the weather in the hills is fine today", "we met on Monday at noon", "good day to you all"],
    "target": ["das Wetter in den Bergen ist heute schön", "wir trafen uns am Montag", "„guten Tag (Berge)“"],
}
END, PAD = 0, 30


@pytest.fixture(scope="module")
def theirs() -> MarianMTModel:
    config = MarianConfig(
        vocab_size=31, decoder_vocab_size=31, d_model=16, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
        max_position_embeddings=512, activation_function="swish", scale_embedding=True,
        pad_token_id=PAD, eos_token_id=END, forced_eos_token_id=None, decoder_start_token_id=PAD,
    )  # fmt: skip
    model = MarianMTModel(config).eval()
    own = {}
    for name in ("encoder_model", "decoder_model_merged"):
        for one in onnx.load(FOLDER / f"{name}.onnx").graph.initializer:
            values = torch.tensor(numpy_helper.to_array(one))
            own[one.name] = values.T if values.ndim == 2 and one.name.endswith(".weight") else values
    known = model.state_dict()
    model.load_state_dict({name: values for name, values in own.items() if name in known}, strict=False)
    model.tie_weights()
    return model


def test_a_source_has_the_tokens_of_transformers() -> None:
    with warnings.catch_warnings(action="ignore"):  # it asks for a normaliser that it does not apply
        tokenizer = MarianTokenizer.from_pretrained(FOLDER)
    prompt = pair_prompt(MarianModel(FOLDER, 1), Direction.of("en", "de"))
    for text in (TEXT, "ﬁne ½", "Ünknown 東京", *TEXTS["source"]):
        assert [*prompt.source(text), END] == tokenizer(text).input_ids
    for text in TEXTS["target"]:
        assert [*prompt.vocabulary.tokenize(f" {text}"), END] == tokenizer(text_target=text).input_ids


def test_logits_are_those_of_transformers(theirs: MarianMTModel) -> None:
    ours = MarianModel(FOLDER, 1)
    source, output = [5, 9, 3, 12, END], [ours.start, 4, 8, 15, 16, 23, 29]
    with torch.inference_mode():
        said = theirs(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([output]))
    want = said.logits[0].numpy()
    others = np.arange(ours.vocabulary_size) != ours.start
    store = PairStore(ours, 1)
    whole = store.evaluate(0, [*source, *output], 0, len(output))
    np.testing.assert_allclose(whole[:, others], want[:, others], atol=1e-4)
    store.cut_sequence(0, len(source) + 2)
    again = store.evaluate(0, output[2:], len(source) + 2, len(output) - 2)
    np.testing.assert_allclose(again[:, others], want[2:, others], atol=1e-4)


def test_greedy_answers_are_those_of_transformers(theirs: MarianMTModel) -> None:
    engine = open_engine(TranslateSettings(to="German", model=str(FOLDER), threads=1))
    for text in (TEXT, *TEXTS["source"]):
        prompt = engine.prompt.build(engine.prompt.source(text), is_final=True)
        with torch.inference_mode():
            want = theirs.generate(
                torch.tensor([prompt[:-1]]), num_beams=1, do_sample=False, max_new_tokens=9,
                bad_words_ids=[[prompt[-1]]],
            )[0, 1:].tolist()  # fmt: skip
        with engine.pool.session("a") as session:
            got, _ = drive(retranslate(Task(prompt, (), engine.prompt.stop, 9)), session)
        assert [*got.tokens, END][: len(want)] == want
        assert len(want) > 1
