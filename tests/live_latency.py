"""How late captions are that a microphone hears: python -m tests.live_latency RECORDING [OPTION …]

Plays the recording into a virtual microphone while `surtitle live` captions it, with any options of that
command, and prints its summary. Needs PulseAudio, as the tests do, and a machine that does nothing else.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.virtual_microphone import VirtualMicrophone


def main() -> int:
    """Run it; the exit code is that of ``surtitle live``."""
    recording, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="mic-") as folder:
        microphone = VirtualMicrophone(Path(folder))
        try:
            command = [str(Path(sys.executable).with_name("surtitle")), "live", *options]
            process = subprocess.Popen(
                command,
                env=microphone.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
            )
            microphone.wait_for_listener()
            microphone.play(Path(recording))
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=120)
        finally:
            microphone.close()
    sys.stdout.write(printed)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
