"""OmniSTEval and simulstream, as they are published, read our export and come to our figures."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from operators.events import Caption
from operators.metrics.erasure import ErasureMeter
from operators.metrics.summary import SummaryMeter
from tests.flows.talk import REFERENCES, SHOWN, captions

SCORERS = Path(sys.prefix) / "scorers"

ZH_REFERENCES = ("各位早上好，欢迎来到博物馆。", "导览十点在大厅开始。")
ZH_SHOWN = (
    ("早上", "早上好，每", "各位早上好，欢迎", "各位早上好，欢迎来到我们博物馆。"),
    ("门", "导览开始", "导览十点在大厅里开始。"),
)


def program(folder: Path, module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(SCORERS)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def config(folder: Path, level: str) -> str:
    """The file that tells how tokens become text."""
    (folder / "config.yaml").write_text(f"detokenizer_type: simuleval\nlatency_unit: {level}\n")
    return "config.yaml"


def omnisteval(folder: Path, made: Sequence[Caption], level: str) -> dict[str, float]:
    """The scores of the real program for the export that lies in ``folder``."""
    finals = [one for one in made if one.is_final]
    (folder / "segments.json").write_text(
        json.dumps(
            [
                {"wav": f"{one.stream}.wav", "offset": one.start_s, "duration": one.end_s - one.start_s}
                for one in finals
            ]
        )
    )
    program(
        folder, "omnisteval.cli", "longform", f"--{level}_level",
        "--speech_segmentation", "segments.json", "--ref_sentences_file", "references",
        "--hypothesis_file", "export.jsonl", "--hypothesis_format", "simulstream",
        "--simulstream_config_file", config(folder, level), "--output_folder", "scores",
        "--bleu_tokenizer", "zh" if level == "char" else "13a",
    )  # fmt: skip
    lines = (folder / "scores" / "scores.tsv").read_text().splitlines()[1:]
    # Which segment a word belongs to is aligned anew; with these sentences there is no doubt.
    aligned = (folder / "scores" / "instances.resegmented.jsonl").read_text().splitlines()
    assert [json.loads(line)["prediction"] for line in aligned] == [one.shown for one in finals]
    return {name: float(value) for name, value in (line.split("\t") for line in lines)}


def report(folder: Path, made: Sequence[Caption], references: Sequence[str], to: str) -> dict[str, float]:
    """Our own scores, and the export beside them."""
    (folder / "captions.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(made))
    (folder / "references").write_text("".join(f"{line}\n" for line in references))
    arguments = [
        "report", folder / "captions.jsonl", "--to", to, "--reference", folder / "references",
        "--simulstream", folder / "export.jsonl", "--json", folder / "report.json",
    ]  # fmt: skip
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0
    total = json.loads((folder / "report.json").read_text())["total"]
    return {
        f"Long{name.upper()} ({clock})": 1000 * total[name][f"{key}_s"]
        for name in ("al", "laal")
        for clock, key in (("CU", "unaware"), ("CA", "aware"))
    }


@pytest.mark.parametrize(
    ("made", "references", "to", "level"),
    [
        (captions(step_s=0.8), REFERENCES, "German", "word"),
        (
            captions(stream="talk")
            + captions(SHOWN[::-1], stream="talk.2", step_s=1.25, model_s=2, draw_s=None),
            REFERENCES + REFERENCES[::-1],
            "German",
            "word",
        ),
        (captions(ZH_SHOWN), ZH_REFERENCES, "Chinese", "char"),
    ],
    ids=["one stream", "two streams", "characters"],
)
def test_omnisteval_comes_to_our_figures(
    tmp_path: Path, made: list[Caption], references: tuple[str, ...], to: str, level: str
) -> None:
    ours = report(tmp_path, made, references, to)
    theirs = omnisteval(tmp_path, made, level)
    assert {name: theirs[name] for name in ours} == pytest.approx(ours, abs=0.002)  # ms
    assert theirs["BLEU"] > 30


def test_simulstream_comes_to_our_erasure(tmp_path: Path) -> None:
    made = captions() + captions(SHOWN[::-1], stream="other")
    report(tmp_path, made, REFERENCES + REFERENCES[::-1], "German")
    printed = program(
        tmp_path, "simulstream.metrics.stats", "--latency-unit", "word", "--log-file", "export.jsonl",
        "--eval-config", config(tmp_path, "word"),
    )  # fmt: skip
    theirs = json.loads(printed.removeprefix("Stats: "))["normalized_erasure"]["value"]
    meters, ours = {one.stream: ErasureMeter("word") for one in made}, SummaryMeter()
    for one in made:
        ours.add(meters[one.stream].record(one))
    assert theirs == pytest.approx(ours.summary({}).ne_shown)
    assert theirs > 0.1
