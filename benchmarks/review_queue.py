"""What a page of proposed links costs, as the proposals grow.

`python -m benchmarks review_queue [--counts 100,1000,10000]`: two profiles per three proposals, in one access class; three points of
evidence each. CPU counts PostgreSQL's processes; a page has 20 links; the last page is behind nine tenths of them.
"""

import argparse
import asyncio
import math
import time
from collections.abc import Sequence

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.growth import TAGS, Arriving, document, project
from benchmarks.merges import server_seconds
from lightwell.domain.access import Reader
from lightwell.domain.links import LinkCursor, LinkId, LinkStatus
from lightwell.records.database import Database, connect
from lightwell.records.graph.links import LinkQuery, StoredLink, list_links
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.server import temporary_folder

COUNTS = (100, 1000, 10_000)
PAGE, REPEATED = 20, 10

_ENTITIES = """
WITH made AS (
    INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
    SELECT gen_random_uuid(), %(project)s, 'made:' || number, 'made ' || number
    FROM generate_series(1, %(entities)s) AS number
    ON CONFLICT DO NOTHING RETURNING entity_id, entity_ref
)
INSERT INTO profiles (subject_id, class_id, subject, display_name, entity_kind, mention_count, source_ids, source_paths)
SELECT entity_id, %(class)s, 'entity', entity_ref, 'company', 1 + length(entity_ref), '{}', '{}' FROM made
"""

_LINKS = """
WITH ends AS MATERIALIZED (
    SELECT entity_id, row_number() OVER (ORDER BY entity_ref) - 1 AS place FROM entities
    WHERE project_id = %(project)s AND entity_ref LIKE 'made:%%'
)
INSERT INTO entity_links (link_id, project_id, from_ref, to_ref, class_id, to_class_id, pair_id, link_type, directional,
                          confidence, evidence, created_by, status)
SELECT gen_random_uuid(), %(project)s, near.entity_id, far.entity_id, %(class)s, %(class)s, gen_random_uuid(), 'belongs_to',
       true, 0.7, jsonb_build_object('prior', -3.0, 'points', jsonb_build_object(
           'domain', 3.0, 'name', (number %% 97) / 97.0, 'kind ' || number %% 7, 0.5)), 'system', 'proposed'
FROM generate_series(0, %(links)s - 1) AS number
JOIN ends AS near ON near.place = number %% %(entities)s
JOIN ends AS far ON far.place = (number * 7 + 1) %% %(entities)s
"""


async def fill(database: Database, reader: Reader, count: int) -> None:
    """Replace the proposals by so many new ones."""
    facts = {
        "project": reader.project_id,
        "class": reader.classes[0],
        "links": count,
        "entities": 2 * count // 3,
    }
    for statement in (
        "DELETE FROM entity_links",
        "DELETE FROM entities WHERE entity_ref LIKE 'made:%%'",
        "DELETE FROM profiles WHERE display_name LIKE 'made:%%'",
        _ENTITIES,
        _LINKS,
        "VACUUM ANALYZE",
    ):
        await database.execute(statement, facts if "%(" in statement else {})


async def measure(
    database: Database, reader: Reader, query: LinkQuery, postmaster: psutil.Process
) -> tuple[list[StoredLink], float, float]:
    """Return the page, and milliseconds of the server's processor and of waiting."""
    page = await list_links(database, reader, query)
    cpu, began = server_seconds(postmaster), time.perf_counter()
    for _ in range(REPEATED):
        await list_links(database, reader, query)
    wall = time.perf_counter() - began
    return page, (server_seconds(postmaster) - cpu) * 1000 / REPEATED, wall * 1000 / REPEATED


async def run(uri: str, counts: Sequence[int], postmaster: psutil.Process) -> Table:
    table = Table("proposals", "page", "CPU ms", "wall ms")
    async with connect(uri) as database:
        kb, _ = await project(database)
        await kb.ingestion.ingest(Arriving((document(0),)))
        reader = await kb.reader(TAGS)
        for count in counts:
            await fill(database, reader, count)
            ranked = await list_links(database, reader, LinkQuery(limit=count))
            behind = ranked[math.floor(count * 0.9)]
            for name, after in (
                ("first", None),
                ("behind 90 %", LinkCursor(usefulness=behind.usefulness, id=LinkId(behind.id))),
            ):
                query = LinkQuery(status=LinkStatus.PROPOSED, after=after, limit=PAGE)
                page, cpu, wall = await measure(database, reader, query, postmaster)
                assert len(page) == PAGE or name != "first"
                table.add_row(f"{count:,}", name, f"{cpu:.0f}", f"{wall:.0f}")
    return table


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks review_queue", description=__doc__)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    counts = [int(count) for count in parser.parse_args(arguments).counts.split(",")]
    with temporary_folder() as folder, run_server(folder) as uri:
        pid = status(folder).pid
        assert pid is not None
        Console(width=120).print(asyncio.run(run(uri, counts, psutil.Process(pid))))


if __name__ == "__main__":
    main([])
