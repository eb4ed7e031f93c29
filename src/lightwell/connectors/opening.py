"""Opens the HTTP API of a business system, as all connectors do, with the options that people type."""

import hashlib
import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from lightwell.connectors.api_client import ACCEPT_ENCODING, ApiClient, RateLimitWait, usual_wait
from lightwell.domain.business_systems import TAGS_OPTION, parse_stated_tags
from lightwell.domain.errors import Invalid

_TIMEOUT_SECONDS = 60.0
_MAX_SECONDS = 30 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Where a system's API is, and how it is called. `name` is for messages; `headers` hold the credentials."""

    name: str
    base_url: str
    headers: Mapping[str, str]
    rate_limit_wait: RateLimitWait = usual_wait


@asynccontextmanager
async def open_api(
    api: Api, transport: httpx.AsyncBaseTransport | None
) -> AsyncGenerator[ApiClient]:
    """Open the API; raise `Invalid` for an address or credentials that are none. `transport` stands for the network.

    Redirects are not followed, so the credentials go to this address alone.
    """
    for value in api.headers.values():
        if not value.isascii() or not value.isprintable():
            raise Invalid(
                f"The token of {api.name} has characters that no token has; copy it again"
            )
    async with httpx.AsyncClient(
        base_url=parse_base_url(api.base_url),
        headers={**api.headers, "user-agent": "Lightwell", "accept-encoding": ACCEPT_ENCODING},
        timeout=_TIMEOUT_SECONDS,
        transport=transport,
    ) as client:
        yield ApiClient(name=api.name, client=client, rate_limit_wait=api.rate_limit_wait)


def check_options(system: str, options: Mapping[str, str], names: Collection[str]) -> None:
    """Raise `Invalid` for an option that the system does not have."""
    if unknown := sorted(options.keys() - set(names)):
        raise Invalid(f"{system} has no option {unknown[0]!r}; its options are: {', '.join(names)}")


def check_stated_options(system: str, options: Mapping[str, str], names: Collection[str]) -> None:
    """Raise `Invalid` for an option that the system does not have, or where none says who sees what it reads."""
    stated = {name for name in options if name.partition("/")[0] == TAGS_OPTION}
    check_options(
        system, {name: options[name] for name in options.keys() - stated}, [*names, TAGS_OPTION]
    )
    if not parse_stated_tags(options).all:
        raise Invalid(
            f"A source of {system} needs the option {TAGS_OPTION}: the access tags of who sees what it reads"
        )


def fingerprint_of(options: Mapping[str, str]) -> str:
    """Return what stands for the options in a cursor: it is another one as soon as any option is."""
    return hashlib.sha256(json.dumps(sorted(options.items())).encode()).hexdigest()[:16]


def parse_base_url(text: str, schemes: Sequence[str] = ("https", "http")) -> str:
    """Return the address of a server without a slash at its end; raise `Invalid` unless it is one, by one of these schemes."""
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise Invalid(f"base_url is not a URL: {error}") from None
    if url.scheme not in schemes or not url.host or url.userinfo or url.query:
        raise Invalid(f"base_url is an address such as {schemes[0]}://chat.example.com")
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
