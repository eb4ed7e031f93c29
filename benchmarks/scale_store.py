"""The synthetic store of `benchmarks.scale`, written in bulk."""

import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from uuid import UUID

import numpy as np
import psutil
from numpy.typing import NDArray
from rich.progress import track

from lightwell.domain.access import parse_tags
from lightwell.domain.ids import ChunkId, ClassId, ProjectId, SpaceId
from lightwell.ports import ChunkVector
from lightwell.records import access_classes, embedding_spaces
from lightwell.records.database import Database, copy_rows
from lightwell.stores.postgres.vectors import PostgresVectors

DIMENSION, PER_DOCUMENT, BATCH, TERMS_OF_CHUNK = 384, 10, 5_000, 100
SHARES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 0.75, 1.0)
"""What the readers see; each sees what the one before sees, and one class more."""

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """Topics and documents of a store of `size` chunks: which topic and which class each document has, from 0."""

    size: int
    topics: Floats
    topic_of: Numbers
    class_of: Numbers

    def vectors(self, batch: int) -> Floats:
        """Return the unit vectors of one batch of chunks."""
        source = np.random.default_rng([1, batch])
        first = batch * BATCH // PER_DOCUMENT
        topics = self.topics[self.topic_of[first : first + BATCH // PER_DOCUMENT]]
        documents = 0.35**0.5 * topics + 0.25**0.5 * noise(source, len(topics))
        chunks = np.repeat(documents, PER_DOCUMENT, axis=0)
        return unit(chunks + 0.4**0.5 * noise(source, len(chunks)))

    def questions(self, count: int) -> Floats:
        source = np.random.default_rng(2)
        batches = source.integers(0, self.size // BATCH, count)
        chunks = np.stack([self.vectors(int(at))[source.integers(0, BATCH)] for at in batches])
        return unit(0.6 * chunks + 0.8 * unit(noise(source, count)))


def noise(source: np.random.Generator, count: int) -> Floats:
    """Return vectors of expected length 1 with the spectrum of text embeddings, turned so that no axis means more than another."""
    variance = (np.arange(DIMENSION) + 100.0) ** -2.5
    scale = np.sqrt(variance / variance.sum()).astype(np.float32)
    return (source.standard_normal((count, DIMENSION), np.float32) * scale) @ turned()


@cache
def turned() -> Floats:
    """Return a rotation drawn at random."""
    drawn = np.random.default_rng(5).standard_normal((DIMENSION, DIMENSION))
    return np.linalg.qr(drawn)[0].astype(np.float32)


def unit(vectors: NDArray[np.floating]) -> Floats:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def world(size: int) -> World:
    source = np.random.default_rng(0)
    documents, topics = size // PER_DOCUMENT, max(50, size // 200)
    popular = 1 / np.arange(1, topics + 1) ** 0.5
    topic_of: Numbers = source.choice(topics, documents, p=popular / popular.sum())
    shuffled = source.permutation(topics)
    mass: NDArray[np.float64] = np.cumsum(popular[shuffled]) / popular.sum()
    home: Numbers = np.empty(topics, np.int64)
    its_share: Numbers = np.searchsorted(np.array(SHARES), mass)
    home[shuffled] = its_share.clip(max=len(SHARES) - 1)
    anyone: Numbers = np.searchsorted(SHARES, source.random(documents))
    class_of = home[topic_of]
    others = source.random(documents) >= 0.5
    class_of[others] = anyone[others]
    return World(size, noise(source, topics), topic_of, class_of)


_DOCUMENTS = """
INSERT INTO source_documents (document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id,
    source_url, format, content_hash, acl_tags, class_id, status, chunk_count)
SELECT id_of(number), project_id, tenant_id, 'file:text:' || number, 'file', 'text', number, 'file:///' || number,
    'text', number, '{}', class_id, 'active', %(each)s
FROM made CROSS JOIN projects WHERE project_id = %(project_id)s
"""

_CHUNKS = """
INSERT INTO document_chunks (chunk_id, chunk_ref, document_id, class_id, chunk_index, chunk_text, chunk_hash,
    token_count, start_offset, end_offset)
SELECT id_of(number * %(each)s + at), number || '#' || at, id_of(number), class_id, at, repeat('some words ', 50),
    decode(md5((number * %(each)s + at)::text), 'hex'), 150, at * 600, at * 600 + 550
FROM made CROSS JOIN generate_series(0, %(each)s - 1) AS at
"""

_TOTALS = """
INSERT INTO class_totals (class_id, documents, chunks, length)
SELECT class_id, count(*), count(*) * %(each)s, count(*) * %(each)s * %(terms)s FROM made GROUP BY class_id
"""

_TERM_COUNTS = """
INSERT INTO term_counts (class_id, term, chunks)
SELECT class_id, lexeme, count(*) FROM chunk_terms CROSS JOIN LATERAL unnest(terms) GROUP BY class_id, lexeme
"""


@dataclass(frozen=True)
class Store:
    """A filled store and what measuring it needs."""

    database: Database
    postmaster: psutil.Process
    world: World
    project_id: ProjectId
    space: SpaceId
    classes: tuple[ClassId, ...]


async def store_of(database: Database, postmaster: psutil.Process, made: World) -> Store:
    project_id = await access_classes.get_or_create_project(
        database, "benchmarks", f"scale {made.size}"
    )
    space = await embedding_spaces.get_or_create_active(
        database, project_id, "synthetic", DIMENSION
    )
    async with database.transaction() as connection:
        classes = [
            await access_classes.get_or_create_class(
                connection, project_id, parse_tags([f"share:{at}"])
            )
            for at in range(len(SHARES))
        ]
    return Store(database, postmaster, made, project_id, space.id, tuple(classes))


async def fill(store: Store) -> None:
    database, made = store.database, store.world
    await database.execute(
        "CREATE OR REPLACE FUNCTION id_of(number bigint) RETURNS uuid LANGUAGE sql IMMUTABLE"
        " AS $$ SELECT lpad(to_hex(number), 32, '0')::uuid $$",
        {},
    )
    async with database.transaction() as connection:
        await connection.execute(
            "CREATE TEMP TABLE made (number bigint, class_id integer) ON COMMIT DROP"
        )
        numbers: list[int] = made.class_of.tolist()
        rows = ((at, store.classes[its]) for at, its in enumerate(numbers))
        await copy_rows(connection, "made (number, class_id)", rows)
        key = {"project_id": store.project_id, "each": PER_DOCUMENT, "terms": TERMS_OF_CHUNK}
        for statement in (_DOCUMENTS, _CHUNKS, _TOTALS):
            await connection.execute(statement, key)
    vectors = PostgresVectors(database)
    await vectors.prepare(store.space, DIMENSION)
    for batch in track(range(made.size // BATCH), description="vectors"):
        await vectors.put(store.space, entries(store, batch))


def entries(store: Store, batch: int) -> list[ChunkVector]:
    return [
        ChunkVector(chunk_id=chunk_id(number), class_id=class_of(store, number), vector=vector)
        for number, vector in enumerate(store.world.vectors(batch), batch * BATCH)
    ]


def chunk_id(number: int) -> ChunkId:
    return ChunkId(UUID(int=number))


def class_of(store: Store, number: int) -> ClassId:
    return store.classes[int(store.world.class_of[number // PER_DOCUMENT])]


async def fill_words(store: Store) -> None:
    """Write a hundred terms per chunk, drawn by Zipf's law from as many as there are chunks, half as many at least."""
    database = store.database
    await database.execute("DROP INDEX IF EXISTS chunk_terms_terms", {})
    for batch in track(range(store.world.size // BATCH), description="words"):
        async with database.transaction() as connection:
            await copy_rows(
                connection,
                "chunk_terms (chunk_id, class_id, topic_tag, length, terms)",
                word_rows(store, batch),
            )
    began = time.perf_counter()
    await database.execute("CREATE INDEX chunk_terms_terms ON chunk_terms USING gin (terms)", {})
    await database.execute(_TERM_COUNTS, {})
    await database.execute("ANALYZE", {})
    print(f"words indexed and counted in {time.perf_counter() - began:.0f} s")


def word_rows(store: Store, batch: int) -> list[tuple[object, ...]]:
    source = np.random.default_rng([3, batch])
    drawn: list[list[int]] = ranks(
        source, store.world.size, (BATCH, TERMS_OF_CHUNK), first=0
    ).tolist()
    rows: list[tuple[object, ...]] = []
    for number, its in enumerate(drawn, batch * BATCH):
        counted = Counter(its)
        terms = " ".join(
            f"w{term}:{','.join(map(str, range(1, count + 1)))}" for term, count in counted.items()
        )
        rows.append((chunk_id(number), class_of(store, number), "", TERMS_OF_CHUNK, terms))
    return rows


def ranks(source: np.random.Generator, size: int, shape: tuple[int, int], *, first: int) -> Numbers:
    """Return ranks of terms by Zipf's law; stop words, the forty commonest, are not among them."""
    weights = 1 / np.arange(first + 40, first + 40 + size)
    return np.searchsorted(np.cumsum(weights) / weights.sum(), source.random(shape))
