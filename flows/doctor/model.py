"""The language model: whether it can be loaded and knows the languages, and how fast captions are with it."""

from statistics import median
from typing import Self

import msgspec

from connectors.models.catalog import FLOWS_MS
from connectors.models.firefox import OFFLINE_VARIABLE
from flows.doctor.child import in_child
from flows.doctor.finding import Finding, advised, from_error
from flows.settings.translate import TranslateSettings

# No check uses the network: a model of the hub is used only if it was fetched before.
_OFFLINE = {"HF_HUB_OFFLINE": "1", OFFLINE_VARIABLE: "1"}


class ModelFacts(msgspec.Struct, frozen=True):
    """A language model."""

    #: Why it cannot be used; None if it can.
    error: str | None = None
    #: Which named model to take instead, as a phrase.
    advice: str = ""
    #: Whether it is one of the hub that was not fetched yet.
    is_absent: bool = False
    path: str = ""
    #: Its own name and architecture, from its header.
    name: str = ""
    architecture: str = ""
    mb: float = 0.0
    #: The direction of a better model that a run downloads; empty if there is none, or it is this one.
    better: str = ""
    #: Whether it was trained for captions.
    is_for_captions: bool = False
    #: Whether tokens of a draft can be kept when the source grows.
    can_keep: bool = True
    direction: str = ""

    @classmethod
    def look(cls, settings: TranslateSettings, limit_s: float) -> Self:
        """Load the model in a child process, without the network."""
        return in_child(
            cls, "measure.load", settings.model, settings.source, settings.target, limit_s=limit_s,
            failed="the process that loaded the model {}; choose another one with --model",
            late="loading the model {}; choose a smaller one with --model",
            environment=_OFFLINE,
        )  # fmt: skip

    def judge(self) -> list[Finding]:
        """Whether the model can translate captions."""
        if self.is_absent:
            return [
                Finding.warning(
                    f"{self.name} was not fetched yet",
                    "start a run with it: that downloads it once",
                )
            ]
        if self.error is not None:
            return [from_error(self.error, is_problem=True), *advised(self.advice)]
        sentence = f"{self.name or self.path} ({self.architecture}, {self.mb:,.0f} MB) can be loaded"
        if not self.can_keep:
            sentence += "; its memory cannot shift, so each update evaluates the whole draft"
        better = [
            Finding.ok(f"a run with a network downloads Firefox's model for {self.better} once, and takes it")
        ] * bool(self.better)
        if self.is_for_captions:
            return [Finding.ok(f"{sentence}; it was trained for captions, {self.direction}"), *better]
        return [Finding.ok(f"{sentence}; it translates {self.direction}"), *better]


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

    @classmethod
    def look(cls, settings: TranslateSettings, limit_s: float) -> Self:
        """Measure in a child process, which is killed when the time is over."""
        return in_child(
            cls, "measure.measure", settings.model, settings.source, settings.target, limit_s=limit_s,
            failed="the measured run {}; start it again with surtitle doctor",
            late="the measured run {}; choose a smaller model with --model",
            environment=_OFFLINE,
        )  # fmt: skip

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

    def judge(self, languages: int = 1) -> list[Finding]:
        """Whether captions keep up with speech, in so many languages at the same time."""
        if self.error is not None:
            return [from_error(self.error, is_problem=True)]
        if self.translates and not self.updates_ms:
            return [Finding.warning("Nothing was recognised in the recording", "install surtitle again")]
        return [self._speed(languages), *advised(self.advice)]

    def _speed(self, languages: int) -> Finding:
        sentence, typical, slow = (
            f"A second of speech is recognised in {self.real_time_factor:.2f} s",
            0.0,
            0.0,
        )
        if self.translates:
            typical, slow = median(self.updates_ms), self.quantile(0.95)
            sentence = (
                f"An update of captions takes {typical:.0f} ms at the median, {slow:.0f} ms at the 95th "
                f"percentile; recognising a second of speech takes {self.real_time_factor:.2f} s"
            )
        if languages > 1:
            known = f"{self.languages} language{'' if self.languages == 1 else 's'}"
            sentence = f"{sentence}; the time is enough for {known} at once, and {languages} are wanted"
        if self.others >= _DISTURBED:
            sentence = f"{sentence} (while other programs used {self.others:.0%} of the processor)"
        remedy = f"{'choose a smaller model with --model, or ' if self.translates else ''}give it more cores"
        if self.others >= _DISTURBED:
            remedy = "end the other programs, and measure again"
        if self.real_time_factor >= 1 or typical >= _BEHIND_MS:
            return Finding.problem(f"{sentence}: captions fall behind speech", remedy)
        busy = self.busy(languages)
        if busy >= 1 or slow >= FLOWS_MS:
            return Finding.warning(f"{sentence}: captions come in larger steps", remedy)
        if busy >= _RESERVE:
            return Finding.warning(
                f"{sentence}: captions keep up, with little in reserve ({busy:.0%} busy)",
                "close other programs while you caption",
            )
        return Finding.ok(f"{sentence}: captions keep up with speech ({busy:.0%} busy)")
