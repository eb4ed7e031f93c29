"""The bundled network reads a passage once for all its vectors, and a question once."""

from collections.abc import AsyncIterator, Sequence
from typing import LiteralString

import numpy as np
import pytest
from pydantic import SecretStr

from lightwell import KnowledgeBase, Settings, open_knowledge_base
from lightwell.domain.evidence import Evidence
from lightwell.domain.multi_vectors import join_windows
from lightwell.models import bge, late_interaction
from lightwell.models.bge import SPACE, BgeSmall, EncodedText
from lightwell.records.database import Database
from lightwell.retrieve.channels import UNREAD
from lightwell.testing.sources import InMemorySource, make_document

OWN = ["team:a"]
LEAVE = "Everybody has 25 days of annual leave a year, which the payroll system shows. "
GERMAN = "Alle Mitarbeiterinnen und Mitarbeiter haben im Jahr Anspruch auf fünfundzwanzig Tage Urlaub, den sie beantragen müssen."
SOUP = "Lunch is at noon. The soup has a name of its own."
LONG = (
    f"# Leave\n\n{LEAVE * 20}\n\nThe soup is served at noon. {'Trains come before planes. ' * 20}"
)
MIGRATED: tuple[LiteralString, ...] = (
    "UPDATE embedding_spaces SET model = 'all-MiniLM-L6-v2-int8', status = 'retired', ended_at = now()",
    "INSERT INTO embedding_spaces (project_id, model, dimension, status)"
    f" SELECT project_id, '{SPACE}', 384, 'active' FROM embedding_spaces",
    "INSERT INTO chunk_gaps (chunk_id, space_id, document_id, round)"
    " SELECT chunk_id, space_id, document_id, 0 FROM document_chunks, embedding_spaces WHERE status = 'active'",
    "UPDATE described_profiles SET changed = true, text_hash = NULL",
    "DELETE FROM chunk_multi_vectors",
    "INSERT INTO multi_vector_gaps (chunk_id, document_id, round) SELECT chunk_id, document_id, 0 FROM document_chunks",
)
"""What migration 0008 does, in the tables of today."""
QUESTION = "How many days of annual leave does everybody have?"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """What the network reads: the word pieces of each run."""
    read: list[tuple[int, ...]] = []
    encode = bge.encode

    def recording(pieces: Sequence[int]) -> EncodedText:
        read.append(tuple(pieces))
        return encode(pieces)

    bge.encode_question.cache_clear()
    for module in (bge, late_interaction):
        monkeypatch.setattr(module, "encode", recording)
    return read


@pytest.fixture
async def kb(database_url: str) -> AsyncIterator[KnowledgeBase]:
    async with open_knowledge_base(Settings(database_url=SecretStr(database_url))) as opened:
        yield opened


async def ingest(kb: KnowledgeBase, **texts: str) -> None:
    documents = tuple(make_document(f"{name}.md", text, OWN) for name, text in texts.items())
    await kb.ingestion.ingest(InMemorySource(documents=documents))


async def search(kb: KnowledgeBase, question: str = QUESTION) -> tuple[Evidence, ...]:
    return (await kb.questions.search(question, await kb.reader(OWN))).evidence


async def test_a_passage_is_read_once_for_all_its_vectors(
    kb: KnowledgeBase, database: Database, runs: list[tuple[int, ...]]
) -> None:
    await ingest(kb, one=LONG, two=LONG, three="Trains come before planes.")
    windows = await database.values(
        "SELECT DISTINCT ON (text_hash) cardinality(starts) FROM chunk_multi_vectors", {}
    )
    assert sum(windows) > len(windows) == 2
    profiles = await database.values("SELECT count(*) FROM described_profiles", {})
    assert len(runs) <= sum(windows) + sum(profiles)
    assert len(set(runs)) == len(runs)
    gaps = "SELECT (SELECT count(*) FROM chunk_gaps) + (SELECT count(*) FROM multi_vector_gaps)"
    assert await database.values(gaps, {}) == [0]


async def test_the_vector_of_a_chunk_is_the_mean_of_its_windows(
    kb: KnowledgeBase, database: Database
) -> None:
    await ingest(kb, leave=LONG)
    (row,) = await database.rows(
        "SELECT chunk_id, wholes, starts, ends FROM chunk_multi_vectors", {}
    )
    chunk, wholes, starts, ends = row
    numbers = np.frombuffer(wholes, np.int8).reshape(len(starts), -1)
    expected = join_windows(numbers, np.array(ends) - np.array(starts))
    (question,) = await BgeSmall().embed_query(QUESTION)
    (entry,) = await search(kb)
    assert entry.chunk.id == chunk
    assert entry.cosine_distance == pytest.approx(1 - float(expected @ question), abs=0.002)


async def test_a_passage_in_another_language_has_a_vector_of_its_text(
    kb: KnowledgeBase, database: Database
) -> None:
    await ingest(kb, urlaub=GERMAN)
    (entry,) = await search(kb, "fünfundzwanzig Tage Urlaub")
    assert entry.cosine_distance is not None
    assert entry.cosine_distance < 0.4
    assert await database.values("SELECT count(*) FROM chunk_multi_vectors", {}) == [0]


async def test_nothing_but_the_question_is_read_when_it_is_asked_and_it_only_once(
    kb: KnowledgeBase, runs: list[tuple[int, ...]]
) -> None:
    await ingest(kb, leave=LONG, soup="The soup has a name of its own. Lunch is at noon.")
    pieces = tuple(bge._pieces(QUESTION))  # pyright: ignore[reportPrivateUsage]
    runs.clear()
    answer = await kb.questions.ask(QUESTION, await kb.reader(OWN))
    assert answer.citations
    assert runs == [pieces]
    await kb.questions.ask(QUESTION, await kb.reader(OWN))
    assert runs == [pieces]


async def test_a_store_that_another_network_read_answers_by_words_and_is_read_anew(
    database_url: str, database: Database
) -> None:
    settings = Settings(database_url=SecretStr(database_url))
    async with open_knowledge_base(settings) as kb:
        await ingest(kb, leave=LEAVE, soup=SOUP)
        before = await search(kb)
    for statement in MIGRATED:
        await database.execute(statement, {})
    async with open_knowledge_base(settings) as kb:
        found = await kb.questions.search(QUESTION, await kb.reader(OWN))
        meanwhile = found.evidence
        assert UNREAD in found.notes
        assert meanwhile[0].chunk.text == LEAVE.strip()
        assert meanwhile[0].cosine_distance is None
        await ingest(kb, leave=LEAVE, soup=SOUP)
        found = await kb.questions.search(QUESTION, await kb.reader(OWN))
        after = found.evidence
        assert found.notes == ()
    assert [(each.chunk.id, each.score) for each in after] == [
        (each.chunk.id, each.score) for each in before
    ]
    spaces = "SELECT model, status FROM embedding_spaces ORDER BY space_id"
    assert await database.rows(spaces, {}) == [
        ("all-MiniLM-L6-v2-int8", "retired"),
        (SPACE, "active"),
    ]
