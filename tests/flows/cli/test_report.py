"""``surtitle report``: its figures for captions and for an erasure log, and its errors."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from operators.errors import InputError, SurtitleError, UsageError
from operators.events import Caption
from operators.metrics.erasure import ErasureMeter
from tests.flows.talk import REFERENCES, captions, write


def log(path: Path, made: Sequence[Caption]) -> Path:
    meter = ErasureMeter("13a")
    return write(path, [meter.record(one) for one in made])


def report(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def figures(path: Path, *arguments: object) -> Any:
    report(path, "--json", path.with_suffix(".json"), *arguments)
    return json.loads(path.with_suffix(".json").read_text())


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return write(tmp_path / "captions.jsonl", captions())


def test_a_file_of_captions_has_all_figures(talk: Path) -> None:
    printed = report(talk)
    for word in ("NE raw", "AL CA", "LAAL", "lag: mean", "recogniser", "display", "tok:word", "tok:13a"):
        assert word in printed
    assert "Worst segments" in printed
    assert "Guten Morgen" in printed
    total = figures(talk)["total"]
    assert (total["segments"], total["updates"], total["unfinished"]) == (4, 15, 0)
    assert total["latency_parts_ms"]["model"]["p50"] == pytest.approx(300)
    assert total["lag"]["mean_s"] > total["lag_first"]["mean_s"] > 0


def test_a_log_and_its_captions_agree_on_the_figures_of_both(tmp_path: Path, talk: Path) -> None:
    of_log, of_captions = figures(log(tmp_path / "log.jsonl", captions())), figures(talk)
    for name in ("segments", "updates", "overtaken", "ne_raw", "ne_shown", "latency_parts_ms"):
        assert of_log["total"][name] == of_captions["total"][name]
    assert of_log["total"]["lag"] is None
    printed = report(tmp_path / "log.jsonl")
    assert "An erasure log has no text" in printed
    assert "LAAL CA" not in printed
    # The mask is that of the captions, wherever they are measured.
    assert all("tok:13a|aggr:pooled|mask:3|" in one["signature"] for one in (of_log, of_captions))


def test_each_stream_has_a_row_and_all_of_them_one(tmp_path: Path) -> None:
    made = captions() + captions(stream="slow", model_s=2.0)
    told = figures(write(tmp_path / "captions.jsonl", made))
    quick, slow = told["streams"]
    assert [quick["stream"], slow["stream"]] == ["talk", "slow"]
    assert slow["al"]["aware_s"] > quick["al"]["aware_s"]
    assert slow["al"]["unaware_s"] == quick["al"]["unaware_s"]
    assert quick["lag"]["mean_s"] < told["total"]["lag"]["mean_s"] < slow["lag"]["mean_s"]
    assert "\nall " in report(tmp_path / "captions.jsonl")


def test_a_reference_changes_the_length_that_lagging_is_counted_by(tmp_path: Path, talk: Path) -> None:
    (tmp_path / "references").write_text("".join(f"{line} noch viel mehr\n" for line in REFERENCES))
    alone, with_reference = figures(talk), figures(talk, "--reference", tmp_path / "references")
    assert with_reference["total"]["al"]["unaware_s"] > alone["total"]["al"]["unaware_s"]
    assert "ref:hypothesis" in alone["signature"]
    assert "ref:reference" in with_reference["signature"]


def test_chinese_is_counted_by_characters(tmp_path: Path) -> None:
    made = [msgspec.structs.replace(one, language="zh") for one in captions([["各位", "各位早上好"]])]
    path = write(tmp_path / "zh.jsonl", made)
    assert "tok:word" in figures(path, "--to", "German")["signature"]
    told = figures(path)
    assert "tok:char" in told["signature"]
    lag = told["total"]["lag"]["mean_s"]
    # Two characters after 0.75 s, three after 1.5 s, of five in 1.5 s; shown 0.45 s later.
    assert lag == pytest.approx((2 * 0.75 + 3 * 1.5) / 5 - 2 * 0.3 + 0.45)


def test_languages_that_are_counted_in_different_tokens_are_refused(tmp_path: Path) -> None:
    made = [
        msgspec.structs.replace(one, stream=stream, language=code)
        for stream, code in (("a", "de"), ("b", "fr"), ("c", "ja"))
        for one in captions()
        if one.stream == captions()[0].stream
    ]
    mixed = write(tmp_path / "mixed.jsonl", made)
    with pytest.raises(InputError, match=r"German and Japanese, which are not counted together"):
        report(mixed)
    report(write(tmp_path / "alike.jsonl", [one for one in made if one.language != "ja"]))
    with pytest.raises(InputError, match="German and French"):
        report(write(tmp_path / "one.jsonl", [msgspec.structs.replace(one, stream="a") for one in made]))


def test_a_segment_without_a_final_is_counted_separately(tmp_path: Path) -> None:
    total = figures(write(tmp_path / "captions.jsonl", captions()[:-1]))["total"]
    assert (total["segments"], total["unfinished"], total["updates"]) == (3, 1, 14)


def test_captions_that_never_showed_anything_have_no_lag(tmp_path: Path) -> None:
    total = figures(write(tmp_path / "captions.jsonl", captions([["", ""]])))["total"]
    assert (total["segments"], total["lag"], total["al"]["aware_s"]) == (1, None, None)


def test_control_sequences_in_texts_are_not_sent_to_the_terminal(tmp_path: Path) -> None:
    made = captions([["[/red] \x1b[31mrot [bold]"]], stream="[/x]\x1b[2J")
    printed = report(write(tmp_path / "captions.jsonl", made))
    assert "\x1b" not in printed
    assert "[/red] rot [bold]" in printed


def refused(*arguments: object) -> SurtitleError:
    with pytest.raises(SurtitleError) as caught:
        report(*arguments)
    return caught.value


def test_a_report_that_is_impossible_is_refused_in_one_sentence(tmp_path: Path, talk: Path) -> None:
    erasures = log(tmp_path / "log.jsonl", captions())
    (tmp_path / "few").write_text("eins\n")
    partials = Path(__file__).parent.parent.parent / "samples" / "partials.jsonl"
    first, *others = captions()
    backwards = write(
        tmp_path / "back.jsonl", [msgspec.structs.replace(first, start_s=5.0, end_s=1.0), *others]
    )
    for error, kind, words in (
        (refused(partials), InputError, "do not show what a viewer saw"),
        (refused(tmp_path / "none"), InputError, "cannot be read"),
        (refused(erasures, "--simulstream", tmp_path / "x"), UsageError, "has no text for --simulstream"),
        (refused(talk, "--reference", tmp_path / "few"), InputError, "has 1 lines, but"),
        (refused(talk, "--tokenizer", "words"), UsageError, "there is no tokenizer 'words'"),
        (refused(backwards), InputError, "segment 0, revision 0: its speech ends at 1 s, before it begins"),
        (refused(talk, talk, talk), UsageError, "3 files were given"),
        (refused(talk, talk, "--json", tmp_path / "x"), UsageError, "--json can be used with one file only"),
    ):
        assert isinstance(error, kind)
        assert words in str(error)
        assert "\n" not in str(error)
    assert not (tmp_path / "x").exists()
