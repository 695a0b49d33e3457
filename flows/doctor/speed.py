"""How fast captions will be here: the recogniser and the translator on a few seconds of recorded speech."""

from statistics import median

import msgspec

from connectors.machine.child_process import Failure, run_child
from connectors.models.catalog import FLOWS_MS
from flows.doctor.finding import Finding, advised, from_error
from flows.doctor.model import named
from flows.settings.schema import TranslateSettings

#: Milliseconds from which captions fall behind: about the time that a segment takes to speak.
_BEHIND_MS = 3000.0
#: Share of the time from which there is little in reserve for everything else on the machine.
_RESERVE = 0.7
#: Share of the processor that others use from which the figures are no longer those of this machine.
_DISTURBED = 0.2


class SpeedFacts(msgspec.Struct, frozen=True):
    """One measured run."""

    #: Why it could not be measured; None if it could.
    error: str | None = None
    #: Seconds of recorded speech, and those that recognising it took.
    speech_s: float = 0.0
    recognized_s: float = 0.0
    #: Whether what was recognised was also translated.
    translates: bool = True
    #: Milliseconds of each update of the translation.
    updates_ms: tuple[float, ...] = ()
    #: Seconds of the speech that these updates are about; less than all of it on a slow machine.
    translated_s: float = 0.0
    threads: int = 0
    #: Which named model to take here, as a phrase.
    advice: str = ""
    #: Share of the processor that other programs used meanwhile.
    others: float = 0.0
    resident_mb: float | None = None

    @property
    def real_time_factor(self) -> float:
        """Seconds that recognising a second of speech takes."""
        return self.recognized_s / self.speech_s if self.speech_s else 0.0

    @property
    def translating(self) -> float:
        """Share of the time that translating into one language takes while somebody speaks."""
        return sum(self.updates_ms) / 1000 / self.translated_s if self.translated_s else 0.0

    def busy(self, languages: int = 1) -> float:
        """Share of the time that recognising, and translating into so many languages, take meanwhile."""
        return self.real_time_factor + languages * self.translating

    @property
    def languages(self) -> int:
        """The number of languages that keep up at the same time."""
        return int((1 - self.real_time_factor) / self.translating) if self.translating else 0

    def quantile(self, share: float) -> float:
        """Milliseconds that this share of the updates take at most."""
        ordered = sorted(self.updates_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def look(settings: TranslateSettings, limit_s: float) -> SpeedFacts:
    """Measure in a child process, which is killed when the time is over."""
    facts = run_child("flows.doctor.child", ["speed", *named(settings)], SpeedFacts, limit_s)
    if not isinstance(facts, Failure):
        return facts
    if facts.is_late:
        return SpeedFacts(error=f"the measured run {facts.why}; choose a smaller model with --model")
    return SpeedFacts(error=f"the measured run {facts.why}; start it again with surtitle doctor")


def judge(facts: SpeedFacts, languages: int = 1) -> list[Finding]:
    """Whether captions keep up with speech, in so many languages at the same time."""
    if facts.error is not None:
        return [from_error(facts.error, is_problem=True)]
    if facts.translates and not facts.updates_ms:
        return [Finding.warning("Nothing was recognised in the recording", "install surtitle again")]
    return [_speed(facts, languages), *advised(facts.advice)]


def _speed(facts: SpeedFacts, languages: int) -> Finding:
    sentence, typical, slow = f"A second of speech is recognised in {facts.real_time_factor:.2f} s", 0.0, 0.0
    if facts.translates:
        typical, slow = median(facts.updates_ms), facts.quantile(0.95)
        sentence = (
            f"An update of captions takes {typical:.0f} ms at the median, {slow:.0f} ms at the 95th "
            f"percentile; recognising a second of speech takes {facts.real_time_factor:.2f} s"
        )
    if languages > 1:
        known = f"{facts.languages} language{'' if facts.languages == 1 else 's'}"
        sentence = f"{sentence}; the time is enough for {known} at once, and {languages} are wanted"
    if facts.others >= _DISTURBED:
        sentence = f"{sentence} (while other programs used {facts.others:.0%} of the processor)"
    remedy = f"{'choose a smaller model with --model, or ' if facts.translates else ''}give it more cores"
    if facts.others >= _DISTURBED:
        remedy = "end the other programs, and measure again"
    if facts.real_time_factor >= 1 or typical >= _BEHIND_MS:
        return Finding.problem(f"{sentence}: captions fall behind speech", remedy)
    busy = facts.busy(languages)
    if busy >= 1 or slow >= FLOWS_MS:
        return Finding.warning(f"{sentence}: captions come in larger steps", remedy)
    if busy >= _RESERVE:
        return Finding.warning(
            f"{sentence}: captions keep up, with little in reserve ({busy:.0%} busy)",
            "close other programs while you caption",
        )
    return Finding.ok(f"{sentence}: captions keep up with speech ({busy:.0%} busy)")
