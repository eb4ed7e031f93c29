"""Rate limits in the database, so that they hold across processes and hosts."""

from collections.abc import Sequence

from lightwell.domain.rate_limits import Allowance, Quota, make_allowance
from lightwell.records.database import Database

# A bucket is kept as the time at which it is full again. A request moves that time by its share of a minute, unless it would
# then lie more than a minute ahead: then nothing is written, and nothing returned for that bucket.
_TAKE = """
WITH wanted AS (
    SELECT * FROM unnest(%(names)s::text[], %(quotas)s::float8[]) AS wanted (name, quota)
), taken AS (
    INSERT INTO rate_limits AS held (name, quota, full_at)
    SELECT name, quota, now() + make_interval(secs => 60 / quota) FROM wanted ORDER BY name
    ON CONFLICT (name) DO UPDATE
    SET quota = EXCLUDED.quota,
        full_at = greatest(held.full_at, now()) + make_interval(secs => 60 / EXCLUDED.quota)
    WHERE greatest(held.full_at, now()) + make_interval(secs => 60 / EXCLUDED.quota) <= now() + interval '60 s'
    RETURNING name, full_at
)
SELECT wanted.name, taken.name IS NOT NULL,
       extract(epoch FROM coalesce(taken.full_at, before.full_at, now() + interval '60 s') - now())::float8
FROM wanted LEFT JOIN taken USING (name) LEFT JOIN rate_limits AS before USING (name)
"""

_DELETE_FULL = "DELETE FROM rate_limits WHERE full_at < now()"


async def take(database: Database, quotas: Sequence[Quota]) -> list[Allowance]:
    """Count one request for each of these quotas, in one statement; return what is left of each, in their order.

    A quota that allows it counts the request even where another one refuses it.
    """
    wanted = {
        "names": [quota.bucket for quota in quotas],
        "quotas": [float(quota.requests) for quota in quotas],
    }
    by_name = {quota.bucket: quota for quota in quotas}
    left = {
        name: make_allowance(by_name[name], full_in, allowed=allowed)
        for name, allowed, full_in in await database.rows(_TAKE, wanted)
    }
    return [left[quota.bucket] for quota in quotas]


async def delete_full(database: Database) -> None:
    """Delete the buckets that are full: they are as good as new."""
    await database.execute(_DELETE_FULL, {})
