"""The messages of msgspec about wrong settings, in words that end with what to do."""

import re

_KINDS = {
    "array": "a list in brackets",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a section or a table",
    "str": "text in quotes",
}
_BOUNDS = {">=": "of at least", ">": "above", "<=": "of at most", "<": "below"}
_EXPECTED = re.compile(r"Expected `([^`]+)`(?: (>=|<=|>|<) (\S+))?(?:, got `([^`]+)`)?")


def in_words(message: str) -> str:
    """What a setting takes; other messages stay as they are.

    ``Expected `int` >= 1`` becomes "give a whole number of at least 1".
    """
    match = _EXPECTED.fullmatch(message)
    if match is None:
        return message
    wanted, bound, limit, got = match.groups()
    kinds = dict.fromkeys(_KINDS[one] for one in wanted.split(" | ") if one in _KINDS)
    if not kinds:
        return message
    within = "" if bound is None else f" {_BOUNDS[bound]} {float(limit):g}"
    instead = f", not {_KINDS[got]}" if got in _KINDS else ""
    return f"give {' or '.join(kinds)}{within}{instead}"
