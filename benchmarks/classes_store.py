"""The store of `benchmarks.classes`: small documents with access of their own, multiplied, and copies in which they have fewer classes."""

import random
from itertools import accumulate
from typing import Any, LiteralString, cast

import psycopg
from psycopg.conninfo import make_conninfo
from rich.progress import track

from benchmarks.growth import NAMES, WORDS, Arriving, project
from lightwell.domain.documents import NewDocument
from lightwell.records.database import connect
from lightwell.testing.sources import make_document

SHARES = (1, 10, 50, 100)
"""What the readers see, in per cent; each sees what the one before sees."""

_NAME_WEIGHTS = list(accumulate(1 / (rank + 3) for rank in range(len(NAMES))))
_WORD_WEIGHTS = list(accumulate(1 / (rank + 20) for rank in range(len(WORDS))))
_STRIDE, _BATCH = 7919, 500


def name_of(source: random.Random) -> str:
    """Return a name, some of them much more often than others."""
    (name,) = source.choices(NAMES, cum_weights=_NAME_WEIGHTS)
    return name


def text_of(source: random.Random) -> str:
    """Return six sentences, most with a name."""
    sentences: list[str] = []
    for _ in range(6):
        words = source.choices(WORDS, cum_weights=_WORD_WEIGHTS, k=12)
        if source.random() < 0.6:
            words.insert(source.randint(1, 12), name_of(source))
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)


def document(number: int, count: int) -> NewDocument:
    """Return one of `count` documents, with a tag of its own and one for each share that it belongs to."""
    source = random.Random(number)
    place = number * _STRIDE % count
    shares = [f"share:{share}" for share in SHARES if place * 100 < share * count]
    tags = [f"doc:{place}", *shares]
    return make_document(f"{number:06}.txt", text_of(source), tags, title=f"Note {number}")


async def fill(uri: str, documents: int) -> None:
    """Ingest the documents into an empty store."""
    async with connect(uri) as database:
        kb, _ = await project(database)
        for start in track(range(0, documents, _BATCH), description="documents"):
            numbers = range(start, min(start + _BATCH, documents))
            made = tuple(document(number, documents) for number in numbers)
            await kb.ingestion.ingest(Arriving(made))
        await database.execute("VACUUM ANALYZE", {})


def run(database: psycopg.Connection, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement of ours, made of names of tables, and return its rows."""
    cursor = database.execute(cast("LiteralString", statement))
    return cursor.fetchall() if cursor.description else []


def is_filled(uri: str) -> bool:
    with psycopg.connect(uri, autocommit=True) as database:
        ((table,),) = run(database, "SELECT to_regclass('class_totals')")
        return table is not None and run(database, "SELECT 1 FROM class_totals LIMIT 1") != []


def copy(uri: str, name: str) -> tuple[str, bool]:
    """Return the connection string of a copy of the database, and whether it was made now."""
    with psycopg.connect(uri, autocommit=True) as database:
        original = database.info.dbname
    with psycopg.connect(make_conninfo(uri, dbname="template1"), autocommit=True) as database:
        exists = run(database, f"SELECT 1 FROM pg_database WHERE datname = '{name}'") != []
        if not exists:
            run(database, f'CREATE DATABASE "{name}" TEMPLATE "{original}"')
    return make_conninfo(uri, dbname=name), not exists


# ── fewer classes ────────────────────────────────────────────────────────────────────────────────────

# One class for all documents of a group, the lowest of theirs. With one class asked for, a group is what the same readers see.
_MOVED = """
CREATE TEMP TABLE moved AS
SELECT class_id AS old, min(class_id) OVER (PARTITION BY part) AS new FROM (
    SELECT class_id, CASE WHEN {classes} > 1
        THEN substring(array_to_string(tags, ' ') FROM 'doc:(\\d+)')::bigint * {classes} / {documents}
        ELSE cardinality(tags) END AS part
    FROM access_classes
) AS placed;
CREATE INDEX ON moved (old);
ANALYZE moved
"""

_COUNTED = {
    "term_counts": "SELECT new, term, sum(chunks)::integer AS chunks FROM term_counts JOIN moved ON class_id = old GROUP BY 1, 2",
    "class_totals": (
        "SELECT new, sum(documents)::integer AS documents, sum(chunks)::integer AS chunks, sum(length)::bigint AS length"
        " FROM class_totals JOIN moved ON class_id = old GROUP BY 1"
    ),
}

_KEPT_PROFILES = """
CREATE TEMP TABLE kept AS
SELECT DISTINCT ON (subject_id, new) subject_id, class_id AS old, new, sum(mention_count) OVER part AS mentions
FROM profiles JOIN moved ON class_id = old WINDOW part AS (PARTITION BY subject_id, new)
ORDER BY subject_id, new, class_id;
CREATE UNIQUE INDEX ON kept (subject_id, old)
"""

_TAGS = """
DELETE FROM access_classes WHERE NOT EXISTS (SELECT FROM moved WHERE new = class_id);
UPDATE access_classes
SET tags = array_remove(tags, (SELECT tag FROM unnest(tags) AS tag WHERE tag LIKE 'doc:%')) || ARRAY['group:' || class_id]
"""

_OF_DOCUMENTS = (
    "source_documents",
    "document_chunks",
    "chunk_terms",
    "document_entity_mentions",
    "relation_mentions",
)


def merge_classes(uri: str, classes: int, documents: int) -> None:
    """Give the documents so many classes; as few as tell the readers apart for one."""
    with psycopg.connect(uri, autocommit=True) as database:
        run(database, "SET session_replication_role = replica")
        run(database, _MOVED.format(classes=classes, documents=documents))
        chunks, profiles = _vector_tables(database, "chunk"), _vector_tables(database, "[er]")
        for table in (*_OF_DOCUMENTS, *chunks):
            run(
                database,
                f"UPDATE {table} SET class_id = new FROM moved WHERE class_id = old AND new <> old",
            )
        for table, query in _COUNTED.items():
            run(
                database,
                f"CREATE TEMP TABLE merged_{table} AS {query}; TRUNCATE {table};"
                f" INSERT INTO {table} SELECT * FROM merged_{table}",
            )
        run(database, _KEPT_PROFILES)
        for table in ("profiles", "described_profiles", *profiles):
            counted = ", mention_count = mentions" if table == "profiles" else ""
            is_kept = f"kept.subject_id = {table}.subject_id AND kept.old = class_id"
            run(
                database,
                f"DELETE FROM {table} WHERE NOT EXISTS (SELECT FROM kept WHERE {is_kept});"
                f" UPDATE {table} SET class_id = new{counted} FROM kept WHERE {is_kept}",
            )
        run(database, _TAGS)
        run(database, "VACUUM FULL")
        run(database, "ANALYZE")


def _vector_tables(database: psycopg.Connection, begin: str) -> list[str]:
    named = f"relname ~ '^{begin}.*_vectors_[0-9]+(_signs)?$'"
    rows = run(database, f"SELECT relname FROM pg_class WHERE relkind = 'r' AND {named}")
    return [name for (name,) in rows]


# ── more documents ───────────────────────────────────────────────────────────────────────────────────

_COPIED = """
CREATE FUNCTION copied(id uuid, n integer) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE n WHEN 0 THEN id ELSE md5(id::text || n)::uuid END
$$
"""

_NEW_TAGS = """
ARRAY(SELECT CASE WHEN tag LIKE 'doc:%' THEN 'doc:' || substr(tag, 5)::integer * {times} + {n} ELSE tag END
      FROM unnest(tags) AS tag ORDER BY 1)
"""

_VALUES = {
    "class_id": "class_id + n * {step}",
    "document_id": "copied(document_id, n)",
    "chunk_id": "copied(chunk_id, n)",
    "source_url": "source_url || '-' || n",
    "global_ref": "global_ref || '-' || n",
    "source_ids": "ARRAY[copied(source_ids[1], n)]",
    "tags": _NEW_TAGS.replace("{n}", "n"),
}
"""What of copy `n` differs from the document itself."""

_COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""


def multiply(uri: str, times: int) -> None:
    """Put `times` documents in the place of each, each with a class of its own."""
    with psycopg.connect(uri, autocommit=True) as database:
        run(database, "SET session_replication_role = replica")
        run(database, _COPIED)
        run(
            database,
            "ALTER TABLE access_classes DROP CONSTRAINT access_classes_project_id_tags_key",
        )
        ((step,),) = run(database, "SELECT max(class_id) + 1 FROM access_classes")
        tables = [*_OF_DOCUMENTS, "profiles", "described_profiles", *_COUNTED]
        for table in ("access_classes", *tables, *_vector_tables(database, "chunk")):
            columns = [name for (name,) in run(database, _COLUMNS.format(table=table))]
            values = ", ".join(
                str(_VALUES.get(name, name)).format(step=step, times=times) for name in columns
            )
            run(
                database,
                f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE"
                f" SELECT {values} FROM {table} CROSS JOIN generate_series(1, {times - 1}) AS n",
            )
        first = _NEW_TAGS.format(times=times, n=0)
        run(database, f"UPDATE access_classes SET tags = {first} WHERE class_id < {step}")
        run(database, "ALTER TABLE access_classes ADD UNIQUE (project_id, tags)")
        run(database, "VACUUM ANALYZE")
