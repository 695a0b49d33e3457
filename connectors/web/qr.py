"""QR codes of addresses."""

from io import BytesIO
from typing import TextIO

# An address with a token or the secret of a room has at most some 200 characters.
_MAX_CHARACTERS = 1000


def svg_of(address: str) -> bytes | None:
    """The code of an address as an SVG picture with its margin; None if it is not an address, or too long."""
    if not address.startswith(("http://", "https://")) or len(address) > _MAX_CHARACTERS:
        return None
    # Imported here, because few servers need it.
    import segno

    picture = BytesIO()
    # Letters are encoded, not drawn, so the address cannot become markup.
    segno.make(address, error="m", micro=False).save(
        picture, kind="svg", scale=8, light="#fff", xmldecl=False
    )
    return picture.getvalue()


def show_code(address: str, out: TextIO) -> None:
    """Draw the code of an address on a terminal that has the characters; other outputs are left alone."""
    if not out.isatty() or (out.encoding or "").lower().replace("-", "") != "utf8":
        return
    import segno

    segno.make(address, error="l", micro=False).terminal(out, border=2, compact=True)
