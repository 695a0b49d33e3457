"""The named models that can be used, and the time of an update with each."""

from flows.engine.choice import Candidate, Reference, advice, best, candidates
from operators.languages import Direction

EN_DE, EN_IT = Direction.of("en", "de"), Direction.of("en", "it")


def found(direction: Direction | None, took_ms: float) -> dict[str, Candidate]:
    own = Reference(took_ms, 0.14, is_for_captions=True)
    return {one.name: one for one in candidates(direction, own, {"captions": took_ms})}


def test_measured_and_estimated_times_are_distinguished() -> None:
    here = found(EN_DE, 42.0)
    assert (here["captions"].update_ms, here["captions"].is_measured) == (42.0, True)
    larger, smaller = here["hy-mt2-7b"], here["hy-mt2-1.8b"]
    assert not larger.is_measured
    assert larger.update_ms is not None
    assert smaller.update_ms is not None
    assert larger.update_ms / smaller.update_ms == 7.5 / 1.8
    # Qwen2.5-Coder 1.5B takes 1.2 s where the models for captions take 42 ms.
    assert 600 < smaller.update_ms < 1800


def test_the_best_one_is_the_first_whose_captions_flow_and_that_fits_into_the_memory() -> None:
    def chosen(direction: Direction, took_ms: float, free_mb: float | None = None) -> str | None:
        one = best(list(found(direction, took_ms).values()), free_mb)
        return None if one is None else one.name

    assert chosen(EN_DE, 42.0) == "firefox"
    assert chosen(Direction.of("de", "fr"), 42.0) == "opus-mt"
    assert chosen(EN_DE, 1.0) == "hy-mt2-7b"
    assert chosen(EN_DE, 1.0, free_mb=2000) == "hy-mt2-1.8b"
    assert chosen(EN_IT, 42.0) == "firefox"
    assert chosen(Direction.of("ja", "ko"), 30.0) == "milmmt-46-1b"
    assert chosen(Direction.of("Basque", "Welsh"), 42.0) is None
    assert best(candidates(EN_IT, None, {}), None) is None
    # Its licence is not for every use.
    assert chosen(Direction.of("ja", "en"), 20.0) != "lfm2-enjp"


def test_advice_names_the_best_one_or_the_one_that_comes_closest() -> None:
    assert advice(list(found(EN_DE, 42.0).values()), None).endswith("keeps up here is firefox")
    slow = advice(list(found(Direction.of("Basque", "Welsh"), 42.0).values()), None)
    assert "salamandrata-7b comes closest, with about 4,380 ms" in slow


def test_a_direction_lists_the_models_that_know_both_languages() -> None:
    assert "captions" not in found(EN_IT, 42.0)
    assert "base" in found(Direction.of("en", "ja"), 42.0)
    assert "base" not in found(Direction.of("ja", "en"), 42.0)
    assert len(found(None, 42.0)) > 15
