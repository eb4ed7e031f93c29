"""Sitemaps: the addresses that a site says it has, with the dates of their last changes."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from lightwell.domain.errors import Unreadable
from lightwell.text.regex import regex

MAX_BYTES = 50 * 1000**2
"""Of one sitemap, unpacked: the protocol's own limit."""

_MAX_ENTRIES = 50_000
_PART = regex(r"<(?:\w++:)?(url|sitemap|loc|lastmod)(?=[\s>])[^<>]*+>([^<]*+)")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """An address, of a page or of another sitemap, and the date of its last change as it is written, "" for none."""

    url: str
    modified: str
    is_sitemap: bool


def parse_sitemap(content: bytes) -> list[SitemapEntry]:
    """Return the entries of a sitemap in XML, packed by gzip or not, or in plain text; raise `Unreadable`."""
    if content.startswith(_GZIP):
        content = _unpack(content)
    text = content.decode("utf-8-sig", "replace").lstrip()
    if text.startswith("<"):
        return list(_parse_xml(text.replace("<![CDATA[", "").replace("]]>", "")))
    lines = (line.strip() for line in text.splitlines()[:_MAX_ENTRIES])
    return [SitemapEntry(line, "", is_sitemap=False) for line in lines if line]


def _parse_xml(text: str) -> Iterator[SitemapEntry]:
    """Yield the entries, found by the names of their tags alone: nothing in the text is loaded or resolved."""
    kind, facts = "", dict[str, str]()
    for count, part in enumerate(_PART.finditer(text)):
        if count > 4 * _MAX_ENTRIES:
            return
        if part[1] in ("loc", "lastmod"):
            facts.setdefault(part[1], unescape(part[2]).strip())
            continue
        yield from _entry(kind, facts)
        kind, facts = part[1], {}
    yield from _entry(kind, facts)


def _entry(kind: str, facts: dict[str, str]) -> Iterator[SitemapEntry]:
    if kind and facts.get("loc"):
        yield SitemapEntry(facts["loc"], facts.get("lastmod", ""), is_sitemap=kind == "sitemap")


def _unpack(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(content, MAX_BYTES)
    except zlib.error:
        raise Unreadable("broken", "it is a broken gzip file") from None
    if unpacker.unconsumed_tail:
        raise Unreadable("too_large", f"unpacked it has more than {MAX_BYTES / 1000**2:,.0f} MB")
    return unpacked
