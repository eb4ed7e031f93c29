"""What a question costs by the number of access classes, for readers who see a part of them.

`python -m benchmarks classes [--documents 10000] [--classes 1,100,1000,10000] [--shares 1,10,50,100]`: one store of small
documents, each with an access class of its own, and copies of it in which the same documents have fewer classes. A reader
of a share sees the same documents in each of them, so the answers are the same and only the walls differ. "1" are as few
classes as tell the shares apart: one to four. Counts come from pg_stat_statements, CPU from the scheduler.
`--statements` lists the dearest statements of each.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import psutil
import psycopg
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.growth import _NAMES, _WORDS, Arriving, project
from lightwell.domain.documents import NewDocument
from lightwell.records.database import connect
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.server import temporary_folder
from lightwell.testing.sources import make_document

SHARES = (1, 10, 50, 100)
ASKED, WARM = 40, 8
_NAME_WEIGHTS = list(accumulate(1 / (rank + 3) for rank in range(len(_NAMES))))
_WORD_WEIGHTS = list(accumulate(1 / (rank + 20) for rank in range(len(_WORDS))))


def text_of(source: random.Random) -> str:
    sentences: list[str] = []
    for _ in range(6):
        words = source.choices(_WORDS, cum_weights=_WORD_WEIGHTS, k=12)
        if source.random() < 0.6:
            words.insert(source.randint(1, 12), *source.choices(_NAMES, cum_weights=_NAME_WEIGHTS))
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)


def document(number: int, count: int) -> NewDocument:
    """Return one of `count` documents: its own tag, and that of each share it belongs to."""
    source = random.Random(number)
    place = number * 7919 % count
    tags = [f"doc:{place}", *(f"share:{share}" for share in SHARES if place * 100 < share * count)]
    return make_document(f"{number:06}.txt", text_of(source), tags, title=f"Note {number}")


def question(source: random.Random) -> str:
    words = source.choices(_WORDS[20:3000], k=5)
    (name,) = source.choices(_NAMES, cum_weights=_NAME_WEIGHTS)
    return f"What did {name} say about {' '.join(words)}?"


# One class for all documents of a group: the lowest of the group's classes stands for all of them.
_MOVED = """
CREATE TEMP TABLE moved AS
SELECT class_id AS old, min(class_id) OVER (PARTITION BY part) AS new FROM (
    SELECT class_id, CASE WHEN %(classes)s > 1
        THEN substring(array_to_string(tags, ' ') FROM 'doc:(\\d+)')::bigint * %(classes)s / %(documents)s
        ELSE cardinality(tags) END AS part
    FROM access_classes
) AS placed
"""

_MERGED = {
    "term_counts": "SELECT new, term, sum(chunks)::integer AS chunks FROM {0} JOIN moved ON class_id = old GROUP BY 1, 2",
    "class_totals": "SELECT new, sum(documents)::integer AS documents, sum(chunks)::integer AS chunks, sum(length)::bigint AS length FROM {0} JOIN moved ON class_id = old GROUP BY 1",
}
_PLACED = (
    "source_documents",
    "document_chunks",
    "chunk_terms",
    "document_entity_mentions",
    "relation_mentions",
)


def merge_classes(uri: str, classes: int, documents: int) -> None:
    """Give the documents as many classes as that."""
    with psycopg.connect(uri, autocommit=True) as database:
        database.execute("SET session_replication_role = replica")
        database.execute(
            psycopg.sql.SQL(_MOVED).as_string() % {"classes": classes, "documents": documents}
        )
        database.execute("CREATE INDEX ON moved (old)")
        database.execute("ANALYZE moved")
        tables = [
            name
            for (name,) in database.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '_vectors_[0-9]+(_signs)?$'"
            )
        ]
        for table in (*_PLACED, *(name for name in tables if name.startswith("chunk"))):
            database.execute(
                f"UPDATE {table} SET class_id = new FROM moved WHERE class_id = old AND new <> old"
            )
        for table, query in _MERGED.items():
            database.execute(f"CREATE TEMP TABLE merged_{table} AS {query.format(table)}")
            database.execute(f"TRUNCATE {table}; INSERT INTO {table} SELECT * FROM merged_{table}")
        database.execute(
            "CREATE TEMP TABLE kept AS SELECT DISTINCT ON (subject_id, new) subject_id, class_id AS old, new,"
            " sum(mention_count) OVER part AS mentions"
            " FROM profiles JOIN moved ON class_id = old WINDOW part AS (PARTITION BY subject_id, new) ORDER BY subject_id, new, class_id"
        )
        database.execute("CREATE UNIQUE INDEX ON kept (subject_id, old)")
        for table in (
            "profiles",
            "described_profiles",
            *(name for name in tables if not name.startswith("chunk")),
        ):
            database.execute(
                f"DELETE FROM {table} WHERE NOT EXISTS (SELECT FROM kept WHERE kept.subject_id = {table}.subject_id AND kept.old = class_id)"
            )
            more = ", mention_count = mentions" if table == "profiles" else ""
            database.execute(
                f"UPDATE {table} SET class_id = new{more} FROM kept WHERE kept.subject_id = {table}.subject_id AND kept.old = class_id"
            )
        database.execute(
            "DELETE FROM access_classes WHERE NOT EXISTS (SELECT FROM moved WHERE new = class_id)"
        )
        database.execute(
            "UPDATE access_classes SET tags = array_remove(tags, (SELECT tag FROM unnest(tags) AS tag WHERE tag LIKE 'doc:%%')) || ARRAY['group:' || class_id]"
        )
        database.execute("VACUUM FULL")
        database.execute("ANALYZE")


# Copies of each document: of copy `n` the ids are hashes with `n`, and the classes those of the first plus n times a step.
_MULTIPLIED = {
    "access_classes": ("class_id", "project_id", "tags"),
    "source_documents": (),
    "document_chunks": (),
    "chunk_terms": (),
    "document_entity_mentions": (),
    "relation_mentions": (),
    "profiles": (),
    "described_profiles": (),
    "term_counts": (),
    "class_totals": (),
}


def multiply(uri: str, times: int) -> None:
    """Put `times` copies in the place of each document, each with a class of its own."""
    with psycopg.connect(uri, autocommit=True) as database:
        database.execute("SET session_replication_role = replica")
        database.execute(
            "CREATE FUNCTION copied(id uuid, n integer) RETURNS uuid LANGUAGE sql IMMUTABLE AS"
            " $$ SELECT CASE n WHEN 0 THEN id ELSE md5(id::text || n)::uuid END $$"
        )
        database.execute(
            "ALTER TABLE access_classes DROP CONSTRAINT access_classes_project_id_tags_key"
        )
        (step,) = database.execute("SELECT max(class_id) + 1 FROM access_classes").fetchone()
        tables = [
            name
            for (name,) in database.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^chunk_vectors_[0-9]+(_signs)?$'"
            )
        ]
        for table in (*_MULTIPLIED, *tables):
            columns = [
                name
                for (name,) in database.execute(
                    "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''",
                    [table],
                )
            ]
            values = {
                "class_id": f"class_id + n * {step}",
                "document_id": "copied(document_id, n)",
                "chunk_id": "copied(chunk_id, n)",
                "source_url": "source_url || '-' || n",
                "global_ref": "global_ref || '-' || n",
                "source_ids": "ARRAY[copied(source_ids[1], n)]",
                "tags": f"ARRAY(SELECT CASE WHEN tag LIKE 'doc:%%' THEN 'doc:' || substr(tag, 5)::integer * {times} + n ELSE tag END FROM unnest(tags) AS tag ORDER BY 1)",
            }
            said = ", ".join(values.get(name, name) for name in columns)
            override = "OVERRIDING SYSTEM VALUE" if table == "access_classes" else ""
            database.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) {override} SELECT {said} FROM {table} CROSS JOIN generate_series(1, {times - 1}) AS n".replace(
                    "%%", "%"
                )
            )
            if table == "access_classes":
                database.execute(
                    "UPDATE access_classes SET tags = "
                    + values["tags"].replace("%%", "%").replace("+ n ", "")
                    + f" WHERE class_id < {step}"
                )
            print(table, flush=True)
        database.execute("ALTER TABLE access_classes ADD UNIQUE (project_id, tags)")
        database.execute("VACUUM ANALYZE")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one question: statements, rows, blocks, milliseconds of PostgreSQL's and of our CPU; of a reader, milliseconds."""

    classes: int
    share: int
    statements: float
    rows: float
    blocks: float
    planning: float
    postgres: float
    own: float
    reader: float


def postgres_seconds(postmaster: psutil.Process) -> float:
    """Return what the connections to the copies have taken; maintenance is left out."""
    return sum(
        int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9
        for process in postmaster.children(recursive=True)
        if " classes_" in " ".join(process.cmdline())
    )


async def measure(
    uri: str, postmaster: psutil.Process, classes: int, share: int, *, lists: bool
) -> tuple[Cost, list[object]]:
    async with connect(uri, max_connections=4) as database:
        kb, embedder = await project(database)
        source = random.Random(5)
        questions = [question(source) for _ in range(ASKED + WARM)]
        tags = [f"share:{share}"]
        reader = await kb.reader(tags)
        found: list[object] = []
        for text in questions[:WARM]:
            await kb.questions.search(text, reader)
        await database.rows("SELECT pg_stat_statements_reset()", {})
        began, own, taken = postgres_seconds(postmaster), time.process_time(), embedder.seconds
        for text in questions[WARM:]:
            retrieval = await kb.questions.search(text, reader)
            found.append([(entry.chunk.url, entry.chunk.index) for entry in retrieval.evidence])
        own = time.process_time() - own - (embedder.seconds - taken)
        postgres = postgres_seconds(postmaster) - began
        (counted,) = await database.rows(_COUNTED, {})
        if lists:
            for calls, executing, planning, rows, blocks, query in await database.rows(
                _DEAREST, {}
            ):
                print(
                    f"   {calls / ASKED:5.2f}/q exec {executing / ASKED:7.2f} plan {planning / ASKED:6.2f} rows {rows / ASKED:7.1f} blocks {blocks / ASKED:8.0f} {query}"
                )
        started = time.process_time()
        before = postgres_seconds(postmaster)
        for _ in range(10):
            await kb.reader(tags)
        resolving = time.process_time() - started + postgres_seconds(postmaster) - before
    statements, rows, blocks, planning = counted
    return Cost(
        classes=classes,
        share=share,
        statements=statements / ASKED,
        rows=float(rows) / ASKED,
        blocks=float(blocks) / ASKED,
        planning=planning / ASKED,
        postgres=postgres * 1000 / ASKED,
        own=own * 1000 / ASKED,
        reader=resolving * 100,
    ), found


_COUNTED = "SELECT sum(calls)::integer, sum(rows), sum(shared_blks_hit + shared_blks_read), sum(total_plan_time) FROM pg_stat_statements"
_DEAREST = """
SELECT calls, total_exec_time, total_plan_time, rows, shared_blks_hit + shared_blks_read, left(regexp_replace(query, '\\s+', ' ', 'g'), 130)
FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 22
"""


async def fill(uri: str, documents: int) -> None:
    async with connect(uri) as database:
        kb, _ = await project(database)
        for start in track(range(0, documents, 500), description="documents"):
            made = tuple(
                document(number, documents) for number in range(start, min(start + 500, documents))
            )
            await kb.ingestion.ingest(Arriving(made))
        await database.execute("VACUUM ANALYZE", {})


def with_statistics(folder: Path) -> None:
    """Initialise a server that counts what its statements cost."""
    with run_server(folder):
        pass
    with (folder / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write(
            "\nshared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.track_planning = on\n"
            "shared_buffers = '512MB'\n"
        )


def copy_of(uri: str, name: str) -> str:
    with psycopg.connect(uri, autocommit=True) as database:
        kept = database.info.dbname
    admin = psycopg.conninfo.make_conninfo(uri, dbname="template1")
    with psycopg.connect(admin, autocommit=True) as database:
        exists = database.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if not exists:
            database.execute(f'CREATE DATABASE "{name}" TEMPLATE "{kept}"')
    return psycopg.conninfo.make_conninfo(uri, dbname=name), not exists


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classes", description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--classes", default="1,100,1000,10000")
    parser.add_argument("--shares", default="1,10,50,100")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--statements", action="store_true")
    options = parser.parse_args(arguments)
    if options.folder:
        run(options.folder, options)
    else:
        with temporary_folder() as folder:
            run(folder, options)


def run(folder: Path, options: argparse.Namespace) -> None:
    if not (folder / "postgres").exists():
        with_statistics(folder)
    costs: list[Cost] = []
    with run_server(folder) as uri:
        postmaster = psutil.Process(status(folder).pid)
        with psycopg.connect(uri, autocommit=True) as database:
            database.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            filled = (
                database.execute("SELECT to_regclass('class_totals')").fetchone()[0]
                and database.execute("SELECT count(*) FROM class_totals").fetchone()[0]
            )
        if not filled:
            asyncio.run(fill(uri, options.documents))
        if options.times > 1:
            uri, is_new = copy_of(uri, f"times_{options.times}")
            if is_new:
                multiply(uri, options.times)
        first = {}
        for classes in map(int, options.classes.split(",")):
            copy, is_new = copy_of(uri, f"classes_{classes}_of_{options.documents * options.times}")
            if is_new:
                began = time.perf_counter()
                try:
                    merge_classes(copy, classes, options.documents * options.times)
                except BaseException:
                    with psycopg.connect(uri, autocommit=True) as database:
                        database.execute(f'DROP DATABASE "classes_{classes}"')
                    raise
                print(f"{classes} classes made in {time.perf_counter() - began:.0f} s", flush=True)
            for share in map(int, options.shares.split(",")):
                if options.statements:
                    print(f"== {classes} classes, {share} %")
                cost, found = asyncio.run(
                    measure(copy, postmaster, classes, share, lists=options.statements)
                )
                same = sum(
                    one == other
                    for one, other in zip(found, first.setdefault(share, found), strict=False)
                )
                print(cost, f"same {same} of {len(found)}", flush=True)
                costs.append(cost)
    show(costs)


def show(costs: Sequence[Cost]) -> None:
    names = (
        "classes",
        "share",
        "statements",
        "rows",
        "blocks",
        "planning",
        "postgres",
        "own",
        "reader",
    )
    table = Table(title="A question by access classes and the share that the reader sees")
    for name in names:
        table.add_column(name, justify="right")
    for cost in costs:
        table.add_row(
            *(
                f"{getattr(cost, name):,.1f}"
                if isinstance(getattr(cost, name), float)
                else f"{getattr(cost, name):,}"
                for name in names
            )
        )
    Console(width=120).print(table)
