"""What a page would load or follow when it shows a model's reply: addresses, images, HTML.

A reply that carries an address of its own making could carry what the model read to whoever owns the address. So each one
stands only where the cited passage has exactly the same.
"""

import re
from collections.abc import Sequence
from html import unescape

_IMAGE = re.compile(r"!\[[^\[\]]{0,300}\](?:\([^()\s]{0,2000}[^()]{0,300}\)|\[[^\[\]]{0,300}\])?")
_LINK_TARGET = re.compile(r"\]\(\s{0,9}<?([^()<>\s]{1,2000})")
_LINK_DEFINITION = re.compile(r"^[ ]{0,3}\[[^\[\]]{1,300}\]:[ \t]{0,9}(\S+)", re.MULTILINE)
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>?")
_ADDRESS = re.compile(
    r"(?<![\w.+-])(?:[a-z][a-z0-9+.-]{0,30}:)?[/\\\\]{2}[^\s<>\"'`\[\]]+"
    r"|(?<![\w.+-])(?:www\.|(?:data|javascript|vbscript|mailto|file|blob|tel|sms):)[^\s<>\"'`\[\]]+"
    r"|(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.){1,9}[a-z]{2,24}(?::\d{1,5})?[/?#][^\s<>\"'`\[\]]*",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.){1,9}[a-z]{2,24}(?![\w-]|\.\w)", re.IGNORECASE
)
"""A bare host, which some pages make a link of, or a file's name: it may stand in any part of the passage."""
_CLOSING = ".,;:!?)*_"


def active_parts(text: str) -> frozenset[str]:
    """Return the addresses, images and HTML tags of a text, as they stand there or behind HTML's escapes."""
    shown = f"{text}\n{unescape(text)}"
    addresses = (*_LINK_TARGET.findall(shown), *_LINK_DEFINITION.findall(shown))
    plain = (found.rstrip(_CLOSING) for found in (*_ADDRESS.findall(shown), *addresses))
    return frozenset((*_IMAGE.findall(shown), *_TAG.findall(shown), *plain)) - {""}


def are_quoted(text: str, passages: Sequence[str]) -> bool:
    """Return whether each address, image and HTML tag of a text stands word for word in one of the passages."""
    parts = active_parts(text)
    if not parts <= frozenset[str]().union(*map(active_parts, passages)):
        return False
    return all(any(host in passage for passage in passages) for host in _HOST.findall(text))
