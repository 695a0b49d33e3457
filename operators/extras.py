"""What is installed only for those who ask for it: the extras of the package, and who needs which."""

from collections.abc import Iterator
from contextlib import contextmanager

from operators.errors import UsageError

#: The packages that are imported of each extra. The engines vosk and whisper look after their own.
EXTRAS = {
    "azure": ("azure",),
    "bench": ("matplotlib",),
    "train": ("peft", "torch", "transformers"),
    "web": ("starlette", "uvicorn"),
}


@contextmanager
def needs_extra(name: str, what: str) -> Iterator[None]:
    """Say how to install what an import within lacks of an extra.

    Args:
        name: The extra.
        what: Who needs it, as a sentence begins.

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
