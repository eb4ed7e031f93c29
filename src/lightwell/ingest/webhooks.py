"""Takes webhooks of business systems: as hints what to fetch, each once, and none that is not genuine."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.business_systems import SourceId
from lightwell.domain.errors import Invalid, Refused
from lightwell.domain.ids import ProjectId
from lightwell.domain.source_items import WebhookHint
from lightwell.ingest.context import OpenConnector
from lightwell.logs import logger
from lightwell.records import item_fetches, sources
from lightwell.records.database import Database, repeatable

_MAX_REFS, _MAX_LENGTH = 1000, 500
"""Most items that one webhook may name, and most characters of a reference or a delivery."""

_REFUSED = "The source is unknown, or the webhook is not genuine"

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A request as it came; names of headers are in lower case. `received_at` has a time zone."""

    headers: Mapping[str, str]
    body: bytes
    received_at: datetime


async def take_webhook(
    database: Database, open_connector: OpenConnector, source_id: SourceId, webhook: Webhook
) -> ProjectId:
    """Store what a webhook says has changed, to be fetched at once, and return the source's project.

    The same delivery again has no effect. Raises `Refused`, with the same message for an unknown source as for a wrong
    signature, and `Invalid` for a genuine webhook that cannot be read.
    """
    source = await sources.find_by_id(database, source_id)
    if source is None:
        raise Refused(_REFUSED)
    async with AsyncExitStack() as stack:
        try:
            connector = await stack.enter_async_context(open_connector(source))
        except Invalid as error:  # what is wrong here is no business of whoever sends
            _log.warning("a webhook was refused", source=source.name, why=str(error))
            raise Refused(_REFUSED) from error
        try:
            hint = connector.read_webhook(webhook.headers, webhook.body, webhook.received_at)
        except Refused as error:
            _log.info("a webhook was refused", source=source.name, why=str(error))
            raise Refused(_REFUSED) from error
    words = (hint.delivery, *hint.refs)
    if len(hint.refs) > _MAX_REFS or any(not 0 < len(word) <= _MAX_LENGTH for word in words):
        raise Invalid("The webhook names too many items, or one with too long a name")
    if any(not ref.startswith(f"{source.system}:") for ref in hint.refs):
        raise Invalid(f"The webhook names an item that is not of {source.system}")
    await _store(database, source_id, hint)
    return source.project_id


@repeatable
async def _store(database: Database, source: SourceId, hint: WebhookHint) -> None:
    async with database.transaction() as connection:
        is_new = await item_fetches.take_delivery(connection, source, hint.delivery)
        await sources.count_webhook(connection, source, is_new=is_new)
        if not is_new:
            return
        await item_fetches.request(connection, source, hint.refs)
        if hint.directory:
            await sources.request_directory(connection, source)
