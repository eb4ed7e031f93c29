"""What is text at all."""

import re

from lightwell.domain.errors import Invalid

_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_ESCAPED_BYTES = range(0xDC80, 0xDD00)


def require_text(text: str, what: str) -> str:
    """Return the text; raise `Invalid` where it holds a NUL or half a character, as bytes become that are no UTF-8.

    `what` begins the message: "The question".
    """
    wrong = _NO_TEXT.search(text)
    if wrong is None:
        return text
    sign = ord(wrong[0])
    if sign in _ESCAPED_BYTES:
        raise Invalid(
            f"{what} holds the byte {sign - 0xDC00:#04x}, which is no UTF-8: set the terminal to UTF-8, or convert"
            " the text first, as `iconv -f LATIN1 -t UTF-8` does"
        )
    if sign:
        raise Invalid(
            f"{what} holds U+{sign:04X}, half a character: send the whole one, or leave it out"
        )
    raise Invalid(f"{what} holds a NUL character: leave it out")
