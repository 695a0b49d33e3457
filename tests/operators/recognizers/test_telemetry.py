"""Speech is recognised without a word to the makers of a library."""

import os
import subprocess
import sys
from pathlib import Path

from tests.program import ROOT

HEARD = (
    "from operators.recognizers.moonshine.recognizer import moonshine_recognizer; "
    "from tests.operators.recognizers.speaking import chunks, silence; "
    "moonshine_recognizer().accept(chunks(silence(0.1))[0])"
)


def test_the_runtime_of_speech_models_keeps_no_telemetry(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    homes = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", HEARD], cwd=ROOT, env={**kept, **homes}, check=True)
    assert not list(tmp_path.rglob("*"))
