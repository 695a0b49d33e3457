"""What cannot be measured is one sentence, with the exit code of its kind, before a model is loaded."""

import json
import sys
from pathlib import Path

import pytest

from flows.cli.app import main
from operators.recognizers.moonshine import bundled_model
from tests.program import ROOT

SAMPLES = ROOT / "tests" / "samples"
TEXT = "The door is open.\nThe tour begins at ten.\n"
FILES = {
    "text.txt": TEXT.encode(),
    "empty.txt": b"",
    "blank.txt": b"  \n",
    "latin.txt": "Tür\n".encode("latin-1"),
    "captions.jsonl": b'{"event":"caption"}\n',
    "talk.jsonl": (SAMPLES / "partials.jsonl").read_bytes(),
    "broken.jsonl": b"{}\n",
    "other.jsonl": json.dumps({"file": "x.wav", "text": "x"}).encode() + b"\n",
}

#: Each command line, with the exit code and a part of the sentence.
MISTAKES = [
    ("bench none.txt", 3, "none.txt"),
    ("bench empty.txt", 3, "empty.txt: there is nothing to translate"),
    ("bench text.txt --skip 9", 3, "--skip"),
    ("bench captions.jsonl", 3, "caption events cannot be benchmarked"),
    ("bench latin.txt", 3, "not UTF-8"),
    ("bench text.txt --reference blank.txt", 2, "1 references for 2 segments"),
    ("bench text.txt --vary bias=0.2,1.5", 2, "--vary bias: '1.5'"),
    ("bench text.txt --vary bias=,", 2, "--vary bias: there is no value"),
    ("bench text.txt --vary magic=1", 2, "there is no 'magic' to vary"),
    ("bench text.txt --vary mask_k=-1", 2, "--vary mask_k: '-1'"),
    ("bench text.txt --lag 0", 2, "--lag"),
    ("bench text.txt --comet model.ckpt", 2, "--reference"),
    ("bench text.txt --json no/folder/out.json", 4, "out.json"),
    ("bench text.txt text.txt", 2, "one text"),
    ("bench text.txt --speech-model x", 2, "--speech-model has no effect with --task text"),
    ("bench --task speech SPEECH --paper", 2, "--paper has no effect with --task speech"),
    ("bench --task speech nothing.wav", 3, "nothing.wav"),
    ("bench --task speech SPEECH --vary method=ssbd", 2, "choose from bias, certainty"),
    ("bench --task speech SPEECH --reference broken.jsonl", 3, "line 1"),
    ("bench --task speech SPEECH --reference other.jsonl", 3, "names none of the recordings"),
    ("bench --task speech SPEECH --speech-model nowhere", 2, "no folder and no model 'nowhere'"),
    ("bench --task speech SPEECH --recognizer vosk", 2, "'vosk' cannot be measured; choose auto or moonsh"),
    ("bench --task drafts x.txt", 2, "--set translate.draft_model"),
    ("bench --task drafts x.txt y.txt --set translate.draft_model=y.gguf", 2, "one text can be translated"),
    ("bench-speech SPEECH", 2, "there is no bench-speech any more; use `surtitle bench --task speech`"),
    ("loadgen captions.jsonl", 3, "caption events cannot be replayed in rooms"),
    ("loadgen talk.jsonl --rooms 1,many", 2, "--rooms: give numbers from 1 to 1000"),
    ("loadgen SPEECH --server http://[::1/", 2, "is no address; give one such as http://127.0.0.1:8080/"),
]


@pytest.mark.parametrize(("command", "code", "words"), MISTAKES, ids=[one[0] for one in MISTAKES])
def test_a_mistake_gets_one_clear_sentence_before_a_model_is_loaded(
    command: str,
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    speech = str(bundled_model().parent / "beckett.wav")
    spoken = (
        ["--to", "German"] if command.startswith(("bench ", "loadgen")) and "--task" not in command else []
    )
    monkeypatch.setattr(sys, "argv", ["surtitle", *command.replace("SPEECH", speech).split(), *spoken])
    with pytest.raises(SystemExit) as end:
        main()
    stderr = capsys.readouterr().err
    assert end.value.code == code, stderr
    assert words in stderr
    assert len(stderr.strip().splitlines()) == 1
    assert (tmp_path / "text.txt").read_text() == TEXT
    assert not (tmp_path / "cache").exists()
