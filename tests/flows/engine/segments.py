"""Segments that grow and are revised, as a translator gets them: several in turn, each ends with a final."""

from collections.abc import Mapping, Sequence

from operators.decoding.translator import Output, SegmentState, SegmentTranslator

TEXTS = {
    "a": ["the", "the weather", "the weather in", "the whether in the", "the weather in the hills is fine"],
    "b": ["good", "good day", "good day to", "good day two you", "good day to you all"],
    "c": ["we met", "we meet on", "we meet on Monday", "we meet on Monday at noon"],
}


def outputs(
    translator: SegmentTranslator, texts: Mapping[str, Sequence[str]] = TEXTS
) -> dict[str, list[Output]]:
    """The output of each update; no update may be lost."""
    states = {key: SegmentState() for key in texts}
    made: dict[str, list[Output]] = {key: [] for key in texts}
    for number in range(max(map(len, texts.values()))):
        for key, own in texts.items():
            if number < len(own):
                is_final = number == len(own) - 1
                name = f"{key}/000000"
                states[key], output = translator.update(name, states[key], own[number], is_final=is_final)
                assert output.trouble is None or not output.trouble.is_loss, output.why
                made[key].append(output)
    for key, state in states.items():
        translator.release(f"{key}/000000", state)
    return made


def pieces_of(translator: SegmentTranslator) -> dict[str, list[tuple[str, ...]]]:
    """The pieces of each update."""
    return {key: [output.pieces for output in made] for key, made in outputs(translator).items()}
