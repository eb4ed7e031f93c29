"""Options of sources, which people type: addresses, numbers of seconds."""

from collections.abc import Collection, Mapping

import httpx

from lightwell.domain.errors import Invalid

_MAX_SECONDS = 30 * 86_400


def check_options(system: str, options: Mapping[str, str], known: Collection[str]) -> None:
    """Raise `Invalid` for an option that the system does not have."""
    if unknown := sorted(options.keys() - set(known)):
        raise Invalid(f"{system} has no option {unknown[0]!r}; its options are: {', '.join(known)}")


def parse_base_url(text: str) -> str:
    """Return the address of a server without a slash at its end; raise `Invalid` unless it is one."""
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise Invalid(f"base_url is not a URL: {error}") from None
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query:
        raise Invalid("base_url is an address such as https://chat.example.com")
    return str(url.copy_with(fragment=None)).rstrip("/")


def parse_seconds(options: Mapping[str, str], name: str, default: int) -> int:
    """Return an option that is a number of seconds, up to 30 days; raise `Invalid`."""
    text = options.get(name, str(default)).strip()
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= _MAX_SECONDS):
        raise Invalid(f"{name} is a number of seconds, up to {_MAX_SECONDS:,}")
    return int(text)


def parse_number(options: Mapping[str, str], name: str, default: int) -> int:
    """Return an option that is a positive number; raise `Invalid`."""
    text = options.get(name, str(default)).strip()
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**31):
        raise Invalid(f"{name} is a positive number")
    return int(text)


def parse_flag(options: Mapping[str, str], name: str) -> bool:
    """Return an option that is `true` or `false`, false without it; raise `Invalid`."""
    text = options.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise Invalid(f"{name} is true or false")
    return text == "true"
