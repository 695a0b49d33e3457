"""Azure's recogniser when the service fails it: nothing lost, nothing said twice, nobody waits forever."""

import socket
from collections.abc import Callable
from http import HTTPStatus
from threading import enumerate as enumerate_threads

import pytest

from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.recognizers.azure import recognizer
from tests.operators.recognizers.azure.server import KEY, Listener, Script, Session, chunks, running, say
from tests.operators.recognizers.azure.test_recognizer import segments

TALK = say([1, 2, 3], [4, 5, 6], [7, 8])
SAID = ["w1 w2 w3", "w4 w5 w6", "w7 w8"]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognizer, "_FIRST_WAIT_S", 0.05)


def ending(end: Callable[[Session], None], after_s: float) -> Script:
    """Recognise for a while, then end like this."""

    def script(session: Session) -> None:
        session.recognize(after_s)
        end(session)

    return script


@pytest.mark.parametrize(
    "end",
    [
        Session.drop,
        lambda session: session.connection.close(1011, "no more"),
        lambda session: session.send("speech.phrase", {"RecognitionStatus": "Error"}),
        lambda session: session.send_raw("speech.phrase", "}no json"),
    ],
    ids=["dropped", "failed", "error", "no json"],
)
def test_a_connection_lost_in_mid_utterance_loses_and_repeats_nothing(end: Callable[[Session], None]) -> None:
    with running(ending(end, 1.9), Session.recognize) as server:
        listener = Listener(server)
        listener.hear(chunks(TALK, start_s=50.0), pace_s=0.005)
        by_segment = segments(listener.finish())

    assert listener.finals == SAID
    assert list(by_segment) == [0, 1, 2]
    assert [round(updates[-1].start_s, 2) for updates in by_segment.values()] == [50.2, 51.45, 52.7]
    # On display the open segment went on where it was.
    assert (texts := [update.text for update in by_segment[1]]) == sorted(texts, key=len)
    # A busy machine may be late for the next connection, too.
    connected, lost, *_, again = listener.told
    assert connected.startswith("connected to Azure")
    assert lost.startswith("connection to Azure lost, trying again in 0.")
    assert again == "connected again"


def test_a_connection_lost_again_and_again_loses_and_repeats_nothing() -> None:
    ends = [ending(Session.drop, after_s) for after_s in (0.3, 0.65, 0.9, 1.4, 0.5)]
    with running(*ends, Session.recognize) as server:
        listener = Listener(server)
        listener.hear(chunks(TALK), pace_s=0.03)
        segments(listener.finish())
    assert listener.finals == SAID
    assert len(server.sessions) == 6


def test_a_service_that_falls_silent_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognizer, "_ANSWER_S", 0.3)

    def fall_silent(session: Session) -> None:
        session.recognize(0.9)
        session.hear(1000)

    with running(fall_silent, Session.recognize) as server:
        listener = Listener(server)
        listener.hear(chunks(TALK), pace_s=0.02)
        segments(listener.finish())

    assert listener.finals == SAID
    assert listener.told[1].startswith("Azure no longer answers, trying again in")
    assert listener.told[2:] == ["connected again"]


@pytest.mark.parametrize(("status", "why"), [(401, "the key"), (403, "the key"), (400, r"azure\.language")])
def test_what_azure_refuses_is_an_error_at_once_and_the_key_is_not_shown(status: int, why: str) -> None:
    with running() as server:
        server.refusals.append(HTTPStatus(status))
        listener = Listener(server)
        with pytest.raises(InputError, match=why) as caught:
            listener.hear(chunks(TALK), pace_s=0.02)
        with pytest.raises(InputError, match=why):  # it stays one
            listener.recognizer.finish()
        listener.recognizer.close()

    error = caught.value
    assert server.handshakes == 1
    assert server.url in str(error)
    assert KEY not in f"{error!r} {error.__cause__!r} {error.__context__!r} {listener.told}"


def test_a_key_that_is_revoked_keeps_what_was_said_before() -> None:
    talk = chunks(TALK)
    with running(ending(Session.drop, 1.9)) as server:
        listener = Listener(server)
        listener.hear(talk[:37], pace_s=0.005)
        server.wait_for_session(1)
        server.refusals.append(HTTPStatus.UNAUTHORIZED)
        with pytest.raises(InputError, match="refused the key"):
            listener.hear(talk[37:], pace_s=0.05)
        listener.recognizer.close()
    assert listener.finals[0] == SAID[0]


def test_a_service_that_is_busy_is_asked_again_with_growing_waits() -> None:
    with running() as server:
        server.refusals += [HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR]
        listener = Listener(server)
        listener.hear(chunks(TALK)[:20])
        server.wait_for_handshake(4)
        server.refusals.clear()
        listener.wait_until(lambda: len(listener.told) == 2)
        listener.hear(chunks(TALK)[20:])
        listener.finish()

    assert listener.finals == SAID
    busy, connected = listener.told
    assert busy.startswith("Azure accepts no more requests for now, trying again in 0.")
    assert connected.startswith("connected to Azure")


def test_after_more_was_lost_while_connecting_times_are_true_and_nothing_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recognizer, "_REPLAY_S", 1.0)
    talk = chunks(say([1, 2, 3], [4, 5, 6], [7, 8], [9]))
    with running(ending(Session.drop, 1.4), ending(Session.drop, 1.25), Session.recognize) as server:
        listener = Listener(server)
        listener.hear(talk[:29])
        server.wait_for_session(1).over.wait(60)
        # The next connection is being made, from what is there by now, while more is said than can be kept.
        server.answers.clear()
        server.wait_for_handshake(2)
        listener.hear(talk[29:68])
        server.answers.set()
        listener.wait_until(lambda: any("are lost" in told for told in listener.told))
        # It is lost once more, right after it has said what was left of it.
        listener.hear(talk[68:78])
        server.wait_for_session(3)
        listener.hear(talk[78:])
        by_segment = segments(listener.finish())

    assert listener.finals == [SAID[0], SAID[2], "w9"]
    assert [round(updates[-1].start_s, 2) for updates in by_segment.values()] == [0.2, 2.7, 3.7]


def test_a_service_that_never_says_the_last_word_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recognizer, "_FINISH_S", 0.2)
    with running(ending(lambda session: session.hear(1000), 1.9)) as server:
        listener = Listener(server)
        listener.hear(chunks(TALK), pace_s=0.005)
        listener.finish()
        assert not [thread for thread in enumerate_threads() if thread.name.startswith("azure")]

    # The open segment ends with the text that it had.
    assert listener.finals == [SAID[0], "w4 w5"]
    assert listener.told[-1] == "Azure did not answer within 0.2 s, so the last words may be missing"


def test_what_is_left_at_the_end_is_said_to_a_new_connection() -> None:
    def drop(session: Session) -> None:
        session.hear(1000)
        session.drop()

    with running(drop, Session.recognize) as server:
        listener = Listener(server)
        listener.hear(chunks(TALK))
        listener.finish()

    assert len(server.sessions) == 2
    assert listener.finals == SAID


def test_a_place_where_nobody_answers_is_not_waited_for_by_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognizer, "_FINISH_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf, running() as server:
        server.url = f"ws://127.0.0.1:{deaf.getsockname()[1]}"
        listener = Listener(server)
        listener.hear(chunks(TALK), pace_s=0.0)
        assert listener.finish() == []


def test_rubbish_harms_nothing() -> None:
    def flood(session: Session) -> None:
        session.hear(0.3)
        session.send_raw("speech.hypothesis", "}{ no json")
        session.send_raw("speech.nonsense", "[1, 2]")
        session.connection.send("no headers at all")
        session.connection.send(b"\x00\x02X:no audio")
        session.phrase("x" * 1_000_000, 0.2, 0.05)
        session.phrase("-", -5e-7, -7e-7)
        for say_beyond in (session.hypothesis, session.phrase):
            say_beyond("beyond", 1e9, 1e9)
        session.recognize()

    with running(flood) as server:
        listener = Listener(server)
        listener.hear(chunks(TALK))
        heard = listener.finish()
    assert listener.finals[-3:] == SAID
    assert len(server.sessions) == 1
    assert all(0 <= one.start_s <= one.end_s <= len(TALK) / 2 / SAMPLE_RATE for one in heard)
    assert all(len(one.text) < 5000 for one in heard)
