"""A chat model corrects the captions of speech in its own language, from end to end; here one of noise."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.flows.talk import partials, read, write
from tests.operators.prompts.test_chat import CHATML
from tests.program import surtitle
from tests.tiny_gguf import CONTROL, byte_pairs, write_model

TALK = (("As not", "As not what", "As not what your country.", "As not what your country."), ("The end.",))
CORRECT = ("--from", "English", "--to", "English", "--set", "translate.template=correct")
#: Every draft stands, so what is drafted is what is shown first.
CREDULOUS = ("--set", "translate.bias=1", "--set", "translate.final_bias=1")


@pytest.fixture
def model(tmp_path: Path) -> tuple[str, Path]:
    write(tmp_path / "partials.jsonl", partials(TALK, is_sentence=True))
    chatting = byte_pairs({"<|im_start|>": CONTROL, "<|im_end|>": CONTROL})
    template = CHATML + "{% endif %}"
    return "--model", write_model(tmp_path / "tiny.gguf", chatting, tokenizer_chat_template=template)


def replayed(folder: Path, *more: object) -> list[dict[str, Any]]:
    done = surtitle("replay", folder / "partials.jsonl", *more, "--captions", folder / "captions.jsonl")
    assert done.returncode == 0, done.stderr
    return [one for one in read(folder / "captions.jsonl") if one["is_final"] or one["source"]]


def test_captions_are_what_the_model_makes_of_the_transcript_with_the_transcript_as_draft(
    tmp_path: Path, model: tuple[str, Path]
) -> None:
    captions = replayed(tmp_path, *CORRECT, *model, *CREDULOUS)
    assert [one["is_final"] for one in captions] == [False, False, False, True, True]
    for one in captions:
        # A token is a byte; a closing mark of unfinished speech is no draft.
        said = one["source"] if one["is_final"] else one["source"].rstrip(".")
        assert one["shown"].startswith("As not" if one["segment"] == 0 else "The end.")
        assert one["shown"] != one["source"]
        assert one["effort"]["drafted"] == len(f" {said}")
        assert one["is_final"] or one["mask_k"] == 3


def test_without_the_template_captions_in_the_spoken_language_are_the_transcript(
    tmp_path: Path, model: tuple[str, Path]
) -> None:
    captions = replayed(tmp_path, *CORRECT[:4], *model)
    assert all(one["shown"] == one["source"] for one in captions if one["is_final"])
    assert captions[0]["mask_k"] == 1


def test_a_benchmark_counts_word_errors_of_the_corrected_and_of_the_recognised_text(
    tmp_path: Path, model: tuple[str, Path]
) -> None:
    (tmp_path / "heard.txt").write_text("As not what your country.\nThe end.\n")
    (tmp_path / "said.txt").write_text("Ask not what your country\nthe end\n")
    done = surtitle(
        "bench", tmp_path / "heard.txt", "--lag", 9, *CORRECT[:4], *model, *CREDULOUS, *CORRECT[4:],
        "--reference", tmp_path / "said.txt", "--vary", "draft_source=true,false", "--vary", "method=ssbd",
        "--repeat", 1, "--json", tmp_path / "bench.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"]
    _, drafted, plain = (row["metrics"] for row in rows)
    assert drafted["wer_of_source"] == plain["wer_of_source"] == pytest.approx(100 / 7)
    assert drafted["wer"] > drafted["wer_of_source"]
    # There is but one update of each line: only the source can be its draft.
    assert (drafted["accepted_over_drafted"], plain["accepted_over_drafted"]) == (1.0, None)
    assert "of the recogniser" in done.stdout


def test_another_language_is_refused(tmp_path: Path, model: tuple[str, Path]) -> None:
    done = surtitle("replay", tmp_path / "partials.jsonl", *CORRECT, "--to", "German", *model)
    assert done.returncode == 2
    assert "corrects speech and does not translate it: choose --to English" in done.stderr
