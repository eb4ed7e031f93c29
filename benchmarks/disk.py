"""What a store takes on the disk, by relation and as a multiple of its text.

`python -m benchmarks disk DATA`: DATA is the data directory of a store, such as `LIGHTWELL_DATA=DATA lightwell
ingest` makes it; nobody else should use it. It is measured as it is, and again after a VACUUM: that gives back what
was deleted and makes free what was rewritten, so measure a copy of a store that you want to keep as it is.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lightwell.records.database import Database, connect
from lightwell.stores.embedded.server import is_initialised, run_server, status

_LEAST_SHOWN = 0.05
"""Times the text: what takes less is summed up in the last line."""

# What the server's files take is counted whole; a table of which another is a part has that one's bytes too.
_RELATIONS = """
SELECT relname AS name, greatest(reltuples, 0)::bigint AS rows, pg_relation_size(class.oid) AS own,
       coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0) AS toast, pg_indexes_size(class.oid) AS indexes,
       pg_total_relation_size(class.oid) AS total
FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
WHERE relkind = 'r' AND nspname = 'public'
ORDER BY total DESC, name
"""

_INDEXES = """
SELECT indexrelname AS name, relname AS relation, pg_relation_size(indexrelid) AS size, idx_scan AS scans
FROM pg_stat_user_indexes ORDER BY size DESC, name
"""

_TEXT = "SELECT coalesce(sum(octet_length(chunk_text)), 0) FROM document_chunks WHERE class_id <> 0"

_DATABASE = "SELECT pg_database_size(current_database())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Bytes of a table, with its TOAST table and its indexes apart; `total` has all three and its maps."""

    name: str
    rows: int
    own: int
    toast: int
    indexes: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    name: str
    relation: str
    size: int
    scans: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Bytes on the disk; `text`: of the passages of published documents."""

    text: int
    database: int
    relations: tuple[Relation, ...]
    indexes: tuple[Index, ...]


async def measure(database: Database) -> Taken:
    return Taken(
        text=await database.value(_TEXT, {}),
        database=await database.value(_DATABASE, {}),
        relations=tuple(await database.rows(_RELATIONS, {}, into=Relation)),
        indexes=tuple(await database.rows(_INDEXES, {}, into=Index)),
    )


async def _both(uri: str) -> tuple[Taken, Taken]:
    async with connect(uri) as database:
        before = await measure(database)
        await database.execute("VACUUM ANALYZE", {})
        await database.execute("CHECKPOINT", {})
        return before, await measure(database)


def _relations(before: Taken, after: Taken) -> Table:
    table = Table(title=f"{after.text / 1e6:.2f} MB of text; each figure is a multiple of it")
    table.add_column("relation")
    for heading in ("rows", "as it was", "vacuumed", "rows' pages", "TOAST", "indexes"):
        table.add_column(heading, justify="right")
    earlier = {relation.name: relation.total for relation in before.relations}
    least = _LEAST_SHOWN * after.text
    small = [relation for relation in after.relations if relation.total < least]
    for relation in after.relations:
        if relation.total >= least:
            table.add_row(
                relation.name,
                f"{relation.rows:,}",
                *_times(
                    after.text,
                    earlier[relation.name],
                    relation.total,
                    relation.own,
                    relation.toast,
                    relation.indexes,
                ),
            )
    table.add_row(
        f"{len(small)} smaller ones",
        "",
        *_times(
            after.text,
            sum(earlier[relation.name] for relation in small),
            sum(relation.total for relation in small),
        ),
    )
    table.add_row("database", "", *_times(after.text, before.database, after.database))
    return table


def _indexes(taken: Taken) -> Table:
    table = Table(title="Indexes, and how often each was read since the statistics were reset")
    table.add_column("index")
    for heading in ("x text", "scans"):
        table.add_column(heading, justify="right")
    for index in taken.indexes:
        if index.size >= _LEAST_SHOWN * taken.text:
            table.add_row(index.name, *_times(taken.text, index.size), f"{index.scans:,}")
    return table


def _times(text: int, *sizes: int) -> Sequence[str]:
    return [f"{size / text:.2f}" for size in sizes]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks disk", description=__doc__)
    parser.add_argument("folder", metavar="DATA", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    if not is_initialised(folder):
        parser.error(f"{folder} is not the data directory of a store")
    with run_server(folder) as uri:
        before, after = asyncio.run(_both(uri))
    console = Console(width=120)
    console.print(_relations(before, after))
    console.print(_indexes(after))
    files = status(folder).size
    console.print(
        f"The folder has {files / 1e6:.1f} MB, {files / after.text:.2f} x: the database and the rest of the server."
    )
