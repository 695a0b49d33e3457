"""A talk with captions in several languages: in each it goes as if it were the only one."""

import json
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tried
from hypothesis import strategies as st

from connectors.models.catalog import has_captions
from flows.captions.files import check_files
from flows.engine.translation import to_direction
from flows.settings.loading import load_settings
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.events import Partial, channel_of, parted
from operators.languages import Direction
from tests import recovering
from tests.killing import TIMES, settings, speech
from tests.operators.serving.toys import talks
from tests.program import surtitle

LANGUAGES = {"de": "German", "fr": "French"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """Runs the flow on toy models with captions in these languages, and gives the folder with its files."""
    recovering.ToyResources.step_s = 0.0

    def run(to: str, partials: Path) -> Path:
        folder = tmp_path_factory.mktemp("run")
        recovering.main(settings(folder, f'partials = "{partials}"', recovery=False, to=to))
        return folder

    return run


def written(path: Path) -> list[dict[str, Any]]:
    """The events of a file but for their language and what depends on the time that things took."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        {name: value for name, value in event.items() if name not in TIMES | {"language"}} for event in events
    ]


@given(talks())
@tried(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_captions_of_each_language_are_those_of_a_run_in_it_alone(
    run: Callable[[str, Path], Path], tmp_path: Path, talk: list[Partial]
) -> None:
    partials = tmp_path / "spoken.jsonl"
    partials.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in talk))
    together = run("German,French", partials)
    for code, language in LANGUAGES.items():
        alone = run(language, partials)
        for name in ("captions", "log", "translations"):
            several, one = (written(folder / file) for folder, file in (
                (together, f"{name}.{code}.jsonl"), (alone, f"{name}.jsonl"),
            ))  # fmt: skip
            # Which stream comes first is a matter of speed.
            assert sorted(several, key=_place) == sorted(one, key=_place)
        assert written(together / "sentences.jsonl") == written(alone / "sentences.jsonl")
        if len({one.stream for one in talk}) == 1:
            assert (together / f"talk.{code}.srt").read_text() == (alone / "talk.srt").read_text()


def _place(event: dict[str, Any]) -> tuple[str, int, int]:
    return event["stream"], event["segment"], event["revision"]


@pytest.mark.parametrize(
    ("to", "glossary", "sentence"),
    [
        ("German,de-AT", [], "to: German is named twice; name each language once"),
        ("German,French", ["terms.tsv"], "glossary: say whether terms.tsv is for German or French, such as"),
        ("German,French", ["it=a.tsv"], "glossary: a.tsv is for Italian, but captions are in German or Fr"),
        ("German,French", ["de=a", "German=b"], "glossary: a and b are for the same language; give one fi"),
    ],
)
def test_wrong_languages_and_terms_for_none_of_them_are_refused(
    to: str, glossary: list[str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=f"^translate.{re.escape(sentence)}"):
        load_settings(None, {"translate": {"to": to, "glossary": glossary}}, takes_several=True)


def test_each_language_has_the_terms_that_were_given_for_it(tmp_path: Path) -> None:
    path = tmp_path / "surtitle.toml"
    path.write_text(
        '[translate]\nto = "German,French,Japanese"\nglossary = ["French=termes.tsv", "de=terms.tsv"]\n'
    )
    translate = load_settings(path, takes_several=True).translate
    each = [to_direction(translate, one) for one in translate.directions]
    assert [one.terms for one in each] == ["terms.tsv", "termes.tsv", None]


def test_a_replay_uses_the_events_in_its_language_and_reports_the_number_of_others(
    run: Callable[[str, Path], Path], tmp_path: Path
) -> None:
    speech(tmp_path / "speech.jsonl", 3)
    made = run("German,French", tmp_path / "speech.jsonl")
    own, other = ((made / f"captions.{code}.jsonl").read_text() for code in ("fr", "de"))
    lines = zip(other.splitlines(keepends=True), own.splitlines(keepends=True), strict=True)
    (tmp_path / "both.jsonl").write_text("".join(chain(*lines)))
    done = surtitle(
        "replay", tmp_path / "both.jsonl", "--to", "French", "--captions", tmp_path / "own.jsonl"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert written(tmp_path / "own.jsonl") == written(made / "captions.fr.jsonl")
    assert f"events left out: {len(other.splitlines())} in German; --to names" in done.stderr


def of(**output: str | list[str]) -> Settings:
    return load_settings(None, {"translate": {"to": "German,zh-Hant"}, "output": output}, takes_several=True)


def test_only_files_of_captions_are_of_a_language_and_are_named_after_it() -> None:
    srt = ["a/talk.srt", "source=a/said=1.srt"]
    wanted = of(srt=srt, captions="talk", partials="said.jsonl", sentences="sentences.jsonl")
    assert {str(path) for _, path in wanted.files()} == {
        "a/talk.de.srt", "a/talk.zh-Hant.srt", "talk.de", "talk.zh-Hant", "said.jsonl", "sentences.jsonl",
        "a/said=1.srt",
    }  # fmt: skip


def test_standard_output_is_for_one_language() -> None:
    with pytest.raises(UsageError, match=r"^output\.srt: /dev/stdout cannot take several languages; name a"):
        check_files(of(srt="/dev/stdout"))


def test_an_option_replaces_all_languages_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "surtitle.toml"
    file.write_text('[translate]\nto = ["German", "French"]\n')
    for to, codes in ((None, ["de", "fr"]), ("Spanish", ["es"]), ("Spanish,Dutch", ["es", "nl"])):
        loaded = load_settings(file, {"translate": {"to": to}}, takes_several=True)
        assert [one.target.code for one in loaded.translate.directions] == codes


@given(st.text(max_size=10), st.sampled_from(["", "de", "zh-Hant"]))
def test_a_channel_has_its_stream_and_its_language(stream: str, code: str) -> None:
    assert parted(channel_of(stream.replace("\x1f", ""), code)) == (stream.replace("\x1f", ""), code)


@pytest.mark.skipif(
    not all(has_captions(Direction.of("en", code)) for code in ("de", "fr")),
    reason="the models for captions are not here",
)
def test_the_command_writes_captions_of_two_real_models_and_of_the_speech(tmp_path: Path) -> None:
    spoken = {
        "stream": "talk", "segment": 0, "revision": 0, "text": "The library opens at nine.", "is_final": True,
        "start_s": 0.0, "end_s": 2.0, "arrival_s": 2.1,
    }  # fmt: skip
    (tmp_path / "spoken.jsonl").write_text(json.dumps(spoken) + "\n")
    texts, captions = tmp_path / "talk.txt", tmp_path / "talk.jsonl"
    done = surtitle(
        "replay", tmp_path / "spoken.jsonl", "--to", "German,French,English", "--set", "translate.threads=2",
        "--txt", texts, "--captions", captions,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = {code: (tmp_path / f"talk.{code}.txt").read_text() for code in ("de", "fr", "en")}
    assert said["en"] == "The library opens at nine.\n"
    assert "Bibliothek" in said["de"]
    assert "bibliothèque" in said["fr"]
    assert [written(tmp_path / f"talk.{code}.jsonl")[-1]["source"] for code in said] == [spoken["text"]] * 3
    assert "en: The library opens at nine.\n" in done.stdout
    assert not texts.exists()
