"""Detection of an utterance's language, decided once from a model's probabilities for its windows.

The log probabilities of the utterance's windows are added up. Among the expected languages the likeliest
wins. The language of the utterance before has an advantage, because people change languages less often than
models do.
"""

from collections.abc import Mapping, Sequence
from math import log

from operators.languages import Language, is_language

#: Seconds of voice: with less than the first a model guesses; after the second the language is decided in any
#: case.
FIRST_S, LATEST_S = 0.9, 2.0
#: For an earlier decision: the minimum lead of a language over the next one in nats, and the minimum mean
#: probability of all expected ones together.
_CLEAR, _LIKELY = 2.0, 0.5
#: Advantage of the language of the utterance before, in nats. The second value applies if any language may be
#: spoken and the voice is briefer than `LATEST_S`, for which models are unreliable.
_ADVANTAGE, _BRIEF_ADVANTAGE = 1.0, 3.0
#: An unexpected language is chosen if its mean probability is at least the first, and that of all expected
#: ones together below the second.
_MEANT, _UNLIKELY = 0.7, 0.2
#: A language that counts as another one, if only that one is expected.
_SAME = {"nn": "no", "no": "nn", "yue": "zh"}
_LEAST = 1e-6


class LanguageFinder:
    """Detects the languages of one stream.

    Args:
        expected: The languages that may be spoken; none for any.
    """

    def __init__(self, expected: Sequence[Language]) -> None:
        self._expected = {one.base: one.code for one in expected}
        # The language of the utterance before.
        self._before = ""
        self._windows: list[Mapping[str, float]] = []

    def hear(self, probabilities: Mapping[str, float], voiced_s: float, *, is_last: bool) -> str | None:
        """The code of the language, or None until it is decided.

        After a decision, the next window belongs to another utterance.

        Args:
            probabilities: By code of the language, for a window of at least `FIRST_S`, or the last one.
            voiced_s: Seconds of voice in the window.
            is_last: Whether it is the last one of the utterance.
        """
        self._windows.append(self._known(probabilities))
        is_brief = voiced_s < LATEST_S
        code, lead, likely = self._likeliest(is_brief=is_brief)
        if not is_last and is_brief and not (likely >= _LIKELY and lead >= _CLEAR):
            return None
        if likely < _UNLIKELY and not is_brief and (other := self._meant()):
            code = other
        self._windows = []
        # An unexpected language gets no advantage in the next utterance.
        if code in self._expected or not self._expected:
            self._before = code
        return self._expected.get(code, code)

    def _known(self, probabilities: Mapping[str, float]) -> dict[str, float]:
        known: dict[str, float] = {}
        for code, probability in probabilities.items():
            same = _SAME.get(code, "")
            counted = same if same in self._expected and code not in self._expected else code
            known[counted] = known.get(counted, 0.0) + probability
        return {code: probability for code, probability in known.items() if is_language(code)}

    def _likeliest(self, *, is_brief: bool) -> tuple[str, float, float]:
        """The likeliest expected language, its lead in nats, and the probability of all expected ones."""
        codes = self._expected or self._windows[0]
        advantage = _BRIEF_ADVANTAGE if is_brief and not self._expected else _ADVANTAGE
        scores = {
            code: sum(log(max(one.get(code, 0.0), _LEAST)) for one in self._windows)
            + advantage * (code == self._before)
            for code in codes
        }
        first, *others = sorted(scores, key=scores.__getitem__, reverse=True)
        lead = scores[first] - scores[others[0]] if others else _CLEAR
        return first, lead, sum(self._mean(code) for code in codes)

    def _meant(self) -> str:
        """The unexpected language with a high enough probability; empty if there is none."""
        other = max(self._windows[-1], key=self._mean)
        return other if self._mean(other) >= _MEANT else ""

    def _mean(self, code: str) -> float:
        return sum(one.get(code, 0.0) for one in self._windows) / len(self._windows)
