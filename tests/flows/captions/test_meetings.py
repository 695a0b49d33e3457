"""A meeting in several languages: every reader follows it in one, whatever is spoken."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from connectors.models.firefox import is_firefox_here
from flows.engine.choice import with_expected
from flows.settings.loading import load_settings
from operators.errors import UsageError
from operators.events import Caption, Partial
from operators.languages import Direction
from tests import recovering
from tests.connectors.web.browser import follow
from tests.flows.serving import running
from tests.killing import settings, speech
from tests.program import SURTITLE, surtitle

SAID = [
    ("en", "Good morning, and thank you for coming today."),
    ("pt", "Obrigado pelo convite e pela sua paciência."),
    ("pt", "O orçamento do próximo ano ainda não foi aprovado."),
    ("en", "Then let us begin with the budget."),
    ("es", "Yo prefiero hablar en mi propia lengua."),
]


def meeting(path: Path, said: list[tuple[str, str]] = SAID) -> Path:
    """A recogniser's partials of the sentences, which grow by two words at each update."""
    partials, at_s = [], 0.0
    for segment, (spoken, text) in enumerate(said):
        words, start_s = text.split(), at_s
        lengths = [*range(2, len(words), 2), len(words)]
        for revision, length in enumerate(lengths):
            at_s = start_s + 0.1 * length
            partials.append(
                Partial(
                    stream="meeting", segment=segment, revision=revision, is_final=length == len(words),
                    text=" ".join(words[:length]), start_s=start_s, end_s=at_s, arrival_s=at_s + 0.1,
                    spoken=spoken,
                )
            )  # fmt: skip
        at_s += 0.2
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in partials))
    return path


def captions_in(path: Path) -> list[Caption]:
    return [msgspec.json.decode(line, type=Caption) for line in path.read_bytes().splitlines()]


def test_each_channel_has_every_sentence_in_its_language_in_the_order_of_speech(tmp_path: Path) -> None:
    done = surtitle(
        "replay", meeting(tmp_path / "m.jsonl"), "--from", "English,Portuguese", "--to", "English,Portuguese",
        "--captions", tmp_path / "c.jsonl", "--txt", tmp_path / "m.txt", "--srt", tmp_path / "m.srt",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    english, portuguese = ((tmp_path / f"m.{code}.txt").read_text().splitlines() for code in ("en", "pt"))
    assert [english[0], english[3]] == [SAID[0][1], SAID[3][1]]
    assert [portuguese[1], portuguese[2]] == [SAID[1][1], SAID[2][1]]
    assert "budget" in english[2], "translated from Portuguese"
    assert "orçamento" in portuguese[3], "translated from English"
    # Nobody expected Spanish: it stays what it is, and says so.
    assert english[4] == portuguese[4] == f"[español] {SAID[4][1]}"
    assert done.stderr.count("Spanish is spoken, and is shown without translation; to translate it") == 1
    for code in ("en", "pt"):
        captions = captions_in(tmp_path / f"c.{code}.jsonl")
        assert {one.language for one in captions} == {code}
        order = [one.segment for one in captions]
        assert order == sorted(order)
        spoken = [next(each)[1] for _, each in groupby((one.segment, one.spoken) for one in captions)]
        assert spoken == [one for one, _ in SAID]
        said = (tmp_path / f"m.{code}.srt").read_text()
        assert said.count("-->") >= len(SAID)


def test_readers_see_one_language_and_what_was_spoken(tmp_path: Path) -> None:
    said = SAID[:4]
    given = ("--from", "English,Portuguese", "--to", "English,Portuguese", "--web", "--port", 0)
    with running(SURTITLE, "replay", meeting(tmp_path / "m.jsonl", said), *given) as run:
        for language, own, other in (("en", "en", "pt"), ("pt", "pt", "en")):
            with follow(run.port, stream="meeting", language=language) as viewer:
                page = viewer.until_over()
            segments = sorted(page.segments.values(), key=lambda one: one["segment"])
            assert [one["spoken"] for one in segments] == [spoken for spoken, _ in said]
            for segment, (spoken, text) in zip(segments, said, strict=True):
                if spoken == own:
                    assert (segment["text"], segment["source"]) == (text, "")
                elif spoken == other:
                    assert segment["text"] != text
                    assert segment["source"] == text
        run.wait_until_it_stays()
        run.interrupt()


def spoken_in_turns(path: Path, languages: list[str]) -> Path:
    """Sentences of a toy talk, each in the next of the languages."""
    speech(path, 12)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for one in lines:
        one |= {"spoken": languages[one["segment"] % len(languages)], "is_sentence": True}
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def _shown(path: Path) -> dict[tuple[int, int], Any]:
    return {(one.segment, one.revision): (one.shown, one.withheld) for one in captions_in(path)}


@pytest.mark.parametrize("together", ["German,French", "German,French,Italian"])
def test_a_direction_keeps_its_drafts_while_others_are_spoken_between(tmp_path: Path, together: str) -> None:
    codes = {"German": "de", "French": "fr", "Italian": "it"}
    named = together.split(",")
    talk = spoken_in_turns(tmp_path / "talk.jsonl", [codes[one] for one in named])
    recovering.ToyResources.step_s = 0.0

    def run(name: str, given: Path, spoken: str, to: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        file = settings(folder, f'partials = "{given}"', recovery=False, to=to)
        file.write_text(file.read_text().replace("[translate]\n", f'[translate]\nfrom = "{spoken}"\n'))
        recovering.main(file)
        return folder

    meeting = run("together", talk, together, together)
    for to in named:
        whole = _shown(meeting / f"captions.{codes[to]}.jsonl")
        for spoken in named:
            lines = [
                one for one in talk.read_text().splitlines() if json.loads(one)["spoken"] == codes[spoken]
            ]
            own = tmp_path / f"{spoken}-{to}.jsonl"
            own.write_text("\n".join(lines) + "\n")
            alone = _shown(run(f"{spoken}-{to}", own, spoken, to) / "captions.jsonl")
            assert {key: whole[key] for key in alone} == alone, f"{spoken} to {to}"
        assert len(whole) == len(talk.read_text().splitlines())


def test_the_first_direction_that_is_translated_is_the_usual_one() -> None:
    translate = load_settings(
        None, {"translate": {"from": "English,Portuguese", "to": "English,Portuguese"}}, takes_several=True
    ).translate
    assert translate.direction == Direction.of("en", "pt")
    assert [str(one) for one in translate.by_model(translate.directions)] == [
        "English to Portuguese", "Portuguese to English",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spoken", "sentence"),
    [
        ("English,en", "translate.from: English is named twice; name each language once"),
        ("English,Klingonish", "translate.from: 'Klingonish' is not a language that surtitle knows"),
        (",", "translate.from: '' is not a language that surtitle knows"),
    ],
)
def test_wrong_spoken_languages_are_refused(spoken: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        load_settings(None, {"translate": {"from": spoken, "to": "German"}})


def test_auto_expects_the_languages_that_can_be_translated_here() -> None:
    given = load_settings(None, {"translate": {"from": "auto", "to": "English"}}).translate
    assert given.spoken == (), "nothing is known of this machine yet"
    expected = with_expected(given)
    assert {one.code for one in expected.spoken} >= {"en", "pt"}
    assert all(is_firefox_here(one) for one in expected.directions if one.translates)
    named = load_settings(None, {"translate": {"from": "auto,German,French", "to": "English"}}).translate
    assert with_expected(named) == named
    assert [one.code for one in named.spoken] == ["de", "fr"]
