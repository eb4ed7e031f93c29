"""What lines of pushes have named, the runs that push everything, and the groups of a push source."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.business_systems import Source, SourceId
from lightwell.domain.ids import DocumentId, GlobalRef, new_id
from lightwell.domain.pushes import Grant, PushedGroup
from lightwell.records.database import Connection
from lightwell.records.item_fetches import KindCount
from lightwell.records.rows import fetch, fetch_values

_VERSIONS = """
SELECT item_ref, version FROM pushed_items WHERE source_id = %(source)s AND item_ref = ANY(%(refs)s)
"""

# What no run asks for is not written again.
_LAST_RUN = """
SELECT coalesce(max(number), 0) FROM push_runs WHERE source_id = %(source)s AND ended_at IS NULL
"""

_NOTE = f"""
INSERT INTO pushed_items (source_id, item_ref, version, seen_by)
SELECT %(source)s, ref, version, ({_LAST_RUN}) FROM unnest(%(refs)s::text[], %(versions)s::bigint[]) AS named (ref, version) ORDER BY ref
ON CONFLICT (source_id, item_ref) DO UPDATE
SET version = excluded.version, seen_by = greatest(pushed_items.seen_by, excluded.seen_by)
WHERE pushed_items.version IS DISTINCT FROM excluded.version OR pushed_items.seen_by < excluded.seen_by
"""  # noqa: S608 - only our own words

_SEE = f"""
UPDATE pushed_items SET seen_by = ({_LAST_RUN})
FROM (SELECT item_ref FROM pushed_items WHERE source_id = %(source)s AND item_ref = ANY(%(refs)s)
      ORDER BY item_ref FOR UPDATE) AS named
WHERE source_id = %(source)s AND pushed_items.item_ref = named.item_ref AND seen_by < ({_LAST_RUN})
"""  # noqa: S608 - only our own words

_FORGET_RUNS = """
DELETE FROM push_runs WHERE source_id = %(source)s AND started_at < now() - interval '90 days'
"""

_OPEN_RUN = """
INSERT INTO push_runs (source_id, name) VALUES (%(source)s, %(name)s) ON CONFLICT DO NOTHING
"""

_ADD_UNREAD = """
UPDATE push_runs SET unread = unread + %(unread)s WHERE source_id = %(source)s AND name = %(name)s
"""

_RUN = """
SELECT name, number, ended_at, unread FROM push_runs WHERE source_id = %(source)s AND name = %(name)s
"""

_END_RUN = "UPDATE push_runs SET ended_at = now() WHERE source_id = %(source)s AND name = %(name)s"

_COUNT_UNSEEN = """
SELECT 'item' AS kind, count(*) AS stored, count(*) FILTER (WHERE pushed.seen_by < %(run)s) AS missing
FROM source_documents AS document
JOIN pushed_items AS pushed ON pushed.source_id = document.source_key AND pushed.item_ref = document.item_ref
WHERE document.source_key = %(source)s AND NOT document.is_deleted
"""

_LIST_UNSEEN = """
SELECT document.item_ref FROM source_documents AS document
JOIN pushed_items AS pushed ON pushed.source_id = document.source_key AND pushed.item_ref = document.item_ref
WHERE document.source_key = %(source)s AND NOT document.is_deleted AND pushed.seen_by < %(run)s
ORDER BY document.item_ref LIMIT %(limit)s
"""

_FORGET = """
DELETE FROM pushed_items USING source_documents AS document
WHERE document.document_id = ANY(%(documents)s) AND pushed_items.source_id = document.source_key
  AND pushed_items.item_ref = document.item_ref
"""

_GROUPS_WITH = """
SELECT acl_tags[1] FROM directory_groups WHERE source_key = %(source)s AND acl_tags[1] = ANY(%(tags)s)
"""

# A name that another group has gets the id behind it.
_SAVE_GROUP = """
INSERT INTO directory_groups (group_id, project_id, name, acl_tags, source_key)
SELECT %(id)s, %(project_id)s,
       CASE WHEN EXISTS (SELECT FROM directory_groups WHERE project_id = %(project_id)s AND name = %(name)s)
            THEN %(name)s || ' ' || %(id)s::text ELSE %(name)s END, ARRAY[%(tag)s], %(source)s
WHERE NOT EXISTS (SELECT FROM directory_groups WHERE source_key = %(source)s AND acl_tags[1] = %(tag)s)
"""

_DROP_GROUP = "DELETE FROM directory_groups WHERE source_key = %(source)s AND acl_tags[1] = %(tag)s"

_LEAVE = """
DELETE FROM group_addresses USING directory_groups AS of_group
WHERE of_group.source_key = %(source)s AND of_group.acl_tags[1] = %(tag)s AND group_addresses.group_id = of_group.group_id
  AND address <> ALL(%(addresses)s)
"""

_JOIN = """
INSERT INTO group_addresses (group_id, address)
SELECT group_id, address FROM directory_groups CROSS JOIN unnest(%(addresses)s::text[]) AS address
WHERE source_key = %(source)s AND acl_tags[1] = %(tag)s ORDER BY address
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRun:
    """A run of a source that pushes everything; a later one has a higher `number`. `unread` counts lines of it that name nothing; `ended_at` is None while it goes on."""

    name: str
    number: int
    ended_at: datetime | None
    unread: int


async def list_versions(
    connection: Connection, source: SourceId, refs: Collection[GlobalRef]
) -> dict[GlobalRef, int | None]:
    """Return by reference the highest version of those things that lines have named, None where no line had one."""
    rows = await fetch(connection, _VERSIONS, {"source": source, "refs": list(refs)})
    return {GlobalRef(ref): version for ref, version in rows}


async def note(
    connection: Connection, source: SourceId, versions: Mapping[GlobalRef, int | None]
) -> None:
    """Remember the versions of these things, and that a line named them now."""
    fields = {"source": source, "refs": list(versions), "versions": list(versions.values())}
    await connection.execute(_NOTE, fields)


async def see(connection: Connection, source: SourceId, refs: Collection[GlobalRef]) -> None:
    """Remember that lines named these things, which failed."""
    await connection.execute(_SEE, {"source": source, "refs": list(refs)})


async def open_run(connection: Connection, source: SourceId, name: str) -> None:
    """Begin a run of this name, or go on with it; runs are remembered for 90 days."""
    fields = {"source": source, "name": name}
    await connection.execute(_FORGET_RUNS, fields)
    await connection.execute(_OPEN_RUN, fields)


async def add_unread(connection: Connection, source: SourceId, name: str, unread: int) -> None:
    """Count lines of a run that name nothing."""
    fields = {"source": source, "name": name, "unread": unread}
    await connection.execute(_ADD_UNREAD, fields)


async def get_run(connection: Connection, source: SourceId, name: str) -> PushRun:
    """Return a run that was opened."""
    (run,) = await fetch(connection, _RUN, {"source": source, "name": name}, into=PushRun)
    return run


async def end_run(connection: Connection, source: SourceId, name: str) -> None:
    """Remember that a run has ended."""
    await connection.execute(_END_RUN, {"source": source, "name": name})


async def count_unseen(connection: Connection, source: SourceId, run: PushRun) -> KindCount:
    """Return how many items are stored, and how many of them no line has named since the run began."""
    fields = {"source": source, "run": run.number}
    return (await fetch(connection, _COUNT_UNSEEN, fields, into=KindCount))[0]


async def list_unseen(
    connection: Connection, source: SourceId, run: PushRun, *, limit: int
) -> list[GlobalRef]:
    """Return up to `limit` items that are stored, and that no line has named since the run began."""
    fields = {"source": source, "run": run.number, "limit": limit}
    return await fetch_values(connection, _LIST_UNSEEN, fields)


async def forget(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Forget what lines have named that these documents are of, which are erased."""
    await connection.execute(_FORGET, {"documents": list(documents)})


async def save_groups(
    connection: Connection, source: Source, groups: Iterable[PushedGroup]
) -> None:
    """Make the members of each group those that it has now; one without members is gone."""
    for group in groups:
        fields = _group_fields(source, group.tag, group.name, group.addresses)
        if not group.addresses:
            await connection.execute(_DROP_GROUP, fields)
            continue
        for statement in (_SAVE_GROUP, _LEAVE, _JOIN):
            await connection.execute(statement, fields)


async def save_grants(connection: Connection, source: Source, grants: Iterable[Grant]) -> None:
    """Give the access tags of these grants to whoever has their addresses, where nobody has done so before."""
    by_tag = {source.scope_tag(grant.tag): grant for grant in grants}
    fields = {"source": source.id, "tags": list(by_tag)}
    stored = set(await fetch_values(connection, _GROUPS_WITH, fields)) if by_tag else set[str]()
    new = [by_tag[tag] for tag in sorted(by_tag.keys() - stored)]
    rows = [
        _group_fields(source, grant.tag, grant.name, frozenset({grant.address})) for grant in new
    ]
    async with connection.cursor() as cursor:
        await cursor.executemany(_SAVE_GROUP, rows)
        await cursor.executemany(_JOIN, rows)


def _group_fields(
    source: Source, tag: str, name: str, addresses: frozenset[str]
) -> dict[str, object]:
    return {
        "id": new_id(),
        "project_id": source.project_id,
        "source": source.id,
        "tag": source.scope_tag(tag),
        "name": name,
        "addresses": sorted(addresses),
    }
