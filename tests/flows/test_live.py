"""Live captions from end to end: real models, and a virtual microphone that real speech is played into."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from threading import Thread

import numpy as np
import pytest
import soundfile

from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine import moonshine_recognizer
from tests.flows.talk import read
from tests.operators.recognizers.speaking import chunks
from tests.program import SURTITLE, Program
from tests.virtual_microphone import VirtualMicrophone
from tests.waiting import size, until, wait_for


@contextmanager
def live(
    microphone: VirtualMicrophone,
    *arguments: object,
    program: Sequence[object] = (SURTITLE,),
    stderr: int = PIPE,
) -> Iterator["subprocess.Popen[str]"]:
    """`surtitle live`, listening; it is killed if a test leaves it behind."""
    process = Program(
        [*map(str, program), "live", *map(str, arguments)], env=microphone.environment, text=True,
        stdin=subprocess.DEVNULL, stdout=PIPE, stderr=stderr,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def recognised(recording: Path) -> list[str]:
    samples, rate = soundfile.read(recording, dtype="int16")
    assert rate == SAMPLE_RATE
    recognizer = moonshine_recognizer()
    heard = [one for chunk in chunks(samples.tobytes()) for one in recognizer.accept(chunk)]
    heard += recognizer.finish()
    recognizer.close()
    return [one.text for one in heard if one.is_final]


def words(texts: list[str]) -> list[str]:
    return "".join(c for c in " ".join(texts).lower() if c.isalnum() or c == " ").split()


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory, speech: Path) -> Path:
    """Real speech, and two seconds of silence after it."""
    samples, rate = soundfile.read(speech, dtype="int16")
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    silence = np.zeros(2 * rate, np.int16)
    soundfile.write(path, np.concatenate((samples, silence)), rate)
    return path


def test_a_microphone_hears_the_words_that_the_recording_has_and_replaying_gives_the_same_captions(
    virtual_microphone: VirtualMicrophone, talk: Path, tmp_path: Path
) -> None:
    with live(
        virtual_microphone, "--to", "German", "--model", "captions", "--set", "translate.threads=2",
        "--captions", tmp_path / "captions.jsonl", "--set", f"output.audio={tmp_path / 'heard.wav'}",
        "--set", f"output.partials={tmp_path / 'partials.jsonl'}",
        "--set", f"output.sentences={tmp_path / 'sentences.jsonl'}",
        "--set", f"output.log={tmp_path / 'log.jsonl'}",
        "--set", f"output.summary={tmp_path / 'summary.json'}",
    ) as process:  # fmt: skip
        until(lambda: size(tmp_path / "heard.wav") > 16_000)
        virtual_microphone.play(talk)
        wait_for(tmp_path / "captions.jsonl", '"is_final":true')
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    # What a small model makes of a word that was cut off is no matter here.
    assert [line for line in stderr.splitlines() if "further cases are only counted" not in line] == []
    captions = read(tmp_path / "captions.jsonl")
    finals = [one["shown"] for one in captions if one["is_final"]]
    assert stdout.splitlines()[: len(finals)] == finals
    assert "segments" in stdout

    partials = [one["text"] for one in read(tmp_path / "partials.jsonl") if one["is_final"]]
    want, got = words(recognised(talk)), words(partials)
    assert len(want) >= 7
    assert sum(word in got for word in want) >= 0.9 * len(want)

    subprocess.run(
        [
            SURTITLE, "replay", tmp_path / "sentences.jsonl", "--quiet", "--set", "translate.threads=2",
            "--captions", tmp_path / "again.jsonl",
        ],
        check=True,
    )  # fmt: skip
    again = [(one["segment"], one["revision"], one["shown"]) for one in read(tmp_path / "again.jsonl")]
    assert again == [(one["segment"], one["revision"], one["shown"]) for one in captions]

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["latency_parts_ms"]["recogniser"]["p50"] > 0
    assert summary["latency_parts_ms"]["display"]["p50"] >= 0
    assert summary["lost_s"] < 0.5
    for record in read(tmp_path / "log.jsonl"):
        parts = record["latency"]
        assert sum(parts.values()) == pytest.approx(record["latency_from_speech_s"], abs=0.02)


# Loading takes until there is a file, whose content is the error with which it ends.
SLOW = """
import sys, time
from pathlib import Path
from flows.captions import resources
from operators.errors import InputError
done, opened = Path(sys.argv.pop(1)), resources.open_engines
def slowly(settings, directions, progress):
    progress("loading the model", None)
    while not done.exists():
        time.sleep(0.02)
    if why := done.read_text():
        raise InputError(why)
    return opened(settings, directions, progress)
resources.open_engines = slowly
from flows.main import main
main()
"""


class Loading:
    """`surtitle live` that listens, and loads models until `end`; its standard error is a terminal."""

    def __init__(self, microphone: VirtualMicrophone, folder: Path) -> None:
        self._done, self.shown = folder / "done", ""
        self._screen, self._theirs = os.openpty()
        self._reader = Thread(target=self._read)
        self._live = live(
            microphone, "--to", "Portuguese", "--captions", folder / "captions.jsonl",
            program=[sys.executable, "-c", SLOW, self._done], stderr=self._theirs,
        )  # fmt: skip

    def __enter__(self) -> "Loading":
        self.process = self._live.__enter__()
        os.close(self._theirs)
        self._reader.start()
        until(lambda: "listening; loading the model" in self.shown)
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.__exit__(None, None, None)
        self._reader.join()
        os.close(self._screen)

    def _read(self) -> None:
        with suppress(OSError):  # the program has ended
            while True:
                self.shown += os.read(self._screen, 1 << 16).decode(errors="replace")

    def end(self, error: str = "") -> None:
        self._done.with_suffix(".new").write_text(error)
        self._done.with_suffix(".new").replace(self._done)

    def result(self) -> tuple[int, str, str]:
        """The exit code, what was printed, and the last line of standard error."""
        printed, _ = self.process.communicate(timeout=60)
        self._reader.join()
        return self.process.returncode, printed, self.shown.splitlines()[-1].rpartition("\x1b[2K")[2]


def test_what_is_said_while_models_are_loaded_has_captions(
    virtual_microphone: VirtualMicrophone, talk: Path, tmp_path: Path
) -> None:
    with Loading(virtual_microphone, tmp_path) as loading:
        virtual_microphone.play(talk)
        loading.end()
        wait_for(tmp_path / "captions.jsonl", '"is_final":true')
        loading.process.send_signal(signal.SIGINT)
        assert loading.result()[0] == 0
    heard = words([one["source"] for one in read(tmp_path / "captions.jsonl") if one["is_final"]])
    assert heard[:3] == words(recognised(talk))[:3]


def test_a_talk_does_not_replace_the_files_of_the_talk_before(
    tmp_path: Path, virtual_microphone: VirtualMicrophone, speech: Path
) -> None:
    talk, sound = tmp_path / "talk.srt", tmp_path / "talk.wav"
    talk.write_text("yesterday")
    (tmp_path / "talk.srt.1~").write_text("the day before")
    sound.write_bytes(speech.read_bytes())
    written = ("--srt", talk, "--set", f"output.audio={sound}")
    with live(virtual_microphone, "--captions-only", *written) as process:
        virtual_microphone.wait_for_listener()
        virtual_microphone.play(speech)
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert f"{talk} is there already: its contents are now in {talk}.2~" in stderr
    assert (tmp_path / "talk.srt.2~").read_text() == "yesterday"
    assert (tmp_path / "talk.wav.1~").read_bytes() == speech.read_bytes() != sound.read_bytes()
    assert "yesterday" not in talk.read_text()


def test_an_error_or_ctrl_c_while_a_microphone_waits_for_models_ends_the_run_in_one_sentence(
    virtual_microphone: VirtualMicrophone, tmp_path: Path
) -> None:
    with Loading(virtual_microphone, tmp_path) as loading:
        loading.end("model.bin: it is damaged; fetch it again")
        assert loading.result() == (3, "", "surtitle: model.bin: it is damaged; fetch it again")
    (tmp_path / "done").unlink()
    with Loading(virtual_microphone, tmp_path) as loading:
        loading.process.send_signal(signal.SIGINT)
        assert loading.result() == (130, "", "surtitle: interrupted before it was finished")


def test_a_microphone_that_vanishes_while_models_are_loaded_is_awaited(
    virtual_microphone: VirtualMicrophone, tmp_path: Path
) -> None:
    with Loading(virtual_microphone, tmp_path) as loading:
        virtual_microphone.unplug()
        loading.end()
        until(lambda: "was disconnected; waiting for it" in loading.shown)
        loading.process.send_signal(signal.SIGINT)
        assert loading.result()[0] == 0
