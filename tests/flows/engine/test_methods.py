"""Each method and rule that the settings can name exists, and does what its name promises."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.engine.methods import method
from flows.engine.translation import translator_settings
from flows.measuring.plan import make_plan, row_settings
from flows.settings.loading import load_settings
from flows.settings.translate import METHOD_NAMES, PROPOSING, SPECULATIVE, TranslateSettings
from operators.decoding.acceptance import BIAS, UTILITY, Rules
from operators.decoding.drive import SequentialDecoder
from operators.decoding.pass_cost import PassCosts
from operators.decoding.translator import SegmentState, Translator
from operators.errors import UsageError
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from tests.operators.research.test_heads import noise_heads
from tests.toy import ToyStore, ToyVocabulary

updates = st.lists(st.text("ab c", max_size=20), min_size=1, max_size=6)
DEAR = PassCosts((1, 4, 8), (11.0, 32.0, 41.0))


def outputs(settings: TranslateSettings, texts: list[str]) -> tuple[list[tuple[int, ...]], int]:
    """The tokens of every update, and the passes of all."""
    made, passes, *_ = decoded(settings, texts)
    return made, passes


def decoded(settings: TranslateSettings, texts: list[str]) -> tuple[list[tuple[int, ...]], int, int, int]:
    """The tokens of every update; of all updates the passes, and the tokens proposed and taken."""
    vocabulary = ToyVocabulary()
    prompt = Prompt(vocabulary, (1, 2), " ", (3,), EndOfTurn(vocabulary))
    pool = SessionPool(ToyStore(3), prompt.head, 2)
    decode = method(
        settings, DEAR, noise_heads(3, 1), embeddings=lambda tokens: np.eye(9, dtype=np.float32)[tokens]
    )
    translator = Translator(prompt, SequentialDecoder(pool), decode, translator_settings(settings, prompt))
    state, made, passes, proposed, stand = SegmentState(), [], 0, 0, 0
    for number, text in enumerate(texts):
        state, output = translator.update("s/000000", state, text, is_final=number == len(texts) - 1)
        made.append(output.tokens)
        passes += output.effort.passes
        proposed += output.effort.proposed
        stand += output.effort.taken
    return made, passes, proposed, stand


@given(
    updates,
    st.sampled_from(SPECULATIVE),
    st.sampled_from([None, 1, 8]),
    st.sampled_from(["bias", "exact", "top-1"]),
)
def test_without_bias_every_method_gives_what_retranslation_gives_in_no_more_passes(
    texts: list[str], name: str, block: int | None, accept: str
) -> None:
    want, most = outputs(TranslateSettings(to="German", method="retranslate"), texts)
    settings = load_settings(
        None,
        {
            "translate": {
                "to": "German", "method": name, "bias": 0.0, "final_bias": 0.0, "block": block,
                "accept": accept,
            }
        },
    ).translate  # fmt: skip
    got, passes = outputs(settings, texts)
    assert (got, passes <= most) == (want, True)


@given(updates, st.sampled_from(PROPOSING), st.floats(0.0, 0.5))
def test_proposals_without_a_bias_change_nothing(texts: list[str], name: Any, bias: float) -> None:
    plain = TranslateSettings(to="German", method="ssbd", bias=bias, final_bias=bias, commit=0)
    want, most = outputs(plain, texts)
    got, passes = outputs(
        TranslateSettings(to="German", method=name, bias=bias, final_bias=bias, commit=0), texts
    )
    assert (got, passes <= most) == (want, True)


@pytest.mark.parametrize(
    "accept",
    ["top-0", "top", "within-2", "within-", "near", "near-3", "top-1.5", "Bias", "utility-", "bias-2"],
)
@pytest.mark.parametrize("key", ["accept", "proposal_accept"])
def test_an_unknown_rule_is_refused(accept: str, key: str) -> None:
    with pytest.raises(UsageError, match="accept"):
        load_settings(None, {"translate": {"to": "German", key: accept}})


@pytest.mark.parametrize("name", ["heads", "gs-jacobi"])
@pytest.mark.parametrize("proposed", ["top-1000", "near-2", "within-1", "bias-0.5", "same"])
def test_proposals_are_accepted_by_their_own_rule(name: Any, proposed: str) -> None:
    common: dict[str, Any] = {"method": name, "sure": 0.0, "block": 3, "bias": 0.5, "final_bias": 0.5}
    exact = taken(TranslateSettings(to="German", **common))
    assert taken(TranslateSettings(to="German", **common, proposal_accept=proposed)) > exact
    # The first proposed tokens of a block stand unseen, if there is a minimum.
    assert taken(TranslateSettings(to="German", **common, min_block=3)) > exact


def taken(settings: TranslateSettings) -> float:
    """The share of the proposed tokens that are accepted."""
    *_, proposed, stand = decoded(settings, ["abc abc cab cba", "ba"])
    return stand / proposed


def test_a_model_trained_on_unfinished_text_weighs_flicker_unless_a_bias_or_a_rule_is_given() -> None:
    def rules(**given: Any) -> tuple[Rules, Rules]:
        settings = TranslateSettings(to="German", **given)
        return settings.rules(), settings.rules(knows_unfinished=True)

    untrained = Rules("bias", BIAS, UTILITY, None)
    assert rules() == (untrained, Rules(UTILITY, None, UTILITY, None))
    assert rules(accept=UTILITY) == (Rules(UTILITY, None, UTILITY, None),) * 2
    assert rules(bias=0.3) == (untrained._replace(bias=0.3), Rules("bias", 0.3, "bias", 0.3))
    assert rules(bias=0.0) == (Rules("bias", 0.0, "bias", 0.0),) * 2
    assert rules(final_bias=0.0) == (Rules("bias", BIAS, "bias", 0.0),) * 2
    assert rules(bias=0.3, accept="exact") == (Rules("exact", None, "exact", None),) * 2
    assert not any(one.finals_differ for one in rules(accept="utility-2"))


def test_a_benchmark_with_a_glossary_has_each_method_with_and_without_it() -> None:
    plan = make_plan(
        {"to": "German"}, [dict[str, Any](method=("retranslate", "ssbd"), glossary=(None, "terms.tsv"))]
    )
    rows = [(one.method, one.glossary) for one in plan.variants]
    assert rows == [
        ("retranslate", None), ("retranslate", "terms.tsv"), ("ssbd", None), ("ssbd", "terms.tsv")
    ]  # fmt: skip
    assert plan.engine.glossary == "terms.tsv"


def test_a_benchmark_has_a_row_for_each_method_and_setting_that_changes_it() -> None:
    grid = dict[str, Any](
        method=METHOD_NAMES,
        bias=(0.2,),
        mask_k=(0,),
        proposal_accept=("exact", "top-2"),
        block=(None, 8),
        horizon=(None, 4),
        guess=("pad", "draft"),
        sure=(0.4, 0.1),
        heads=("any",),
    )
    variants = make_plan({"to": "German"}, [grid]).variants
    count = {name: sum(one.method == name for one in variants) for name in METHOD_NAMES}
    assert count == {
        "ssbd": 1, "recycle": 8, "jacobi": 8, "gs-jacobi": 8, "hybrid-jacobi": 16, "heads": 8,
        "retranslate": 1, "continuous": 1,
    }  # fmt: skip
    rules = {row_settings(one)["proposal_accept"] for one in variants if one.method == "recycle"}
    assert rules == {"exact", "top-2"}
