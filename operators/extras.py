"""The optional dependencies (extras) of the package, and clear errors when one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from operators.errors import UsageError

#: The packages that are imported from each extra.
EXTRAS = {
    "azure": ("azure",),
    "bench": ("matplotlib",),
    "kafka": ("confluent_kafka",),
    "train": ("peft", "torch", "transformers"),
    "vosk": ("vosk",),
    "web": ("starlette", "uvicorn", "websockets"),
    "whisper": ("onnx",),
}


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
        raise UsageError(
            f"{what} needs the package {package}; install it with: pip install 'surtitle[{name}]'"
        ) from None
