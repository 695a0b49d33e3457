"""Text from outside on one line of a terminal, which must not obey it."""


def printable(text: str) -> str:
    """The text, with an escape for each character that a terminal would not print."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
