"""Trials on the toy model: paired, rotating, and none of them twice."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connectors.scoring import Journal
from flows.engine.methods import method
from flows.engine.translation import translator_settings
from flows.measuring.bench import masked, mixing_key
from flows.measuring.corpus import BenchSegment, Corpus, load_corpus
from flows.measuring.plan import DisplayMask, make_plan
from flows.measuring.scores import SegmentTrial
from flows.measuring.trials import Likelihood, Mask, run_trials, warm_up
from operators.decoding.drive import SequentialDecoder
from operators.decoding.forward import Method, Task
from operators.decoding.ssbd import retranslate
from operators.decoding.translator import Translator
from operators.errors import OutputError
from operators.masking import MaskRule
from operators.models.pool import SessionPool
from operators.prompts.prompt import EndOfTurn, Prompt
from tests.program import ROOT
from tests.toy import ToyCache, ToyStore, ToyVocabulary

CORPUS = Corpus("toy", tuple(BenchSegment(f"s/{n}", ("a b", "a b c a", "a c c a b")) for n in range(3)))
PLAN = make_plan(
    {"to": "German"}, [dict[str, Any](method=("ssbd", "continuous"), bias=(0.0, 0.2), mask_k=(0, 1))]
)


VOCABULARY = ToyVocabulary()
PROMPT = Prompt(VOCABULARY, (1, 2), " ", (3,), EndOfTurn(VOCABULARY))


def translators() -> list[Translator]:
    pool = SessionPool(ToyStore(3), PROMPT.head, 2)
    decoder = SequentialDecoder(pool)
    return [
        Translator(PROMPT, decoder, method(one), translator_settings(one, PROMPT)) for one in PLAN.variants
    ]


def masks() -> list[Mask]:
    def first(count: int, pieces: tuple[str, ...], _before: str) -> str:
        return "".join(pieces[: len(pieces) - count])

    return [partial(first, 0), partial(first, 1)]


def texts(trials: list[SegmentTrial]) -> list[object]:
    return [
        (one.repeat, one.segment, [[(update.text, update.shown) for update in each] for each in one.updates])
        for one in sorted(trials, key=lambda trial: (trial.repeat, trial.segment))
    ]


def test_methods_that_share_a_pool_give_the_results_that_each_gives_alone() -> None:
    (together, *_) = run_trials(CORPUS, translators(), 1, masks(), set())
    for number, alone in enumerate(translators()):
        (trial, *_) = run_trials(CORPUS, [alone], 1, masks(), set())
        assert texts([SegmentTrial(0, 0, (together.updates[number],))]) == texts([trial])


def test_our_mask_depends_on_what_was_shown_before_and_the_papers_does_not() -> None:
    def grows(_pieces: tuple[str, ...], before: str) -> str:
        return before + "x"

    (trial, *_) = run_trials(CORPUS, translators(), 1, [grows], set())
    final = trial.updates[0][2].text
    assert [update.shown for update in trial.updates[0]] == [("x",), ("xx",), (final,)]
    rules: list[MaskRule] = ["steady", "tokens"]
    shown = [masked(DisplayMask(2, rule), ("Es", " ist", " gut"), "Es ist so") for rule in rules]
    assert shown == ["Es ist", "Es"]


def test_no_repeat_finds_the_outputs_of_the_previous_one() -> None:
    seen: list[int] = []

    def looking(task: Task) -> Method:
        seen.append(len(task.recent))
        return retranslate(task)

    (looks,) = translators()[:1]
    looks._method = looking
    warm_up(CORPUS, [looks])
    list(run_trials(CORPUS, [looks], 2, masks(), set()))
    whole = len(CORPUS.segments[0].updates)
    assert seen == [0, *[ended for _ in range(2) for ended in range(3) for _ in range(whole)]]


SIGNATURE: dict[str, object] = {"code": "same", "repeats": 1, "comet": None}


def test_trials_are_shared_by_runs_of_the_same_settings_however_often_they_are_repeated() -> None:
    key = mixing_key(SIGNATURE, PLAN)
    assert mixing_key({**SIGNATURE, "code": "other"}, PLAN) != key
    assert mixing_key({**SIGNATURE, "repeats": 9, "comet": "x"}, PLAN) == key
    grid = dict[str, Any](method=("ssbd", "continuous"), bias=(0.0, 0.2), mask_k=(0, 1))
    others = ({"mask_k": (1, 0)}, {"method": ("continuous", "ssbd")}, {"hold_back": (1,)})
    keys = {mixing_key(SIGNATURE, make_plan({"to": "German"}, [grid | other])) for other in others}
    assert len({key, *keys}) == 4


@pytest.mark.parametrize("cut", [1, 39])
def test_a_journal_returns_all_trials_except_a_truncated_one(cut: int, tmp_path: Path) -> None:
    trials = list(run_trials(CORPUS, translators(), 1, masks(), set()))
    with Journal(tmp_path / "j.jsonl", SegmentTrial) as journal:
        for trial in trials:
            journal.append(trial)
        with pytest.raises(OutputError, match="already running"):
            Journal(tmp_path / "j.jsonl", SegmentTrial)
    whole = (tmp_path / "j.jsonl").read_bytes()
    (tmp_path / "j.jsonl").write_bytes(whole[:-cut])
    with Journal(tmp_path / "j.jsonl", SegmentTrial) as journal:
        assert journal.results == trials[:2]
        journal.append(trials[2])
    assert (tmp_path / "j.jsonl").read_bytes() == whole
    with Journal(tmp_path / "j.jsonl", SegmentTrial, fresh=True) as journal:
        assert journal.results == []
        journal.remove()
    assert not (tmp_path / "j.jsonl").exists()


def test_a_plan_runs_retranslation_first_and_nothing_twice() -> None:
    grids = [
        dict[str, Any](method=("ssbd", "retranslate"), bias=(0.2, 0.2, 0.0), mask_k=(3, 0)),
        dict[str, Any](method=("ssbd",), bias=(0.0, 0.4), mask_k=(0, 5)),
    ]
    plan = make_plan({"to": "French"}, grids)
    assert [(one.method, one.bias) for one in plan.variants] == [
        ("retranslate", None), ("ssbd", 0.2), ("ssbd", 0.0), ("ssbd", 0.4)
    ]  # fmt: skip
    assert plan.masks == tuple(DisplayMask(k) for k in (3, 0, 5))
    assert {one.target for one in plan.variants} == {"French"}


def test_a_text_grows_by_so_many_words_and_ends_whole(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("a b c d e\n\nf\u2028g\n")
    (tmp_path / "r.txt").write_text("1\n2\n3\n")
    corpus = load_corpus(tmp_path / "t.txt", tmp_path / "r.txt", lag=2, chosen=slice(0, None))
    assert [one.updates for one in corpus.segments] == [("a b", "a b c d", "a b c d e"), ("",), ("f g",)]
    assert corpus.references == ["1", "2", "3"]
    one = load_corpus(tmp_path / "t.txt", tmp_path / "r.txt", lag=2, chosen=slice(2, 7))
    assert (one.name, one.references) == ("t.txt|updates:2-words|segments:3-3", ["3"])
    assert one.sha256 != corpus.sha256


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\n" * 100])
def test_partials_are_recognised_whatever_precedes_them(tmp_path: Path, before: bytes) -> None:
    sample = (ROOT / "tests" / "samples" / "partials.jsonl").read_bytes()
    (tmp_path / "p.jsonl").write_bytes(before + sample)
    corpus = load_corpus(tmp_path / "p.jsonl", lag=2, chosen=slice(0, 1))
    assert corpus.name == "p.jsonl|updates:recorded|segments:1-1"


def judge(max_source: int = 50) -> Likelihood:
    return Likelihood(PROMPT, SessionPool(ToyStore(2), PROMPT.head, 1), max_source)


def test_an_output_has_the_probability_of_its_tokens_one_after_the_other() -> None:
    likelihood = judge()
    tokens = list(PROMPT.build(PROMPT.source("a b"), is_final=True))
    want = 0.0
    for token in (4, 2, 5):
        row = ToyCache().evaluate(tokens, 0, 1)[-1].astype(np.float64)
        want -= float(row[token] - np.log(np.exp(row).sum()))
        tokens.append(token)
    assert likelihood.nats("a b", (4, 2, 5), is_final=True) == pytest.approx(want, rel=1e-4)


def test_outputs_that_cannot_be_scored_are_left_out() -> None:
    likelihood = judge(max_source=1)
    assert likelihood.nats("a b", (), is_final=True) is None
    assert likelihood.nats("  ", (4,), is_final=True) is None
    assert likelihood.nats("a b c a b c", (4,), is_final=True) is None


def test_outputs_are_scored_once_and_do_not_change() -> None:
    plain = list(run_trials(CORPUS, translators(), 2, masks(), set()))
    judged = list(run_trials(CORPUS, translators(), 2, masks(), set(), likelihood=judge()))
    assert texts(judged) == texts(plain)
    nats = [[update.nats for each in trial.updates for update in each if update.tokens] for trial in judged]
    assert all(one is not None for trial in nats[:3] for one in trial)
    assert all(one is None for trial in nats[3:] for one in trial)
