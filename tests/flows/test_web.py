"""Captions in a browser from end to end: a real process, and viewers that come by HTTP."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.connectors.web.browser import Page, follow
from tests.flows import talk
from tests.flows.serving import running
from tests.flows.talk import write
from tests.program import SURTITLE, completed

SENTENCE = "Guten Morgen allerseits <script>alert(1)</script> und willkommen im Museum"


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    """Three segments of a talk, each in three updates, a quarter of a second apart."""
    words = SENTENCE.split()
    shown = [
        [f"{' '.join(words[: 3 * revision + 2])} {segment}" for revision in range(3)] for segment in range(3)
    ]
    return write(tmp_path / "captions.jsonl", talk.captions(shown, step_s=0.25, draw_s=None))


def test_a_replay_is_watched_while_it_runs_and_stays_until_ctrl_c(captions: Path) -> None:
    page = Page()
    with running(SURTITLE, "replay", captions, "--web", "--port", 0, "--realtime") as run:
        assert run.said == f"surtitle: captions at http://127.0.0.1:{run.port}/\n"
        with follow(run.port, page) as viewer:
            viewer.until("Museum 0")
        with follow(run.port, page) as viewer:
            viewer.until_over()
        with follow(run.port) as late:
            assert late.until_over().text == page.text == [f"{SENTENCE} {number}" for number in range(3)]
        run.wait_until_it_stays()
        code, stdout, stderr = run.interrupt()
    assert (code, stderr) == (0, "")
    assert stdout.splitlines()[:3] == page.text
    assert page.snapshots == 1
    assert page.figures is not None
    assert (page.figures["updates"], page.figures["segments"]) == (9, 3)


def test_ctrl_c_in_the_middle_ends_it_all_and_says_so_to_viewers(captions: Path) -> None:
    with (
        running(SURTITLE, "replay", captions, "--port", 0, "--realtime", "--to", "Hebrew") as run,
        follow(run.port) as viewer,
    ):
        viewer.until("Guten")
        code, _, stderr = run.interrupt()
        assert (code, stderr) == (0, "")
        viewer.until_over()
        while viewer.read():
            pass


def test_watching_changes_no_caption_and_no_time(captions: Path, tmp_path: Path) -> None:
    logs = []
    for name, options in (("with", ["--port", "0"]), ("without", [])):
        written = tmp_path / f"{name}.jsonl"
        command = [SURTITLE, "replay", str(captions), "--quiet", "--captions", str(written), *options]
        if options:
            with running(*command) as run:
                run.wait_until_it_stays()
                assert run.interrupt()[0] == 0
        else:
            completed(command, check=True)
        logs.append(written.read_bytes())
    assert logs[0] == logs[1]
    assert json.loads(logs[0].splitlines()[0])["shown_s"] is None


def test_an_open_address_comes_with_a_token_that_no_file_holds(captions: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    secret = {"SURTITLE_WEB_TOKEN": "from-the-environment", "SURTITLE_CONTROL_KEY": "of-the-operator"}
    command = [SURTITLE, "replay", captions, "--host", "0.0.0.0", "--port", 0]
    command += ["--set", f"output.summary={summary}"]
    for environment, token in (({}, None), (secret, "from-the-environment")):
        with running(*command, environment=environment) as run:
            if token is None:
                assert "for every machine that can reach this one and has the whole address" in run.said
                assert len(run.token) > 20
            else:
                assert "for anyone who adds ?token=… with the token that this run was given" in run.said
                assert run.token is None
                run.token = token
            assert run.process.stderr is not None
            control = run.process.stderr.readline()
            assert "#key=" not in run.said
            if token is None:
                assert re.search(rf"http://\S+/\?token={run.token}#key=\S{{22}}\n", control)
            else:
                assert "/?token=…#key=… with the key that this run was given" in control
            with follow(run.port) as stranger:
                assert stranger.answer.status == 403
            with follow(run.port, headers={"Cookie": f"surtitle-{run.port}={run.token}"}) as viewer:
                viewer.until_over()
            run.wait_until_it_stays()
            _, stdout, _ = run.interrupt()
        assert run.token not in stdout + summary.read_text()


def test_a_job_serves_by_its_settings_and_lets_go_when_it_is_done(captions: Path, tmp_path: Path) -> None:
    settings = tmp_path / "surtitle.toml"
    settings.write_text(
        f'[input]\ncaptions = "{captions}"\nrealtime = true\n'
        '[translate]\nto = "German"\n[web]\nenabled = true\nport = 0\n',
        "utf-8",
    )
    job = f"flows.captions:flow('{settings}')"
    with running(sys.executable, "-m", "bytewax.run", job) as run, follow(run.port) as viewer:
        assert viewer.until_over().text == [f"{SENTENCE} {number}" for number in range(3)]
        while viewer.read():
            pass
        assert run.ended()[0] == 0
