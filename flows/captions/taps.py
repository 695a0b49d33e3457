"""Where events leave the captions flow: files, topics, addresses, and subtitles."""

from typing import Any

from bytewax import operators as op
from bytewax.dataflow import Stream

from connectors.sinks.part import SinkPart, Step
from flows.captions.kafka import publish
from flows.captions.parts import Parts
from operators.events import Caption, Event, Partial, channel_of
from operators.languages import Language
from operators.stages.subtitle import subtitle
from operators.subtitles.writer import Shown


def tap(events: Stream[Any], step: Step, parts: Parts, cues_of: tuple[str, Shown] | None = None) -> None:
    """Write the events of a step, or the cues, to their files and topic.

    ``cues_of`` names the language and the content of cues, which have no fields for them.
    """
    for one, path in parts.settings.files():
        if step == "cues" == one.of and (one.language, _shown(one, parts)) == cues_of:
            op.output(f"save-{one.name}", events, one.make(path, watch=parts.outputs))
        elif step == one.of != "cues":
            own = _in_language(events, one.language, f"of-{one.name}")
            keyed = op.map(f"key-{one.name}", own, _with_key)
            shown = _shown(one, parts)
            more = ({"shown": shown} if one.shows else {}) | _naming(one, shown, parts)
            op.output(f"save-{one.name}", keyed, one.make(path, watch=parts.outputs, **more))
    for one, address in parts.settings.output.addresses():
        if one.of == step:
            written = parts.settings.translate.written
            code = written[0].code if written[1:] and one.in_one_language else ""
            keyed = op.map(f"key-{one.name}", _in_language(events, code, f"of-{one.name}"), _with_key)
            made = one.make(address, watch=parts.outputs, **_naming(one, "target", parts))
            op.output(f"save-{one.name}", keyed, made)
    publish(events, step, parts)


def subtitles(captions: Stream[Caption], unfinished: Stream[Partial] | None, parts: Parts) -> None:
    """One sequence of cues for each language and text."""
    kinds = dict.fromkeys(
        (one.language, _shown(one, parts)) for one, _path in parts.settings.files() if one.of == "cues"
    )
    for code, shown in kinds:
        # A resumed run finds its state under these names.
        is_usual = shown == parts.settings.output.subtitles or not _translates(parts, code)
        ending = (f"-{code}" if code else "") + ("" if is_usual else f"-{shown}")
        direction = parts.languages.direction(channel_of("", code))
        now = parts.given.now if parts.settings.is_live else None
        own = _in_language(captions, code, f"of-subtitle{ending}")
        # Updates without captions still give the times of a sentence's parts.
        heard = own if unfinished is None else op.merge(f"heard{ending}", unfinished, own)
        cues = subtitle(f"subtitle{ending}", heard, shown, direction, now)
        tap(cues, "cues", parts, (code, shown))


def _in_language(events: Stream[Any], code: str, step_id: str) -> Stream[Any]:
    """The events in one language; all of them without a code."""
    return op.filter(step_id, events, lambda one: one.language == code) if code else events


def _shown(one: SinkPart, parts: Parts) -> Shown:
    """Without a translation, source and target would be equal."""
    return (one.shown or parts.settings.output.subtitles) if _translates(parts, one.language) else "target"


def _naming(one: SinkPart, shown: Shown, parts: Parts) -> dict[str, Any]:
    """The argument of a sink that names the speaker, in the language of the text that it shows."""

    def language_of(caption: Caption) -> Language:
        direction = parts.languages.direction(caption.channel, caption.spoken or "")
        # With both texts, the name is in the line of the transcript, which comes first.
        return direction.target if shown == "target" else direction.source

    return {"language_of": language_of} if one.names else {}


def _translates(parts: Parts, code: str) -> bool:
    directions = parts.languages.directions
    return any(one.translates for one in directions if not code or one.target.code == code)


def _with_key(event: Event) -> tuple[str, Event]:
    return event.stream, event
