"""Captions, the status and notices as a viewer sees them, in tmux."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tmux import Terminal, terminal

ROOT = Path(__file__).parents[3]

# Does to a screen what the test writes into a pipe.
DRIVER = """
import itertools, json, os, sys, time
from connectors.view import Status
from connectors.terminal import open_screen
from operators.events import Caption

screen = open_screen(int(sys.argv[1]), now=itertools.count().__next__, languages=sys.argv[3:])
given = dict(stream="talk", segment=0, revision=0, is_final=False, source="", withheld="", start_s=0, end_s=1,
    arrival_s=1, ready_s=1)
for name, *arguments in map(json.loads, open(sys.argv[2])):
    if name == "draw":
        screen.draw([Caption(**given | fields) for fields in arguments])
    elif name == "status":
        screen.status(Status(**arguments[0]))
    elif name == "resized":
        while os.get_terminal_size().columns != arguments[0]:
            time.sleep(0.01)
    else:
        getattr(screen, name)(*arguments)
print("done", flush=True)
time.sleep(60)
"""


class Stage:
    """A screen in a terminal, and the pipe that says what it is to do."""

    def __init__(self, window: Terminal, pipe: int) -> None:
        self.window = window
        self._pipe = pipe

    def draw(self, shown: str, withheld: str = "", **fields: object) -> None:
        self.do("draw", {"shown": shown, "withheld": withheld, **fields})

    def do(self, *what: object) -> None:
        os.write(self._pipe, json.dumps(what).encode() + b"\n")

    def resize(self, columns: int, rows: int = 10) -> None:
        self.window.resize(columns, rows)
        self.do("resized", columns)


@contextmanager
def stage(
    folder: Path, columns: int = 60, rows: int = 10, *languages: str, width: int = 20
) -> Iterator[Stage]:
    (folder / "driver.py").write_text(DRIVER)
    os.mkfifo(folder / "pipe")
    driver = f"{folder}/driver.py {width} {folder}/pipe {' '.join(languages)}"
    command = f"env PYTHONPATH={ROOT} PYTHONUTF8=1 {sys.executable} {driver}"
    with terminal(folder, command, columns, rows) as window:
        pipe = os.open(folder / "pipe", os.O_RDWR)
        try:
            yield Stage(window, pipe)
        finally:
            os.close(pipe)


STATUS = "speech  [█████     ]  lag 0.5 s"


def test_two_lines_roll_up_with_a_dim_tail_over_the_status_and_finals_scroll_away(tmp_path: Path) -> None:
    with stage(tmp_path) as it:
        it.do("status", {"state": "speech", "level_dbfs": -30, "lag_s": 0.5})
        it.window.until_rows(STATUS)
        it.draw("Es war die beste aller", " Zeiten")
        it.window.until_rows("Es war die beste", "aller…", STATUS)
        assert it.window.dim()[:3] == ["Es war die beste", "aller…", STATUS]
        it.draw("Es war die beste aller Zeiten, es war", " die")
        it.window.until_rows("aller Zeiten, es war", "…", STATUS)
        assert it.window.dim()[:3] == ["Zeiten, es war", "…", STATUS]
        it.draw("Es")
        it.window.until_rows("Es", STATUS)
        it.window.type("typed")
        it.window.until_rows("Es", STATUS + "typed")
        it.draw("Es war die beste aller Zeiten, es war.", is_final=True)
        finals = ["Es war die beste", "aller Zeiten, es", "war."]
        it.window.until_rows(*finals, STATUS)
        assert it.window.dim()[:4] == ["", "", "", STATUS]
        for segment in range(1, 6):
            it.draw(f"Satz {segment}", segment=segment)
            it.draw(f"Satz {segment} steht.", is_final=True, segment=segment)
        it.draw("Und", segment=6)
        sentences = [f"Satz {segment} steht." for segment in range(1, 6)]
        it.window.until_rows(*finals, *sentences, "Und", STATUS)
        for segment in range(6, 10):
            it.draw(f"Satz {segment} steht.", is_final=True, segment=segment)
        it.do("close")
        sentences = [f"Satz {segment} steht." for segment in range(1, 10)]
        it.window.until(lambda rows: rows[-1] == sentences[-1])
        assert it.window.history() == [*finals, *sentences]
        assert not any(it.window.dim())


LONG = "one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize("columns", [13, 24, 38])
def test_a_narrower_terminal_leaves_no_rubbish_and_keeps_its_history(tmp_path: Path, columns: int) -> None:
    with stage(tmp_path, 60, width=42) as it:
        finals = [f"Satz {segment}" for segment in range(12)]
        for segment, final in enumerate(finals):
            it.draw(final, is_final=True, segment=segment)
        it.do("status", {"state": "speech", "level_dbfs": -30, "elapsed_s": 4, "lag_s": 0.5})
        it.draw(LONG, segment=12)
        status = "speech  [█████     ]  0:04  lag 0.5 s"
        opened = ["one two three four five six seven eight", "nine ten eleven twelve", status]
        it.window.until_rows(*finals[-7:], *opened)
        it.resize(columns)
        it.do("status", {"state": "listening"})
        it.draw(f"{LONG} end", segment=12)
        it.window.until(lambda rows: rows[-1] == "listening" and rows[-2].endswith("end"))
        *above, upper, lower, status = it.window.history()
        assert above == finals
        assert f"{LONG} end".endswith(f"{upper} {lower}")
        it.resize(60)
        it.draw(f"{LONG} end.", segment=12)
        opened = ["one two three four five six seven eight", "nine ten eleven twelve end.", "listening"]
        it.window.until(lambda rows: rows[-3:] == opened)
        assert it.window.history() == [*finals, *opened]
        it.do("close")
        it.window.until(lambda rows: rows[-1] == opened[1])
        assert it.window.history() == [*finals, *opened[:2]]


def test_a_terminal_of_few_rows_or_columns_still_shows_the_newest_words(tmp_path: Path) -> None:
    with stage(tmp_path, 40, 8) as it:
        it.do("status", {"state": "listening"})
        it.draw(LONG)
        it.window.until_rows("nine ten eleven", "twelve", "listening")
        it.resize(39, 2)
        it.draw(f"{LONG} end")
        it.window.until_rows("twelve end", "listening")
        it.resize(5, 6)
        it.draw(f"{LONG} end.")
        it.window.until(lambda rows: rows[-3:] == ["ve", "end.", "li"])
        assert it.window.rows()[-3:] == ["ve", "end.", "li"]
        it.resize(60, 8)
        it.draw(f"{LONG} end. More")
        newest = ["nine ten eleven", "twelve end. More", "listening"]
        it.window.until(lambda rows: rows[-3:] == newest)
        assert it.window.rows()[-3:] == newest


def test_each_language_has_lines_of_its_own_that_stay_where_they_are(tmp_path: Path) -> None:
    with stage(tmp_path, 60, 10, "de", "fr", width=12) as it:
        german = "Es war die beste aller Zeiten"
        it.do("draw", {"shown": german, "language": "de"}, {"shown": "C'était", "language": "fr"})
        it.window.until_rows("de  beste aller", "    Zeiten", "fr  C'était")
        it.draw(german, language="de", is_final=True)
        finals = ["de  Es war die", "    beste aller", "    Zeiten"]
        it.window.until_rows(*finals, "de", "fr  C'était")
        it.draw("C'était bien", language="fr", is_final=True)
        it.draw("Dann", language="de", segment=1)
        it.window.until_rows(*finals, "fr  C'était bien", "de  Dann", "fr")


def test_open_captions_of_many_streams_are_not_taken_for_finished_ones(tmp_path: Path) -> None:
    streams = [f"room {number}" for number in range(255)]
    with stage(tmp_path) as it:
        for word in ("eins", "eins, zwei"):
            it.do("draw", *({"shown": word, "stream": stream} for stream in streams))
        it.window.until_rows("eins, zwei")
        for stream in streams:
            it.draw(f"{stream}.", stream=stream, is_final=True)
        it.window.until(lambda rows: rows[-1] == "room 254.")
        assert it.window.history() == [f"{stream}." for stream in streams]


def test_a_notice_scrolls_up_dim_like_history(tmp_path: Path) -> None:
    with stage(tmp_path) as it:
        it.do("status", {"state": "listening"})
        it.draw("Es war")
        it.do("notice", "the microphone\x1b[2J is gone")
        rows = ["surtitle: the microphone is gone", "Es war", "listening"]
        it.window.until_rows(*rows)
        assert it.window.dim()[:3] == rows
        it.draw("Es war", is_final=True)
        it.window.until(lambda _: it.window.dim()[:3] == [rows[0], "", rows[2]])
        assert it.window.dim()[:3] == [rows[0], "", rows[2]]


def test_the_name_is_in_the_row_where_the_speaker_changes_and_counts_as_columns(tmp_path: Path) -> None:
    with stage(tmp_path) as it:
        it.draw("Guten Morgen.", is_final=True, speaker="Anna")
        it.draw("Schön hier.", is_final=True, segment=1, speaker="Anna")
        it.draw("Ja, das", segment=2, speaker="1")
        finals = ["Anna: Guten Morgen.", "Schön hier."]
        it.window.until_rows(*finals, "Speaker 1: Ja, das")
        # What is shown stays.
        it.draw("Ja, das ist wahr.", segment=2, speaker="Anna")
        it.window.until_rows(*finals, "Speaker 1: Ja, das", "ist wahr.")
        it.draw("Ja, das ist wahr.", is_final=True, segment=2, speaker="Anna")
        finals += ["Speaker 1: Ja, das", "ist wahr."]
        it.window.until_rows(*finals)
        # A late name comes while all words stay in their row, else with the end of the sentence.
        it.draw("Aber", segment=3)
        it.draw("Aber", segment=3, speaker="Anna")
        it.window.until_rows(*finals, "Anna: Aber")
        it.draw("Aber wer war das?", is_final=True, segment=3, speaker="Anna")
        finals += ["Anna: Aber wer war", "das?"]
        it.draw("Ich selbst war da", segment=4)
        it.draw("Ich selbst war da.", segment=4, speaker="2")
        it.window.until_rows(*finals, "Ich selbst war da.")
        it.draw("Ich selbst war da.", is_final=True, segment=4, speaker="2")
        finals += ["Speaker 2: Ich", "selbst war da."]
        it.window.until_rows(*finals)
        it.draw("שלום לך", is_final=True, segment=5, speaker="דנה")
        it.window.until_rows(*finals, "דנה: שלום לך")


def test_each_language_says_who_speaks_in_its_own_words(tmp_path: Path) -> None:
    with stage(tmp_path, 60, 10, "de", "fr") as it:
        for segment, speaker in enumerate(("1", "1", "2")):
            for language, shown in (("de", "Ja."), ("fr", "Oui.")):
                it.draw(shown, is_final=True, segment=segment, language=language, speaker=speaker)
        said = ["de  Sprecher 1: Ja.", "fr  Intervenant 1\u00a0: Oui.", "de  Ja.", "fr  Oui."]
        it.window.until(lambda rows: rows[:4] == said)
        assert it.window.history() == [*said, "de  Sprecher 2: Ja.", "fr  Intervenant 2\u00a0: Oui."]
