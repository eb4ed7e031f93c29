"""What a store takes on the disk: a stored ceiling for each part, as a multiple of the text, and nothing left of finished jobs."""

import asyncio
from pathlib import Path

from pydantic import SecretStr

from benchmarks import disk
from benchmarks.growth import document
from lightwell.domain.access import parse_tags
from lightwell.records.database import Database
from lightwell.settings import QuestionSettings, Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import files, open_knowledge_base
from tests.patience import PATIENCE

from .conftest import project_on

DOCUMENTS = 100
PARTS = {
    "texts": ("source_documents", "document_chunks"),
    "words": ("chunk_terms", "term_counts", "class_totals"),
    "analyses": ("chunk_analyses",),
    "mentions": ("document_entity_mentions", "relation_mentions"),
    "entities": ("entities", "entity_names", "relations"),
    "profiles": ("profiles", "stale_profiles", "described_profiles", "entity_keys"),
    "vectors": ("chunk_vectors_1", "chunk_vectors_1_signs", "staged_vectors"),
    "jobs": ("ingestion_jobs", "ingestion_runs", "ingestion_run_documents", "document_originals", "original_parts"),
}  # fmt: skip
MOST = {
    "texts": 5.8,
    "words": 10.8,
    "analyses": 1.35,
    "mentions": 6.2,
    "entities": 3.4,
    "profiles": 5.0,
    "vectors": 1.15,
    "jobs": 2.4,
}
"""Times the text: what was measured and a fifth more, since where pages split depends on random ids. A store of 0.3 MB has half-empty
pages, and these texts more words and names than those that people wrote: benchmarks/README.md has a real store."""
# The tables of a database that another test used are empty, but not small.
_FRESH = "TRUNCATE tenants, profiles, stale_profiles, described_profiles, term_counts, class_totals CASCADE"
LEFT_OF_JOBS = 131_072
"""Bytes: of two tables and their indexes, empty."""


async def test_a_store_takes_at_most_its_ceiling_on_the_disk(
    database: Database, tmp_path: Path
) -> None:
    await database.execute(_FRESH, {})
    project = await project_on(database)
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


async def test_a_store_without_token_vectors_answers_by_words_and_by_chunk_vectors(
    database: Database, database_url: str
) -> None:
    settings = Settings(
        database_url=SecretStr(database_url), questions=QuestionSettings(rerank="none")
    )
    texts = {
        "pump.txt": "The Tarn pump comes with a guarantee of 24 months. It weighs 12 kilograms.",
        "office.txt": "The office in Oslo opens at eight. Visitors sign in at the reception.",
    }
    shelf = tuple(make_document(name, text, ["team:a"]) for name, text in texts.items())
    async with open_knowledge_base(settings) as kb:
        await kb.ingestion.ingest(InMemorySource(documents=shelf))
        reader = await kb.reader(["team:a"])
        by_words = await kb.questions.ask("How long is the guarantee of the Tarn pump?", reader)
        by_meaning = await kb.questions.search("When may guests come in?", reader)
    assert "24 months" in by_words.text
    assert by_meaning.evidence[0].chunk.url.endswith("office.txt")
    assert await database.value("SELECT count(*) FROM chunk_multi_vectors", {}) == 0
    assert await database.value("SELECT count(*) FROM chunk_vectors_1", {}) == len(texts)
