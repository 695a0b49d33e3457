"""Secrets in settings: a type that is never printed or written, and msgspec's hooks for it."""

import re
from collections.abc import Callable
from typing import Any, Never

import msgspec
from typing_extensions import override

from operators.addresses import is_address, shown
from operators.errors import UsageError

_SHOWN = "(not shown)"
_SENDABLE = re.compile(r"[!-~]{1,2048}")


class Secret:
    """A text that cannot be printed, encoded or pickled by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    @override
    def __repr__(self) -> str:
        return _SHOWN

    @override
    def __reduce__(self) -> Never:
        raise TypeError("a secret cannot be pickled")


def sendable(text: str, where: str) -> Secret:
    """A secret that can be the value of a header.

    Otherwise raises `UsageError`, without showing the text; ``where`` is the setting that holds it.
    """
    if not _SENDABLE.fullmatch(text):
        raise UsageError(
            f"{where} does not hold a key that can be sent; copy the key again, without spaces or line ends"
        )
    return Secret(text)


def to_plain(
    settings: msgspec.Struct, hidden: str | None = _SHOWN, address: Callable[[str], str] = shown
) -> dict[str, Any]:
    """Settings as plain values: ``hidden`` for each secret, and what ``address`` returns for each address."""

    def encode(value: object) -> str | None:
        if isinstance(value, Secret):
            return hidden
        raise NotImplementedError(f"settings cannot be written as {type(value).__name__}")

    def plain_value(value: Any) -> Any:
        match value:
            case str():
                return address(value) if is_address(value) else value
            case dict():
                return {key: plain_value(one) for key, one in value.items()}
            case list() | tuple():
                return type(value)(map(plain_value, value))
        return value

    plain: dict[str, Any] = plain_value(msgspec.to_builtins(settings, enc_hook=encode))
    return plain


def decode_secret(kind: type, value: object) -> Secret:
    """The ``dec_hook`` for settings with secrets."""
    if kind is not Secret:
        raise NotImplementedError(f"settings cannot be read as {kind.__name__}")
    if not isinstance(value, str):
        raise TypeError(f"Expected `str`, got `{type(value).__name__}`")
    return Secret(value)
