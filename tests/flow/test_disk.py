"""What a store takes on the disk: a stored ceiling for each part, as a multiple of the text, and nothing left of finished jobs."""

import asyncio
from pathlib import Path

from benchmarks import disk
from benchmarks.growth import document
from lightwell.domain.access import parse_tags
from lightwell.records.database import Database
from lightwell.settings import Settings
from lightwell.wiring import files
from tests.patience import PATIENCE

from .conftest import Project

DOCUMENTS = 100
PARTS = {
    "texts": ("source_documents", "document_chunks"),
    "words": ("chunk_terms", "term_counts", "class_totals"),
    "mentions": ("document_entity_mentions", "relation_mentions"),
    "entities": ("entities", "entity_names", "relations"),
    "profiles": ("profiles", "stale_profiles", "described_profiles", "entity_keys"),
    "vectors": ("chunk_vectors_1", "chunk_vectors_1_signs", "staged_vectors"),
    "jobs": ("ingestion_jobs", "ingestion_runs", "ingestion_run_documents", "document_originals", "original_parts"),
}  # fmt: skip
MOST = {
    "texts": 6.6,
    "words": 8.2,
    "mentions": 6.2,
    "entities": 2.9,
    "profiles": 4.2,
    "vectors": 1.15,
    "jobs": 2.4,
}
"""Times the text: what was measured and a fifth more, since where pages split depends on random ids. A store of 0.3 MB has half-empty
pages, and these texts more words and names than those that people wrote: benchmarks/README.md has a real store."""
LEFT_OF_JOBS = 131_072
"""Bytes: of two tables and their indexes, empty."""


async def test_a_store_takes_at_most_its_ceiling_on_the_disk(
    project: Project, tmp_path: Path
) -> None:
    for number in range(DOCUMENTS):
        new = document(number)
        (tmp_path / f"{number}.txt").write_bytes(new.content)
    before = await vacuums(project.database)
    await project.kb.ingestion.ingest(
        files(tmp_path, parse_tags(["team:a"]), Settings(data=tmp_path))
    )
    after = await vacuums(project.database)
    assert {name for name in after if after[name] > before[name]} >= {
        "original_parts",
        "staged_vectors",
    }
    async with asyncio.timeout(PATIENCE):
        while left(taken := await vacuumed(project.database)) >= LEFT_OF_JOBS:
            pass
    size = {each.name: each.total for each in taken.relations}
    times = {part: sum(size[name] for name in names) / taken.text for part, names in PARTS.items()}
    assert {part: each for part, each in times.items() if each > MOST[part]} == {}


async def vacuums(database: Database) -> dict[str, int]:
    return dict(await database.rows("SELECT relname, vacuum_count FROM pg_stat_user_tables", {}))


async def vacuumed(database: Database) -> disk.Taken:
    """Return what is taken after a VACUUM; it frees nothing that the server's own ANALYZE might still see."""
    await database.execute("VACUUM ANALYZE", {})
    return await disk.measure(database)


def left(taken: disk.Taken) -> int:
    """Return the bytes of what jobs read and of embeddings before they are published."""
    return sum(
        each.total for each in taken.relations if each.name in {"original_parts", "staged_vectors"}
    )
