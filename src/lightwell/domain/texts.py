"""Checks that a string is text that PostgreSQL and JSON can store, or makes it that, and splits lists in settings and options."""

import json
from collections.abc import Mapping
from typing import cast

from lightwell.domain.errors import Invalid
from lightwell.text.regex import regex

DROPPED = r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff"
"""Characters, as a class of a pattern has them, that a document's text is kept without: nobody sees them, or no store accepts them."""

_NOT_TEXT = regex("[\x00\ud800-\udfff]")
_MAX_METADATA_LENGTH = 2000
_ESCAPED_BYTES = range(0xDC80, 0xDD00)


def require_text(text: str, what: str) -> str:
    """Return the text; raise `Invalid` for a NUL, or a surrogate such as Python decodes bytes to that are not
    UTF-8.

    `what` begins the message: "The question".
    """
    match = _NOT_TEXT.search(text)
    if match is None:
        return text
    sign = ord(match[0])
    if sign in _ESCAPED_BYTES:
        raise Invalid(
            f"{what} contains the byte {sign - 0xDC00:#04x}, which is not UTF-8: set the terminal to UTF-8, or convert"
            " the text first, for example with `iconv -f LATIN1 -t UTF-8`"
        )
    if sign:
        raise Invalid(
            f"{what} contains U+{sign:04X}, half a character: send the whole character, or remove it"
        )
    raise Invalid(f"{what} contains a NUL character: remove it")


def only_text(text: str) -> str:
    """Return the text without NULs and surrogates, which no store and no reply can hold."""
    return _NOT_TEXT.sub("", text)


def keep_text(value: object) -> object:
    """Return JSON without the NULs and surrogates in it: whoever sent them by mistake cannot be asked."""
    if isinstance(value, str):
        return only_text(value)
    if isinstance(value, list):
        return [keep_text(element) for element in cast("list[object]", value)]
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value)
        return {str(keep_text(name)): keep_text(part) for name, part in parts.items()}
    return value


def metadata_texts(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return metadata with texts as values: what is no text becomes JSON. Raises `Invalid`."""
    texts = {
        key.strip(): value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in metadata.items()
    }
    for key, value in texts.items():
        if not key or max(len(key), len(value)) > _MAX_METADATA_LENGTH:
            raise Invalid(
                f"Keys and values of metadata have 1 to {_MAX_METADATA_LENGTH:,} characters"
            )
        require_text(key + value, "The metadata")
    return texts


def split_at_commas(text: str) -> list[str]:
    """Return the words of a list such as `a, b`, trimmed; [] for an empty text."""
    return [word.strip() for word in text.split(",") if word.strip()]
