"""Opens an Attio workspace with the options of a source."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx

from lightwell.connectors.attio.api import BASE_URL, AttioApi, rate_limit_wait
from lightwell.connectors.attio.directory import CallReaders
from lightwell.connectors.attio.source import AttioOptions, AttioSource
from lightwell.connectors.opening import Api, open_api
from lightwell.connectors.source_options import check_options, parse_seconds
from lightwell.domain.errors import Invalid

_OPTIONS = ("base_url", "relist_seconds", "relist_comments_seconds", "call_readers")


@asynccontextmanager
async def open_attio(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
    *,
    asked_at: datetime | None = None,
) -> AsyncGenerator[AttioSource]:
    """Open the workspace of a token; raise `Invalid` for an option that is not known or has a wrong value.

    `webhook_secret` is "" where no webhooks are taken. `transport` stands for the network. What was
    listed before `asked_at`, when a person asked for a sync, is listed in full again.
    """
    parsed = parse_options(options)
    api = Api(
        name="Attio",
        base_url=options.get("base_url", BASE_URL),
        headers={"authorization": f"Bearer {token}"},
        rate_limit_wait=rate_limit_wait,
    )
    async with open_api(api, transport) as client:
        yield AttioSource(
            api=AttioApi(client),
            webhook_secret=webhook_secret,
            options=parsed,
            asked_at=asked_at,
            now=lambda: datetime.now(UTC),
        )


def parse_options(options: Mapping[str, str]) -> AttioOptions:
    """Return the options of a source; raise `Invalid`."""
    check_options("attio", options, _OPTIONS)
    readers = options.get("call_readers", CallReaders.ADMINISTRATORS)
    if readers not in list(CallReaders):
        raise Invalid(f"call_readers is one of: {', '.join(CallReaders)}")
    relist = parse_seconds(options, "relist_seconds", 1800)
    comments = parse_seconds(options, "relist_comments_seconds", 86_400)
    return AttioOptions(
        relist=timedelta(seconds=relist),
        relist_comments=timedelta(seconds=comments),
        call_readers=CallReaders(readers),
    )
