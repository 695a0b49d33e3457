"""Azure's speech service as a recogniser that survives lost connections.

All communication with the service runs on a thread of the recogniser's own: `AzureRecognizer.accept` only
hands over the audio and collects finished hypotheses. The audio since the last final is kept, and a new
connection gets it again, so that nothing is missing and no final is repeated.
"""

import atexit
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from time import monotonic, sleep

from msgspec.structs import replace
from typing_extensions import override

from operators.errors import InputError
from operators.events import AudioChunk
from operators.languages import Language, language
from operators.notifications import RecognizerChanged
from operators.recognizers.azure.audio_buffer import AudioBuffer
from operators.recognizers.azure.connection import AzureConnection
from operators.recognizers.azure.conversation import Conversation, Event, Failure, Patience, Utterances, Waits
from operators.recognizers.azure.settings import AzureSettings, Service, locale, service
from operators.recognizers.protocol import Hypothesis, Recognizer

# How often the clock is checked while nothing else happens.
_TICK_S = 0.1
_MAX_LAST_WAIT_S = 0.5
# A connection takes at most two seconds to close; a slower one is left to the end of the process.
_CLOSE_S = 4.0
# Seconds that closing may take on a busy machine while the process exits, and for callbacks after that.
_EXIT_S, _LAST_CALLBACK_S = 30.0, 0.1


class AzureRecognizer(Recognizer):
    """Recognises one stream in the cloud. Nothing is sent before the first chunk.

    Args:
        settings: Which service, and how long to wait for it; its language, if set, is recognised.
        observe: Called when the connection's state changes, on the recogniser's own thread.
        spoken: The spoken language; English by default.

    Raises:
        UsageError: if the settings and the environment do not name a possible service.
    """

    def __init__(
        self,
        settings: AzureSettings,
        observe: Callable[[RecognizerChanged], None],
        spoken: Language | None = None,
    ) -> None:
        self._service = service(settings)
        self._settings = replace(settings, language=locale(settings, spoken or language("English")))
        self._reports = Notices(self._service, observe)
        #: Guards what follows, and is notified whenever there is something to do.
        self._changed = Condition()
        self._buffer = AudioBuffer(settings.replay_s)
        self._utterances = Utterances(self._buffer.start_s, self._buffer.end_s)
        self._hypotheses: list[Hypothesis] = []
        self._error: Exception | None = None
        self._is_finishing = self._is_closing = self._is_done = False
        self._thread: Thread | None = None
        #: Used only by the thread.
        self._leaving: Thread | None = None
        self._waits = Waits(settings.longest_wait_s)
        self._patience = Patience(settings.answer_s, monotonic)

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        """As in the protocol.

        Raises:
            InputError: when Azure refuses the key or the request.
        """
        with self._changed:
            self._buffer.append(chunk)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="azure recogniser", daemon=True)
                self._thread.start()
                atexit.register(self._close_at_exit)
            self._changed.notify_all()
            return self._take()

    @override
    def finish(self) -> Sequence[Hypothesis]:
        """As in the protocol; waits for the last results for as long as the settings say.

        Raises:
            InputError: when Azure refuses the key or the request.
        """
        if self._thread is None:
            return []
        with self._changed:
            self._is_finishing = True
            self._changed.notify_all()
            is_done = self._changed.wait_for(lambda: self._is_done, self._settings.finish_s)
            self._is_closing = True
            self._changed.notify_all()
            self._hypotheses += self._utterances.finish()
            hypotheses = self._take()
        if self._error is not None:
            self._reports.gave_up(self._error)
        elif not is_done:
            self._reports.ended_early(self._settings.finish_s)
        return hypotheses

    @override
    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
            atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        """Close while the process exits, as after an error elsewhere.

        Python ends threads that ask for the interpreter while it exits, and the SDK's abort the process then.
        """
        self.close()
        for thread in (self._thread, self._leaving):
            if thread is not None:
                thread.join(_EXIT_S)
        # A callback of the SDK that began before it was disconnected gets its turn.
        sleep(_LAST_CALLBACK_S)

    def _take(self) -> list[Hypothesis]:
        hypotheses, self._hypotheses = self._hypotheses, []
        # Results from before an error are delivered before it.
        if self._error is not None and not hypotheses:
            raise self._error
        return hypotheses

    def _work(self) -> None:
        """Run one connection after the other until the audio is over."""
        try:
            while (failure := self._converse()) is not None:
                self._wait(failure)
        except Exception as error:  # noqa: BLE001 - raised where the flow hears it
            with self._changed:
                self._error = error
        finally:
            with self._changed:
                self._is_done = True
                self._changed.notify_all()
            if self._leaving is not None:
                self._leaving.join(_CLOSE_S)

    def _wait(self, failure: Failure) -> None:
        is_longest = self._waits.is_longest
        wait_s = self._waits.next_s()
        self._reports.failed(failure, wait_s, is_longest=is_longest)
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_closing or self._is_finishing, wait_s):
                return
            # At the end there is no time for a long wait.
            self._changed.wait_for(lambda: self._is_closing, min(wait_s, _MAX_LAST_WAIT_S))

    def _converse(self) -> Failure | None:
        """Run one connection until it fails, is complete, or the recogniser is closed."""
        events: deque[Event] = deque()

        def note(event: Event) -> None:
            with self._changed:
                events.append(event)
                self._changed.notify_all()

        with self._changed:
            if self._is_closing:
                return None
            self._hypotheses += self._utterances.resume(self._buffer.begin)
            base = self._buffer.rewind(self._utterances.confirmed)
        conversation = Conversation(self._utterances, self._patience, base, monotonic)
        connection = AzureConnection(self._service, self._settings, note)
        try:
            return self._attend(conversation, connection, events)
        finally:
            self._hang_up(connection)

    def _hang_up(self, connection: AzureConnection) -> None:
        """Close a connection while the next one is made, because closing waits for a lost service."""
        if self._leaving is not None:
            self._leaving.join(_CLOSE_S)
        leaving = Thread(target=connection.close, name="azure hang-up", daemon=True)
        try:
            leaving.start()
        except RuntimeError:
            # Since 3.12, Python starts no threads while it exits.
            connection.close()
            return
        self._leaving = leaving

    def _attend(
        self, conversation: Conversation, connection: AzureConnection, events: deque[Event]
    ) -> Failure | None:
        has_begun = False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: events or self._has_work(conversation), _TICK_S)
                if self._is_closing:
                    return None
                while events:
                    self._hypotheses += conversation.take(events.popleft(), self._buffer.heard)
                conversation.look_at_clock()
                self._buffer.forget(self._utterances.confirmed)
                is_sending = conversation.is_connected and not conversation.is_over
                if is_sending and not has_begun:
                    # While it connected, the buffer may have dropped the audio with which it should begin.
                    conversation.begin(self._buffer.sent)
                    has_begun = True
                pcm = self._buffer.take_unsent() if is_sending else b""
                lost_s = self._buffer.take_lost_s() if is_sending else 0.0
                is_last = is_sending and self._is_finishing
            if conversation.is_proven:
                self._waits.reset()
            if conversation.is_over:
                return conversation.failure
            if is_sending:
                self._reports.connected(lost_s)
            if pcm:
                self._patience.add_audio(pcm)
                connection.write(pcm)
            if is_last and not conversation.is_audio_over:
                connection.end_audio()
                conversation.is_audio_over = True

    def _has_work(self, conversation: Conversation) -> bool:
        if self._is_closing or not conversation.is_connected:
            return self._is_closing
        return self._buffer.has_unsent or self._is_finishing != conversation.is_audio_over


_REASONS = {
    Failure.LOST: "connection to Azure lost",
    Failure.STOPPED: "Azure stopped recognising",
    Failure.SILENT: "Azure no longer answers",
    Failure.BUSY: "Azure accepts no more requests for now",
    Failure.REQUEST: "Azure refused to continue",
}


class Notices:
    """Reports changes of the connection.

    Args:
        service: The service in use.
        observe: Called for each change.
    """

    def __init__(self, service: Service, observe: Callable[[RecognizerChanged], None]) -> None:
        self._service = service
        self._observe = observe
        self._is_connected = self._was_connected = False
        #: What has been reported of the current outage: nothing, that it exists, or that it lasts.
        self._told = 0

    def connected(self, lost_s: float) -> None:
        """The service is connected; ``lost_s`` seconds of audio could not be kept until then."""
        if self._is_connected:
            return
        sentence = "connected again" if self._was_connected else f"connected to Azure, {self._service.place}"
        if lost_s:
            sentence += f"; {lost_s:.1f} s of audio are lost, more than azure.replay_s keeps"
        self._is_connected = self._was_connected = True
        self._told = 0
        self._say(sentence)

    def failed(self, failure: Failure, wait_s: float, *, is_longest: bool) -> None:
        """A connection failed, or could not be made; the next attempt comes after a wait.

        Args:
            is_longest: Whether the wait has its maximum length.

        Raises:
            InputError: when another attempt cannot help.
        """
        place = self._service.place
        if failure is Failure.KEY:
            raise InputError(
                f"Azure refused the key for {place}; check the key, and that it belongs to that region"
            )
        if failure is Failure.REQUEST and not self._was_connected:
            raise InputError(f"{place}: Azure refused the request; check azure.language and the address")
        what = _REASONS[failure]
        if failure is Failure.LOST and not self._was_connected:
            what = f"no connection to Azure, {place}, yet"
        if self._told == 0:
            self._say(f"{what}, trying again in {wait_s:.2g} s")
        elif self._told == 1 and is_longest:
            self._observe(
                RecognizerChanged(f"still no connection to Azure, trying again every {wait_s:.2g} s")
            )
        self._told = max(self._told, 1 + is_longest)
        self._is_connected = False

    def gave_up(self, error: Exception) -> None:
        """The audio is over after an error; the results from before the error were delivered first."""
        self._say(str(error))

    def ended_early(self, waited_s: float) -> None:
        """The audio is over, and the last results did not come in time."""
        self._observe(
            RecognizerChanged(f"Azure did not answer within {waited_s:g} s, so the last words may be missing")
        )

    def _say(self, sentence: str) -> None:
        self._observe(RecognizerChanged(sentence))
