"""Opens repositories of GitHub with the options of a source."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx

from lightwell.connectors.github.api import BASE_URL, HEADERS, GithubApi, rate_limit_wait
from lightwell.connectors.github.models import NAME_PATTERN
from lightwell.connectors.github.source import GithubOptions, GithubSource
from lightwell.connectors.opening import Api, open_api
from lightwell.connectors.source_options import check_options, parse_flag
from lightwell.domain.errors import Invalid

_OPTIONS = ("repositories", "base_url", "skip_profiles")
_NAME = re.compile(NAME_PATTERN)
_MAX_REPOSITORIES = 100


@asynccontextmanager
async def open_github(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[GithubSource]:
    """Open the repositories that the options name; raise `Invalid` for an option that is missing, not known or wrong.

    `webhook_secret` is "" where no webhooks are taken. `transport` stands for the network.
    """
    parsed = parse_options(options)
    api = Api(
        name="GitHub",
        base_url=options.get("base_url", BASE_URL),
        headers={**HEADERS, "authorization": f"Bearer {token}"},
        rate_limit_wait=rate_limit_wait,
    )
    async with open_api(api, transport) as client:
        yield GithubSource(
            api=GithubApi(client),
            options=parsed,
            webhook_secret=webhook_secret,
            now=lambda: datetime.now(UTC),
        )


def parse_options(options: Mapping[str, str]) -> GithubOptions:
    """Return the options of a source; raise `Invalid`."""
    check_options("github", options, _OPTIONS)
    names = [each.strip() for each in options.get("repositories", "").split(",") if each.strip()]
    if not names:
        raise Invalid("A source of GitHub needs the option repositories: owner/name,owner/other")
    if len(names) > _MAX_REPOSITORIES:
        raise Invalid(f"A source of GitHub has at most {_MAX_REPOSITORIES} repositories")
    for name in names:
        if not _NAME.fullmatch(name):
            raise Invalid(f"{name!r} is not a repository; write owner/name")
    return GithubOptions(
        repositories=tuple(dict.fromkeys(names)),
        skips_profiles=parse_flag(options, "skip_profiles"),
    )
