"""The headline of the page: the figures of each run, and how they changed between two runs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flows.pages.table import number, percent
from operators.metrics.report import StreamFigures


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
    #: The name of the field, after dots inside others.
    field: str
    show: Callable[[float | None], str]
    #: Whether a decrease is better; if not set, a change is not judged.
    less_is_better: bool = False

    def get(self, total: StreamFigures) -> float | None:
        """The value; None if there is none."""
        value: Any = total
        for name in self.field.split("."):
            value = None if value is None else getattr(value, name)
        return value  # type: ignore[no-any-return]


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def _ratio(value: float | None) -> str:
    return number(value, 2)


def _seconds(value: float | None) -> str:
    return f"{number(value, 2)}{'' if value is None else ' s'}"


def _ms(value: float | None) -> str:
    return f"{number(value, 0)}{'' if value is None else ' ms'}"


_ONE_LATER = "one update in twenty came later"
_FAST = "the same on an infinitely fast machine"
_SPEECH, _PARTIAL = (
    "from the end of the speech to its caption",
    "from the recogniser’s hypothesis to its caption",
)
_FIGURES = (
    _Figure("NE shown", "tokens erased after they were shown, per final token", "ne_shown", _ratio, True),
    _Figure("NE raw", "of the whole translations, withheld or not", "ne_raw", _ratio, True),
    _Figure("latency from speech, p50", _SPEECH, "latency_from_speech_ms.p50", _ms, True),
    _Figure("latency from speech, p95", _ONE_LATER, "latency_from_speech_ms.p95", _ms, True),
    _Figure("latency from partial, p50", _PARTIAL, "latency_ms.p50", _ms, True),
    _Figure("latency from partial, p95", _ONE_LATER, "latency_ms.p95", _ms, True),
    _Figure(
        "lag, mean", "of each token behind an even speaker, until it was final", "lag.mean_s", _seconds, True
    ),
    _Figure("lag, p95", "one token in twenty came later", "lag.p95_s", _seconds, True),
    _Figure("AL CA", "average lagging, the machine’s time included", "al.aware_s", _seconds),
    _Figure("AL", _FAST, "al.unaware_s", _seconds),
    _Figure("LAAL CA", "length-adaptive average lagging", "laal.aware_s", _seconds),
    _Figure("LAAL", _FAST, "laal.unaware_s", _seconds),
    _Figure("A/D", "of the draft tokens were accepted", "accepted_over_drafted", percent),
    _Figure("A/O", "of the output came from drafts", "accepted_over_output", percent),
    _Figure("segments", "finished ones", "segments", _count),
    _Figure("updates", "of all segments", "updates", _count),
    _Figure("overtaken", "updates that newer ones overtook", "overtaken", _count, True),
    _Figure("unfinished", "segments whose final is missing", "unfinished", _count),
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
