"""Options in running text: browsers would break a line after the hyphens of ``--option``."""

import re

_CODE = re.compile(r"<code>([^<]*)</code>")
_OPTION = re.compile(r"(?<![\w-])--?\w[\w-]*")


def unbroken(html: str) -> str:
    """A page whose inline code keeps each option on one line."""

    def kept(code: re.Match[str]) -> str:
        return "<code>" + _OPTION.sub(r'<span class="option">\g<0></span>', code[1]) + "</code>"

    return _CODE.sub(kept, html)
