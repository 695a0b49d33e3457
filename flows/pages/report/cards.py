"""The headline of the page: the figures of each run, and how they changed between two runs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flows.pages.table import number, percent
from operators.metrics.report import StreamFigures
from operators.metrics.summary import Percentiles


class Card(NamedTuple):
    """One figure of each run."""

    name: str
    meaning: str
    values: tuple[str, ...]
    #: Change from the first run to the second; empty if there is nothing to say.
    change: str = ""
    #: ``better``, ``worse``, or empty.
    verdict: str = ""


class _Figure(NamedTuple):
    name: str
    meaning: str
    get: Callable[[StreamFigures], float | None]
    show: Callable[[float | None], str]
    #: Whether a decrease is better; if not set, a change is not judged.
    less_is_better: bool = False


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def _seconds(value: float | None) -> str:
    return f"{number(value, 2)}{'' if value is None else ' s'}"


def _ms(value: float | None) -> str:
    return f"{number(value, 0)}{'' if value is None else ' ms'}"


def _ratio(value: float | None) -> str:
    return number(value, 2)


def _p50(value: Percentiles | None) -> float | None:
    return None if value is None else value.p50


def _p95(value: Percentiles | None) -> float | None:
    return None if value is None else value.p95


_ONE_LATER = "one update in twenty came later"
_FAST = "the same on an infinitely fast machine"
_FIGURES = (
    _Figure(
        "NE shown",
        "tokens erased after they were shown, per final token",
        lambda of: of.ne_shown,
        _ratio,
        True,
    ),
    _Figure("NE raw", "of the whole translations, withheld or not", lambda of: of.ne_raw, _ratio, True),
    _Figure(
        "latency from speech, p50",
        "from the end of the speech to its caption",
        lambda of: _p50(of.latency_from_speech_ms),
        _ms,
        True,
    ),
    _Figure("latency from speech, p95", _ONE_LATER, lambda of: _p95(of.latency_from_speech_ms), _ms, True),
    _Figure(
        "latency from partial, p50",
        "from the recogniser’s hypothesis to its caption",
        lambda of: _p50(of.latency_ms),
        _ms,
        True,
    ),
    _Figure("latency from partial, p95", _ONE_LATER, lambda of: _p95(of.latency_ms), _ms, True),
    _Figure(
        "lag, mean",
        "of each token behind an even speaker, until it was final",
        lambda of: None if of.lag is None else of.lag.mean_s,
        _seconds,
        True,
    ),
    _Figure(
        "lag, p95",
        "one token in twenty came later",
        lambda of: None if of.lag is None else of.lag.p95_s,
        _seconds,
        True,
    ),
    _Figure("AL CA", "average lagging, the machine’s time included", lambda of: of.al.aware_s, _seconds),
    _Figure("AL", _FAST, lambda of: of.al.unaware_s, _seconds),
    _Figure("LAAL CA", "length-adaptive average lagging", lambda of: of.laal.aware_s, _seconds),
    _Figure("LAAL", _FAST, lambda of: of.laal.unaware_s, _seconds),
    _Figure("A/D", "of the draft tokens were accepted", lambda of: of.accepted_over_drafted, percent),
    _Figure("A/O", "of the output came from drafts", lambda of: of.accepted_over_output, percent),
    _Figure("segments", "finished ones", lambda of: of.segments, _count),
    _Figure("updates", "of all segments", lambda of: of.updates, _count),
    _Figure("overtaken", "updates that newer ones overtook", lambda of: of.overtaken, _count, True),
    _Figure("unfinished", "segments whose final is missing", lambda of: of.unfinished, _count),
)


def cards(totals: Sequence[StreamFigures]) -> list[Card]:
    """The figures that at least one of the runs has."""
    made = []
    for figure in _FIGURES:
        values = [figure.get(total) for total in totals]
        if all(value is None for value in values) or (figure.name == "unfinished" and not any(values)):
            continue
        told = tuple(figure.show(value) for value in values)
        made.append(Card(figure.name, figure.meaning, told, *_change(values, told, figure.less_is_better)))
    return made


def _change(values: Sequence[float | None], told: Sequence[str], less_is_better: bool) -> tuple[str, str]:
    if len(values) < 2:
        return "", ""
    before, after = values
    if before is None or after is None:
        return "", ""
    if told[0] == told[1]:
        return "the same", ""
    change = f"{100 * (after - before) / before:+.0f} %".replace("-", "−") if before > 0 else "changed"
    if not less_is_better:
        return change, ""
    verdict = "better" if after < before else "worse"
    return f"{change}, {verdict}", verdict
