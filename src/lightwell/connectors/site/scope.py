"""Which addresses belong to a site: those on the hosts and below the folders of the addresses that it starts at."""

from dataclasses import dataclass
from pathlib import PurePosixPath

import httpx

from lightwell.connectors.site.pages import canonical_url
from lightwell.domain.errors import Invalid
from lightwell.domain.texts import split_at_commas

_MAX_STARTS = 20
_ASSETS = frozenset(
    """.png .jpg .jpeg .gif .bmp .tif .tiff .webp .svg .ico .mp3 .wav .ogg .m4a .mp4 .mov .avi .mkv .webm .zip .gz .tgz
    .bz2 .xz .zst .7z .rar .tar .jar .whl .deb .rpm .iso .dmg .exe .msi .ttf .otf .woff .woff2 .css .js .mjs .map
    .rss .atom .xml .asc .sig .sha256 .inv""".split()
)
"""Extensions of what has no text to read; it is not even asked for."""

_DETOURS = frozenset((".", ".."))
"""Parts of a path, written with `%2e` or a backslash: otherwise a URL has none."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The starts of a site, all on one host."""

    starts: tuple[httpx.URL, ...]

    def has_host(self, url: httpx.URL) -> bool:
        """Return whether the address is on a host that the site starts at, by its scheme or by HTTPS."""
        return any(_with_scheme(url, start) is not None for start in self.starts)

    def place(self, url: httpx.URL) -> str:
        """Return the canonical address of what belongs to the site, "" for all else.

        So is a path that a server reads as another one: where it lies says who sees it.
        """
        if not _DETOURS.isdisjoint(url.path.replace("\\", "/").split("/")):
            return ""
        for start in self.starts:
            same = _with_scheme(url, start)
            if same is not None and _is_below(same.path, start.path):
                return canonical_url(same)
        return ""

    def contains(self, url: httpx.URL) -> bool:
        return bool(self.place(url))

    def is_asset(self, url: str) -> bool:
        return PurePosixPath(httpx.URL(url).path).suffix.lower() in _ASSETS


def parse_starts(text: str) -> Scope:
    """Return the scope of addresses with commas between them; raise `Invalid`."""
    words = split_at_commas(text)
    if not words:
        raise Invalid("A site needs the option urls: where to start, as https://docs.example.com/")
    if len(words) > _MAX_STARTS:
        raise Invalid(f"A site starts at {_MAX_STARTS} addresses at most")
    starts: list[httpx.URL] = []
    for word in words:
        try:
            url = httpx.URL(word)
        except httpx.InvalidURL as error:
            raise Invalid(f"{word!r} is not a URL: {error}") from None
        if url.scheme not in ("http", "https") or not url.host or url.userinfo:
            raise Invalid(f"{word!r} is no address of a site, such as https://docs.example.com/")
        starts.append(url.copy_with(fragment=None))
    if any(url.host != starts[0].host or url.port != starts[0].port for url in starts):
        raise Invalid("A site has one host: add a source for each of several")
    return Scope(tuple(starts))


def _with_scheme(url: httpx.URL, start: httpx.URL) -> httpx.URL | None:
    """Return the address with the start's scheme, None if it is on another host or port."""
    if url.host.lower() != start.host.lower():
        return None
    if (url.scheme, url.port) == (start.scheme, start.port):
        return url
    if url.port is None and start.port is None:
        return url.copy_with(scheme=start.scheme)
    return None


def _is_below(path: str, start: str) -> bool:
    """Return whether a path is the start's, or below its folder: that of `/guide/index.html` and of `/guide` is `/guide/`."""
    folder, _, last = start.rpartition("/")
    root = f"{folder}/" if "." in last else f"{start.rstrip('/')}/"
    return path in (start, root.rstrip("/")) or path.startswith(root)
