"""What goes out of a reader's sight is in no derived text from the same moment on, before any follow-up."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from lightwell.domain.errors import NotFound
from lightwell.domain.ids import DocumentId
from lightwell.records.database import Connection, Database
from lightwell.records.documents import documents
from lightwell.testing.sources import make_document

from .notes import Noted, noted

TEAM, BOARD = ["team:a"], ["team:board"]

Withdraw = Callable[[Connection, Noted, DocumentId], Awaitable[None]]


async def narrow(connection: Connection, store: Noted, document: DocumentId) -> None:
    await documents.change_access(connection, store.kb.project_id, {document: frozenset(BOARD)})


async def delete(connection: Connection, store: Noted, document: DocumentId) -> None:
    await documents.tombstone(connection, store.kb.project_id, [document])


@pytest.mark.parametrize("withdraw", [narrow, delete])
async def test_no_profile_repeats_a_text_that_its_reader_may_no_longer_see(
    database: Database, withdraw: Withdraw
) -> None:
    store = await noted(database)
    await store.put(
        "plain", TEAM, "Acme Corp (company): sells pumps", "Acme Corp -> Nordwind [USES]: x"
    )
    await store.put(
        "secret",
        TEAM,
        "Acme Corp (company): is for sale",
        "Osprey (project): the sale",
        "Acme Corp -> Nordwind [USES]: until the sale",
        "Acme Corp -> Osprey [RELATED_TO]: the sale",
    )
    reader = await store.kb.reader(TEAM)
    secret = await store.kb.documents.get(reader, store.shelf["secret"].url)
    assert "for sale" in (await store.kb.graph.entity(reader, "Acme Corp")).entity.description
    async with database.transaction() as connection:  # and no follow-up, as if killed here
        await withdraw(connection, store, secret.id)
    seen = await store.kb.graph.entity(reader, "Acme Corp")
    assert (seen.entity.description, seen.entity.chunk_count) == ("sells pumps", 1)
    assert seen.entity.paths == (store.shelf["plain"].url,)
    assert [(each.target, each.description) for each in seen.relations] == [("Nordwind", "x")]
    with pytest.raises(NotFound):
        await store.kb.graph.entity(reader, "Osprey")
    found = await store.kb.questions.search("What is Osprey and who is for sale?", reader)
    assert "sale" not in str((found.entities, found.relations))


async def test_documents_whose_tags_change_move_together(database: Database) -> None:
    """One transaction for each took a minute for a thousand documents, because all name the same entities."""
    store = await noted(database)
    for number in range(60):
        name = f"n{number:02}"
        line = "Acme Corp -> Nordwind [USES]: daily"
        store.shelf[name] = make_document(f"{name}.txt", line, TEAM, title=name)
    await store.ingest()
    for name, document in store.shelf.items():
        store.shelf[name] = replace(document, acl_tags=frozenset(BOARD))
    await store.ingest()
    writes = "SELECT count(DISTINCT xmin::text) FROM source_documents"
    assert await database.rows(writes, {}) == [(2,)]
    with pytest.raises(NotFound):
        await store.kb.graph.entity(await store.kb.reader(TEAM), "Acme Corp")
    seen = await store.kb.graph.entity(await store.kb.reader(BOARD), "Acme Corp")
    assert (seen.entity.chunk_count, seen.relations[0].chunk_count) == (60, 60)
