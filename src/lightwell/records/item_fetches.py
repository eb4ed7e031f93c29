"""Items to fetch by their references, webhooks that were taken, and sweeps: what is asked of a source beside its streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.business_systems import ItemFailure, SourceId
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import UnreadableItem
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch

# Rows are written in the order of their keys, so that two transactions do not deadlock.
_REQUEST = """
INSERT INTO item_fetches (source_id, item_ref)
SELECT %(source)s, ref FROM unnest(%(refs)s::text[]) AS ref GROUP BY ref ORDER BY ref
ON CONFLICT (source_id, item_ref) DO UPDATE SET requested_at = now(), due_at = least(item_fetches.due_at, now())
"""

# An item that fails again waits twice as long each time, from a minute to a day.
_FAIL = """
INSERT INTO item_fetches (source_id, item_ref, reason, message, attempts, due_at)
SELECT DISTINCT ON (ref) %(source)s, ref, reason, message, 1, now() + interval '1 minute'
FROM unnest(%(refs)s::text[], %(reasons)s::text[], %(messages)s::text[]) AS failed (ref, reason, message) ORDER BY ref
ON CONFLICT (source_id, item_ref) DO UPDATE
SET reason = excluded.reason, message = excluded.message, attempts = item_fetches.attempts + 1,
    due_at = now() + make_interval(secs => least(86400, 60 * 2 ^ least(item_fetches.attempts, 11)))
"""

# What was requested after the source was asked is newer than its reply, so it stays.
_RESOLVE = """
DELETE FROM item_fetches
WHERE source_id = %(source)s AND item_ref = ANY(%(refs)s) AND requested_at <= %(asked_at)s
"""

_DUE = """
SELECT item_ref FROM item_fetches WHERE source_id = %(source)s AND due_at <= %(now)s AND item_ref > %(after)s
ORDER BY item_ref LIMIT %(limit)s
"""

_FAILURES = """
SELECT item_ref AS ref, reason, message, attempts, due_at FROM item_fetches
WHERE source_id = %(source)s AND reason <> '' ORDER BY due_at, item_ref LIMIT %(limit)s
"""

_COUNT_FAILURES = "SELECT count(*) FROM item_fetches WHERE source_id = %(source)s AND reason <> ''"

_RETRY = """
UPDATE item_fetches SET due_at = now(), requested_at = now() WHERE source_id = %(source)s AND reason <> ''
"""

_TAKE = """
INSERT INTO webhook_deliveries (source_id, delivery) VALUES (%(source)s, %(delivery)s) ON CONFLICT DO NOTHING
"""

_FORGET_DELIVERIES = """
DELETE FROM webhook_deliveries WHERE source_id = %(source)s AND received_at < now() - interval '7 days'
"""

_BEGIN_SWEEP = "DELETE FROM swept_items WHERE source_id = %(source)s"

_SWEEP = """
INSERT INTO swept_items (source_id, item_ref)
SELECT %(source)s, ref FROM unnest(%(refs)s::text[]) AS ref GROUP BY ref ORDER BY ref ON CONFLICT DO NOTHING
"""

_COUNT_MISSING = """
SELECT split_part(stored.item_ref, ':', 2) AS kind, count(*) AS stored,
       count(*) FILTER (WHERE NOT EXISTS (SELECT FROM swept_items AS swept
                                          WHERE swept.source_id = %(source)s AND swept.item_ref = stored.item_ref)) AS missing
FROM (SELECT DISTINCT item_ref FROM source_documents WHERE source_key = %(source)s AND NOT is_deleted) AS stored
GROUP BY 1 ORDER BY 1
"""

_REQUEST_MISSING = """
INSERT INTO item_fetches (source_id, item_ref)
SELECT DISTINCT document.source_key, document.item_ref FROM source_documents AS document
WHERE source_key = %(source)s AND NOT is_deleted
  AND NOT EXISTS (SELECT FROM swept_items AS swept
                  WHERE swept.source_id = document.source_key AND swept.item_ref = document.item_ref)
ORDER BY 1, 2
ON CONFLICT (source_id, item_ref) DO UPDATE SET requested_at = now(), due_at = least(item_fetches.due_at, now())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """How many items of a kind are stored, and how many of them a complete listing does not name."""

    kind: str
    stored: int
    missing: int


async def request(connection: Connection, source: SourceId, refs: Sequence[GlobalRef]) -> None:
    """Remember to fetch these items now; several requests for one item are one fetch."""
    await connection.execute(_REQUEST, {"source": source, "refs": list(refs)})


async def record_failures(
    connection: Connection, source: SourceId, failed: Sequence[UnreadableItem]
) -> None:
    """Remember items that could not be read; each is tried again, after a longer time with each failure."""
    await connection.execute(
        _FAIL,
        {
            "source": source,
            "refs": [item.ref for item in failed],
            "reasons": [item.reason for item in failed],
            "messages": [item.message for item in failed],
        },
    )


async def resolve(
    connection: Connection, source: SourceId, refs: Sequence[GlobalRef], asked_at: datetime
) -> None:
    """Forget the requests for these items that are not newer than `asked_at`, when the source was asked for them."""
    fields = {"source": source, "refs": list(refs), "asked_at": asked_at}
    await connection.execute(_RESOLVE, fields)


async def list_due(
    database: Database, source: SourceId, now: datetime, *, after: str, limit: int
) -> list[GlobalRef]:
    """Return up to `limit` items that are due at `now`, those after the reference `after`."""
    fields = {"source": source, "now": now, "after": after, "limit": limit}
    return await database.values(_DUE, fields)


async def list_failures(database: Database, source: SourceId, *, limit: int) -> list[ItemFailure]:
    """Return items that could not be read, those that are fetched again first."""
    return await database.rows(_FAILURES, {"source": source, "limit": limit}, into=ItemFailure)


async def count_failures(database: Database, source: SourceId) -> int:
    """Return how many items could not be read."""
    return await database.value(_COUNT_FAILURES, {"source": source})


async def retry_failures(database: Database, source: SourceId) -> int:
    """Make all items that could not be read due now; return their number."""
    return await database.execute(_RETRY, {"source": source})


async def take_delivery(connection: Connection, source: SourceId, delivery: str) -> bool:
    """Remember a webhook's delivery; return whether it is new."""
    fields = {"source": source, "delivery": delivery}
    await connection.execute(_FORGET_DELIVERIES, fields)
    return bool((await connection.execute(_TAKE, fields)).rowcount)


async def begin_sweep(database: Database, source: SourceId) -> None:
    """Forget what an earlier sweep listed."""
    await database.execute(_BEGIN_SWEEP, {"source": source})


async def add_swept(connection: Connection, source: SourceId, refs: Sequence[GlobalRef]) -> None:
    """Remember part of a listing."""
    await connection.execute(_SWEEP, {"source": source, "refs": list(refs)})


async def count_missing(connection: Connection, source: SourceId) -> list[KindCount]:
    """Return by kind how many stored items a complete listing does not name."""
    return await fetch(connection, _COUNT_MISSING, {"source": source}, into=KindCount)


async def request_missing(connection: Connection, source: SourceId) -> None:
    """Remember to fetch the items that a complete listing does not name: the system itself says whether they are gone."""
    await connection.execute(_REQUEST_MISSING, {"source": source})
