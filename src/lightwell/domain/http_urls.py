"""Checks of addresses that settings name."""

from urllib.parse import urlsplit


def is_http_url(value: str) -> bool:
    """Return whether it is an address of HTTP with a host."""
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_origin(value: str) -> bool:
    """Return whether it is the address of a server, without a path."""
    parts = urlsplit(value) if is_http_url(value) else None
    return parts is not None and parts.path in ("", "/") and not parts.query + parts.fragment
