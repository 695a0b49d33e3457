"""Encoder-decoder models through the whole product: every method, rooms, and the commands."""

import json
from pathlib import Path

import msgspec
import pytest

from connectors.models.firefox import firefox_folder
from flows.engine import marian
from flows.engine.translation import open_engine
from flows.settings.translate import TranslateSettings
from operators.errors import UsageError
from operators.languages import Direction
from operators.seq2seq.firefox import FirefoxModel
from tests.flows.engine.segments import pieces_of
from tests.program import surtitle
from tests.tiny_marian import write_tiny

PARTIALS = Path(__file__).parent.parent.parent / "samples" / "partials.jsonl"


def settings(folder: Path, **options: object) -> TranslateSettings:
    given = {"to": "German", "model": str(folder), "threads": 1, "bias": 0.0, "max_source": 24, **options}
    return msgspec.convert(given, TranslateSettings)


@pytest.mark.parametrize("is_causal", [True, False])
def test_every_method_gives_what_re_translation_gives(tmp_path: Path, is_causal: bool) -> None:
    folder = write_tiny(tmp_path, is_causal=is_causal)
    engine = open_engine(settings(folder))
    # Only then can tokens be kept when the source grows.
    assert (engine.pool.least_kept is not None) == is_causal
    want = pieces_of(engine.translator(settings(folder, method="retranslate")))
    assert len({pieces for made in want.values() for pieces in made}) > 4
    for method in ("ssbd", "recycle", "hybrid-jacobi"):
        assert pieces_of(engine.translator(settings(folder, method=method))) == want, method


def test_the_boundary_scorer_joins_segments_that_rules_alone_would_separate(tmp_path: Path) -> None:
    said = ["Printing in the only sense with which we are at present concerned.", "Differs from most arts."]
    heard = [
        {"event": "partial", "stream": "a", "segment": place, "revision": 0, "is_final": True, "text": text,
         "start_s": 4.0 * place, "end_s": 4.0 * place + 4.0, "arrival_s": 4.0 * place + 4.3}
        for place, text in enumerate(said)
    ]  # fmt: skip
    partials, sentences = tmp_path / "said.jsonl", tmp_path / "sentences.jsonl"
    partials.write_text("".join(f"{json.dumps(one)}\n" for one in heard))
    whole = ["Printing in the only sense with which we are at present concerned, differs from most arts."]
    for translated in (["--model", write_tiny(tmp_path / "tiny")], ["--captions-only"]):
        for method, want in (("auto", whole), ("rules", said)):
            done = surtitle(
                "replay", partials, "--set", "translate.keep_up=false", *translated,
                "--set", f"sentences.method={method}",
                "--set", f"output.sentences={sentences}",
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            events = [json.loads(line) for line in sentences.read_text().splitlines()]
            assert [one["text"] for one in events if one["is_final"]] == want


def test_methods_are_compared_on_it(tmp_path: Path) -> None:
    folder, rows = write_tiny(tmp_path / "tiny"), tmp_path / "rows.json"
    source = tmp_path / "texts.en"
    source.write_text("the weather in the hills is fine\n")
    done = surtitle("bench", source, "--to", "German", "--model", folder, "--repeat", 1, "--json", rows)
    assert done.returncode == 0, done.stderr
    model = json.loads(rows.read_text())["signature"]["model"]
    assert model["file"] == "tiny"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"max_source": 400}, "has 512: lower it"),
        ({"template": "chat"}, "leave out translate.template"),
        ({"draft_model": "base"}, "leave out translate.draft_model"),
    ],
)
def test_what_such_a_model_cannot_do_is_refused(
    tmp_path: Path, options: dict[str, object], what: str
) -> None:
    with pytest.raises(UsageError, match=what):
        open_engine(settings(write_tiny(tmp_path), **options))


def test_a_model_that_is_loaded_is_not_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    into, back = (
        FirefoxModel(firefox_folder(Direction.of(*pair)), 1) for pair in (("en", "pt"), ("pt", "en"))
    )
    monkeypatch.setattr(marian, "packaged_firefox", lambda _direction: None)
    assert marian.open_boundary_scorer([object(), back]) is None, "no other encoder fits"
    assert marian.open_boundary_scorer([back, into]) is not None
