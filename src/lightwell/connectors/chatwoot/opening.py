"""Opens a Chatwoot account with the options of a source."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx

from lightwell.connectors.attachments import AttachmentReader
from lightwell.connectors.chatwoot.api import ChatwootApi, rate_limit_wait
from lightwell.connectors.chatwoot.source import ChatwootOptions, ChatwootSource
from lightwell.connectors.chatwoot.webhooks import WebhookCheck
from lightwell.connectors.opening import Api, open_api
from lightwell.connectors.source_options import (
    check_options,
    parse_base_url,
    parse_flag,
    parse_number,
    parse_seconds,
)
from lightwell.domain.errors import Invalid

_OPTIONS = (
    "base_url",
    "account",
    "unsigned_webhooks",
    "bot_messages",
    "max_attachment_bytes",
    "rewalk_seconds",
    "relist_seconds",
)


@asynccontextmanager
async def open_chatwoot(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[ChatwootSource]:
    """Open an account; raise `Invalid` for an option that is missing, not known, or has a wrong value.

    `webhook_secret` is "" where no signed webhooks are taken. `transport` stands for the network.
    """
    check_options("chatwoot", options, _OPTIONS)
    if "base_url" not in options:
        raise Invalid(
            "A source of Chatwoot needs the address of its server in LIGHTWELL_SOURCE_<NAME>_BASE_URL, such as https://chat.example.com"
        )
    if "account" not in options:
        raise Invalid("A source of Chatwoot needs the option account, its number")
    base_url, parsed = parse_base_url(options["base_url"]), _parse_options(options)
    account = parse_number(options, "account", 0)
    files = AttachmentReader(base_url=base_url, max_bytes=parsed.max_file_bytes)
    api = Api(
        name="Chatwoot",
        base_url=base_url,
        headers={"api_access_token": token},
        rate_limit_wait=rate_limit_wait,
    )
    async with open_api(api, transport) as client:
        yield ChatwootSource(
            api=ChatwootApi(client=client, account=account),
            base_url=base_url,
            options=parsed,
            webhook_check=WebhookCheck(
                secret=webhook_secret,
                takes_unsigned=parse_flag(options, "unsigned_webhooks"),
                account=account,
            ),
            read_file=files.read,
            now=lambda: datetime.now(UTC),
        )


def _parse_options(options: Mapping[str, str]) -> ChatwootOptions:
    max_bytes = parse_number(options, "max_attachment_bytes", ChatwootOptions().max_file_bytes)
    return ChatwootOptions(
        rewalk=timedelta(seconds=parse_seconds(options, "rewalk_seconds", 7 * 86_400)),
        relist=timedelta(seconds=parse_seconds(options, "relist_seconds", 6 * 3600)),
        reads_bots=parse_flag(options, "bot_messages"),
        max_file_bytes=max_bytes,
    )
