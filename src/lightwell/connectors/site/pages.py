"""What a page says to those who read it by machine: its title, its links, where it belongs, and what it would rather not."""

import hashlib
import html
import re
from dataclasses import dataclass

import httpx

from lightwell.text.regex import regex

_MAX_LINKS = 2_000
_MAX_URL = 1_000
_TAG = regex(r"<(a|area|base|link|meta)(?=[\s/>])([^<>]*+)>", re.I)
_ATTRIBUTE = regex(
    r"""\b(href|rel|name|content)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.I
)
_TITLE = regex(r"<title(?=[\s>])[^<>]*+>([^<]*+)<", re.I)
_ANY_TAG = regex(r"<(/?[a-zA-Z]\w*+)[^<>]*+>")
_TRACKING = regex(r"utm_\w+|gclid|fbclid|mc_[ce]id|ref_src|phpsessid|jsessionid", re.I)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HIDDEN = ((b"<script", b"</script"), (b"<style", b"</style"), (b"<!--", b"-->"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """`links` are canonical addresses, each once; `canonical` is the page's own as it says it, "" where it says none."""

    title: str
    links: tuple[str, ...]
    canonical: str
    is_listed: bool
    text_hash: str


def read_facts(content: bytes, url: str) -> PageFacts:
    """Return the facts of a page in HTML at this address."""
    shown = _without_hidden(content).decode("utf-8", "replace")
    base, canonical = httpx.URL(url), ""
    hrefs: list[str] = []
    words: set[str] = set()
    for match in _TAG.finditer(shown):
        attributes = _attributes(match[2])
        href = attributes.get("href", "").strip()
        rel = attributes.get("rel", "").lower().split()
        match match[1].lower():
            case "base" if href:
                base = join(base, href) or base
            case "link" if "canonical" in rel:
                canonical = href
            case "meta" if attributes.get("name", "").lower() in ("robots", "lightwell"):
                words.update(attributes.get("content", "").lower().replace(",", " ").split())
            case "a" | "area" if "nofollow" not in rel:
                hrefs.append(href.partition("#")[0])
            case _:
                pass
    distinct = [href for href in dict.fromkeys(hrefs) if href][:_MAX_LINKS]
    joined = (join(base, href) for href in distinct)
    links = dict.fromkeys(canonical_url(link) for link in joined if link is not None)
    declared = join(base, canonical) if canonical else None
    title_tag = _TITLE.search(shown)
    return PageFacts(
        title=" ".join(html.unescape(title_tag[1]).split()) if title_tag else "",
        links=() if words & {"nofollow", "none"} else tuple(links),
        canonical=canonical_url(declared) if declared is not None else "",
        is_listed=not words & {"noindex", "none"},
        text_hash=hashlib.sha256(_visible(shown).encode("utf-8", "replace")).hexdigest(),
    )


def canonical_url(url: httpx.URL) -> str:
    """Return the address as one of all that mean the same: without fragment, default port and what only tracks a reader."""
    port = None if url.port == _DEFAULT_PORTS.get(url.scheme) else url.port
    plain = url.copy_with(fragment=None, port=port)
    kept = "&".join(
        pair
        for pair in url.query.decode("ascii", "replace").split("&")
        if pair and not _TRACKING.fullmatch(pair.partition("=")[0])
    )
    return str(plain.copy_with(query=kept.encode() or None))


def join(base: httpx.URL, href: str) -> httpx.URL | None:
    """Return the address that a link leads to, None for one that leads to no page of the web."""
    try:
        url = base.join(html.unescape(href))
        is_page = url.scheme in ("http", "https") and bool(url.host) and not url.userinfo
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return None
    return url if is_page and len(str(url)) <= _MAX_URL else None


def _attributes(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        values.setdefault(match[1].lower(), html.unescape(match[2] or match[3] or match[4] or ""))
    return values


def _without_hidden(content: bytes) -> bytes:
    """Return the page without scripts, styles and comments, in one walk for each."""
    for start, end in _HIDDEN:
        content = _without(content, start, end)
    return content


def _without(content: bytes, start: bytes, end: bytes) -> bytes:
    lower = content.lower()
    parts: list[bytes] = []
    place = 0
    while (begin := lower.find(start, place)) >= 0:
        parts.append(content[place:begin])
        stop = lower.find(end, begin + len(start))
        if stop < 0:
            return b"".join(parts)
        place = stop + len(end)
    return b"".join([*parts, content[place:]])


def _visible(text: str) -> str:
    """Return what the page's text is made of: its words, and the names of its tags without their attributes, which differ from one request to the next."""
    return " ".join(_ANY_TAG.sub(r" <\1 ", text).split())
