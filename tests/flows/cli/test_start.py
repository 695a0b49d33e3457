"""Quick commands load no more than they need, so that they are quick on every machine."""

import subprocess
import sys

import pytest

from tests.program import ROOT

PROGRAM = """
import atexit, os, sys
atexit.register(lambda: print(*sys.modules, file=open("/dev/stdout", "w")))
from flows.main import main
main()
"""
#: What takes long to import, by itself or because of what it is made of.
HEAVY = {
    "bytewax", "flows.captions", "flows.settings.schema", "google.protobuf", "huggingface_hub", "jinja2",
    "llama_cpp", "numpy", "onnx", "onnxruntime", "prometheus_client", "sacrebleu", "sounddevice",
    "soundfile", "starlette",
}  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [[], ["--help"], ["--version"], ["live", "--help"], ["subtitle", "--help"], ["file", "--lagn", "de"]],
    ids=" ".join,
)
def test_quick_commands_load_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "flows.cli.app" in loaded
    assert not loaded & HEAVY
