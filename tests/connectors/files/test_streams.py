"""Standard error while what native code writes to it is discarded."""

import signal
import sys

from tests.program import completed


def test_a_crash_in_native_code_says_where_it_was_though_its_other_words_are_discarded() -> None:
    program = (
        "import faulthandler, os\n"
        "from flows.running.dataflow import _no_panic_text\n"
        "faulthandler.enable()\n"
        "with _no_panic_text():\n"
        "    os.write(2, b'a panic of Rust')\n"
        "    faulthandler._sigsegv()\n"
    )
    process = completed([sys.executable, "-c", program])
    assert process.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in process.stderr
    assert "a panic of Rust" not in process.stderr
