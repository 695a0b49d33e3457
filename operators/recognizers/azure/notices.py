"""Tells the user about the connection to Azure: one sentence per change, and an error if retrying is useless.

No sentence quotes the service or its SDK, because they may quote the configuration including the key.
"""

from collections.abc import Callable

from operators.errors import InputError
from operators.observed import RecognizerChanged
from operators.recognizers.azure.conversation import Failure
from operators.recognizers.azure.settings import Service

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
