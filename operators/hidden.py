"""Secrets that settings were given, kept where nothing prints them."""

from typing import Never

from typing_extensions import override


class Secret:
    """A text that cannot be printed, encoded or pickled by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text."""
        return self._text

    @override
    def __repr__(self) -> str:
        return "(hidden)"

    @override
    def __reduce__(self) -> Never:
        raise TypeError("a secret is not written down")


# By what stands in their place from then on. Settings are copied, printed and written into summaries; what
# they hold must be safe to, and still lead to the secret.
_hidden: dict[str, Secret] = {}


def hide(text: str) -> str:
    """What to put in a secret's place, which is safe to be seen; of a stand-in, itself."""
    if text in _hidden:
        return text
    stand_in = f"(hidden {len(_hidden) + 1})"
    _hidden[stand_in] = Secret(text)
    return stand_in


def revealed(stand_in: str) -> str:
    """The secret; a text that hides none is its own."""
    secret = _hidden.get(stand_in)
    return stand_in if secret is None else secret.reveal()
