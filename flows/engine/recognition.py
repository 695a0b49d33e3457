"""Makes the recogniser that the settings name."""

from collections.abc import Set

from msgspec.structs import replace

from operators.errors import UsageError
from operators.extras import require_extra
from operators.recognizers.part import MAX_INTERVAL_S, RECOGNIZERS, Observe, RecognizerSettings, Spoken
from operators.recognizers.protocol import Recognizer, TakesWords


def check_recognizer(settings: RecognizerSettings, *, spoken: Spoken, is_live: bool) -> None:
    """Raise `SurtitleError` for an unusable engine, before a model is loaded.

    Args:
        spoken: The languages that may be spoken; none for any.
        is_live: Whether sound comes at the pace of speech.
    """
    part = RECOGNIZERS[settings.engine]
    require_extra(part.extra, f"the recogniser {part.name}")
    if len(spoken) != 1 and not part.finds_language:
        others = " or ".join(one.name for one in RECOGNIZERS.values() if one.finds_language)
        raise UsageError(
            f"{part.name} recognises one language, and --from names "
            f"{'several' if spoken else 'none'}: name one, or choose --recognizer {others}"
        )
    part.check(settings, spoken, is_live)


def finals_of(settings: RecognizerSettings) -> RecognizerSettings:
    """Settings for a run that needs only finals: as few windows as possible."""
    if not RECOGNIZERS[settings.engine].is_windowed:
        return settings
    return replace(settings, update_interval_s=MAX_INTERVAL_S)


def make_recognizer(
    settings: RecognizerSettings, *, spoken: Spoken, observe: Observe, words: Set[str] = frozenset()
) -> Recognizer:
    """A recogniser for one stream.

    Args:
        spoken: The languages that may be spoken; none for any.
        observe: Called with the recogniser's events, on any thread.
        words: Words that get a bias, if the recogniser supports that.
    """
    made = RECOGNIZERS[settings.engine].make(settings, spoken, observe)
    if words and isinstance(made, TakesWords):
        made.expect(words)
    return made
