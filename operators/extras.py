"""The optional dependencies (extras) of the package, and clear errors when one is missing."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from operators.errors import UsageError

#: The packages that are imported from each extra.
EXTRAS = {
    "azure": ("azure",),
    "bench": ("sentencepiece",),
    "kafka": ("confluent_kafka",),
    "train": ("peft", "torch", "transformers"),
    "vosk": ("vosk",),
    "web": ("starlette", "uvicorn", "websockets"),
    "whisper": ("onnx",),
}


def installing(*names: str) -> str:
    """The command that adds extras to this installation.

    It names this interpreter: its pip knows that surtitle is installed, also from a checkout or a file, and
    looks only for the packages of the extra. Another pip would look for surtitle, and may find a stranger's.
    """
    here = os.path.relpath(sys.executable)
    python = sys.executable if here.startswith(os.pardir) else here
    python = shlex.quote(python)
    # An environment that uv made has none.
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} 'surtitle[{','.join(names)}]'"


@contextmanager
def needs_extra(name: str, what: str) -> Iterator[None]:
    """Turn a failed import inside the block into an error that says how to install the extra.

    Args:
        name: The extra.
        what: What needs it, as the beginning of a sentence.

    Raises:
        UsageError: when one of its packages is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS[name]:
            raise
        raise UsageError(f"{what} needs the package {package}; install it with: {installing(name)}") from None
