"""The columns of a row, on trials made by hand."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.measuring.scores import MethodUpdate, Scorer, SegmentTrial
from operators.events import Effort
from operators.glossary import Occurrence
from operators.model_errors import ErrorKind


def update(text: str, total_s: float = 1.0, shown: str | None = None, **effort: float) -> MethodUpdate:
    words = len(text.split())
    counts = {"decoded": words, "passes": words + 1, "model_s": total_s, "first_s": total_s / 2, **effort}
    spent = Effort(**counts).with_total(total_s)  # type: ignore[arg-type]  # msgspec takes whole floats
    return MethodUpdate(words, text, (text if shown is None else shown,), spent)


def row(trials: list[SegmentTrial], which: int = 1, references: list[str] | None = None) -> dict[str, Any]:
    scorer = Scorer(trials, references, lambda text: tuple(text.split()), "13a", bootstrap=50)
    return {**scorer.metrics(which), **scorer.shown(which, 0)}


def trial(repeat: int, segment: int, *methods: list[MethodUpdate]) -> SegmentTrial:
    return SegmentTrial(repeat, segment, tuple(tuple(updates) for updates in methods))


def test_erasure_is_counted_over_all_updates_pooled_and_as_the_mean_of_the_segments() -> None:
    stable = [update("a"), update("a b"), update("a b c d")]
    wild = [update("x"), update("y z"), update("y w")]  # 1 and then 1 erased, 2 at the end
    scored = row([trial(0, 0, stable, stable), trial(0, 1, stable, wild)])
    assert scored["ne_raw"] == pytest.approx(2 / 6)
    assert scored["ne_raw_mean"] == pytest.approx((0 / 4 + 2 / 2) / 2)
    masked = [update("a x", shown="a"), update("a b y", shown="a b"), update("a b c")]
    scored = row([trial(0, 0, masked, masked)])
    assert scored["ne_raw"] == pytest.approx(2 / 3)
    assert scored["ne_shown"] == 0.0


def test_terms_count_as_often_as_they_occur_in_the_source_and_not_more() -> None:
    finals = ["Der Graph und der Graph", "Kein Wort", "Graphen"]
    trials = [trial(0, number, [update(text)]) for number, text in enumerate(finals)]
    terms = [[Occurrence("Graph", 1), Occurrence("Knoten", 2)], [], [Occurrence("Graph", 1)]]
    scorer = Scorer(trials, None, lambda text: tuple(text.split()), "13a", terms=terms)
    assert scorer.metrics(0)["terms"] == 2 / 4
    unsaid = Scorer(trials, None, lambda text: tuple(text.split()), "13a", terms=[[], [], []])
    assert unsaid.metrics(0)["terms"] is None


def test_speedup_is_the_median_of_paired_ratios_of_each_repeat() -> None:
    trials = [
        trial(repeat, 0, [update("a", base)], [update("a", own)])
        for repeat, (base, own) in enumerate([(2.0, 1.0), (9.0, 3.0), (4.0, 4.0)])
    ]
    scored = row(trials)
    assert (scored["speedup"], scored["speedup_range"]) == (2.0, (1.0, 3.0))
    assert row(trials, 0)["speedup"] == 1.0


def test_tokens_per_second_leave_out_what_the_baseline_needed_for_the_same_prompt() -> None:
    base = [update("a b", 3.0, first_s=1.0)]  # 2 tokens in 2 s
    fast = [update("a b", 2.0, first_s=2.0)]  # 2 tokens in 1 s
    scored = row([trial(0, 0, base, fast)])
    assert scored["tokens_per_second"] == pytest.approx(2.0)
    assert scored["tps_ratio"] == pytest.approx(2.0)
    # An update without a pass outputs nothing.
    same = [update("a b", 2.0, first_s=1.0), update("a b", 0.001, passes=0, model_s=0, first_s=0)]
    assert row([trial(0, 0, same, same)])["tokens_per_second"] == pytest.approx(2.0)


def test_drafts_are_counted_by_what_was_offered_and_by_what_was_output() -> None:
    updates = [update("a b"), update("a b c d", drafted=4, accepted=3, decoded=1)]
    scored = row([trial(0, 0, updates, updates)])
    assert scored["accepted_over_drafted"] == pytest.approx(3 / 4)
    assert scored["accepted_over_output"] == pytest.approx(3 / 6)


def test_times_are_separate_for_finals_and_for_partials() -> None:
    spoken = [update("a", 0.1, model_s=0.08, first_s=0.02), update("a b", 0.3, model_s=0.2, first_s=0.05)]
    final = update("a b c", 1.0, model_s=0.9, first_s=0.1, drafted=2, accepted=1, decoded=2)
    scored = row([trial(repeat, 0, [*spoken, final], [*spoken, final]) for repeat in range(2)])
    assert scored["ms_of_partial"] == pytest.approx({"verify": 35.0, "decode": 105.0, "beside": 60.0})
    assert scored["ms_of_final"] == pytest.approx({"verify": 100.0, "decode": 800.0, "beside": 100.0})
    assert scored["final_accepted_over_drafted"] == pytest.approx(1 / 2)


def test_partials_are_compared_with_the_baselines_update_by_update() -> None:
    base = [update("guten Tag"), update("guten Tag Welt")]
    own = [update("guten Abend"), update("guten Tag Welt")]
    scored = row([trial(0, 0, base, own)])
    assert scored["chrf_of_baseline"] == pytest.approx(100)
    assert scored["chrf_of_baseline_partials"] < 60
    assert row([trial(0, 0, base[1:], own[1:])])["chrf_of_baseline_partials"] is None


def partials(own: list[str], base: list[str] | None = None, which: int = 1) -> dict[str, Any]:
    """The row of outputs ``own``, the last one a final, beside a baseline's."""
    updates = [[update(text) for text in texts] for texts in (base or own, own)]
    return row([trial(0, 0, *updates)], which)


def test_an_update_is_scored_as_the_beginning_of_its_final() -> None:
    assert partials(["", "guten", "guten Tag", "guten Tag Welt"])["chrf_of_final_prefix"] == pytest.approx(
        100
    )
    assert 10 < partials(["guten Morgen alle", "guten Tag Welt"])["chrf_of_final_prefix"] < 70
    assert partials(["guten Tag Welt, wie geht es", "guten Tag Welt"])["chrf_of_final_prefix"] < 100
    # Nothing was read before them, or nothing at all.
    assert partials(["guten Tag Welt"])["chrf_of_final_prefix"] is None
    assert partials(["", "guten Tag Welt"])["chrf_of_final_prefix"] is None


def test_words_that_neither_final_has_are_unsupported() -> None:
    base = ["x", "der alte Bahnhof", "der alte Bahnhof wurde Museum"]
    own = ["der Bahnhof ist schön.", "Der alte Bahnhof wurde", "der Bahnhof wurde alt"]
    assert partials(own, base)["unsupported"] == pytest.approx(2 / 8)
    assert partials(own, base, which=0)["unsupported"] == pytest.approx(1 / 4)
    assert partials(own[2:])["unsupported"] is None


def test_answers_that_were_cut_are_counted_among_all_updates() -> None:
    fine, lost = update("a"), replace(update("a"), trouble=ErrorKind.EMPTY)
    cut = [replace(update("a"), trouble=kind) for kind in (ErrorKind.REPETITION, ErrorKind.LONG_ANSWER)]
    scored = row([trial(0, 0, [fine] * 4, [*cut, lost, fine]), trial(0, 1, [fine], [fine])])
    assert scored["cut"] == pytest.approx(2 / 5)


def test_quality_is_that_of_the_finals_against_references_and_against_the_baseline() -> None:
    good, bad = [update("x"), update("the cat sat")], [update("the cat sat"), update("x y z")]
    trials = [trial(0, segment, good, bad) for segment in range(8)]
    references = ["the cat sat"] * 8
    assert row(trials, 0, references)["chrf"] == 100.0
    assert row(trials, 0, references)["chrf_p"] is None
    worse = row(trials, 1, references)
    assert worse["chrf"] < 50
    assert worse["chrf_p"] < 0.05
    assert worse["chrf_of_baseline"] == worse["chrf"]


words = st.lists(st.sampled_from("abc"), max_size=6).map(" ".join)


@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=3), st.randoms())
def test_figures_depend_neither_on_the_order_of_trials_nor_on_empty_texts(
    texts: list[list[str]], random: Random
) -> None:
    trials = [
        trial(repeat, number, *[[update(text) for text in updates] for _ in range(2)])
        for repeat in range(2)
        for number, updates in enumerate(texts)
    ]
    scored = row(trials)
    assert scored["ne_raw"] >= 0
    random.shuffle(trials)
    assert row(trials) == scored
