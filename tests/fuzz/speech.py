"""Segments that become sentences: what a recogniser wrote, or somebody in its place."""

from pathlib import Path

from operators.decoding.adjustment import lacks_end
from operators.events import Partial
from operators.languages import language
from operators.sentences.joining import Sentences, SentencesState
from operators.sentences.numbers import digits
from tests.fuzz.correct import Subject


def check_sentences(data: bytes, folder: Path) -> None:  # noqa: ARG001 - no file is read
    """Each line is a segment; all become sentences, which have one final each and numbers that stay."""
    code, *lines = data.decode("utf-8", "replace").split("\n")
    spoken = language(code if code in ("de", "ja") else "en")
    sentences = Sentences(SentencesState("talk"), spoken, spell=lambda text: digits(text, spoken))
    heard: list[Partial] = []
    for number, line in enumerate(lines):
        for revision, is_final in enumerate((False, True)):
            heard += sentences.hear(
                Partial(
                    stream="talk", segment=number, revision=revision, is_final=is_final,
                    text=line if is_final else line[: len(line) // 2],
                    start_s=number, end_s=number + 0.9, arrival_s=number + 1.0,
                )
            )  # fmt: skip
    finals = [one for one in heard + sentences.end() if one.is_final]
    assert len({one.segment for one in finals}) == len(finals)
    assert not sentences.state.open
    for one in finals:
        assert digits(one.text, spoken) == one.text
        assert not lacks_end(one.text + ".", one.text)


_SAID = ".... a The which one twenty five hundred point oh to past half at -foot I'm Mr. ß"
SENTENCES = Subject(
    check_sentences,
    (
        b"en\nThe book of the.\nAnd in fourteen, fifty five\nhalf past nine, or",
        "de\nIch weiß das,\nDas ist „gut“.".encode(),
        "ja\n昨日は、\n雨でした。".encode(),
    ),
    tuple(part.encode() for part in (*" \n.,!?-\"'”»)。、1\u0301", *_SAID.split())),
    {
        "full stops before a letter": b"en\n" + b"." * 20_000 + b"a",
        "spaces before a letter": b"en\n" + b" " * 20_000 + b"a",
        "full stops between brackets": b"en\n" + b".)" * 10_000 + b"a",
        "one letter and full stops": b"en\na" + b"." * 20_000,
        "letters": b"en\n" + b"a" * 20_000,
    },
)
