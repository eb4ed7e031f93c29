"""What the graph says of relations and links, to those who may see it: in PostgreSQL, and in a copy in each graph store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId, ClassId, EntityId, ProjectId, RelationId, new_id
from lightwell.ingest.graph_copy import GraphCopy
from lightwell.ports import GraphIndex
from lightwell.records import access_classes
from lightwell.records.database import Database
from lightwell.stores.copied_graph import CopiedGraph
from lightwell.stores.postgres.graph import PostgresGraph
from tests.graph_stores import STORES, open_store

pytestmark = pytest.mark.usefixtures("many_classes")

A, B = frozenset({"team:a"}), frozenset({"team:b"})
YESTERDAY = datetime.now(UTC) - timedelta(days=1)
TOMORROW = datetime.now(UTC) + timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Store:
    """A graph that a test writes row by row, seen by those who have these tags."""

    database: Database
    project_id: ProjectId
    graph: GraphIndex
    copy: GraphCopy | None
    classes: dict[frozenset[str], ClassId]

    async def reader(self, tags: frozenset[str]) -> Reader:
        return await access_classes.resolve_reader(self.database, self.project_id, tags)

    async def entity(self) -> EntityId:
        new = new_id()
        await self.database.execute(
            "INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)"
            " VALUES (%(id)s, %(project)s, %(id)s::text, 'acme')",
            {"id": new, "project": self.project_id},
        )
        return EntityId(new)

    async def link(
        self,
        ends: tuple[UUID, UUID],
        tags: frozenset[str] = A,
        *,
        status: str = "confirmed",
        confidence: float = 0.5,
        expires: datetime | None = None,
    ) -> None:
        await self.database.execute(
            "INSERT INTO entity_links (link_id, project_id, from_ref, to_ref, class_id, link_type, directional,"
            " confidence, evidence, created_by, status, expires_at)"
            " VALUES (%(id)s, %(project)s, %(from)s, %(to)s, %(class)s, 'related_to', false, %(confidence)s, '{}',"
            " 'user', %(status)s, %(expires)s)",
            {
                "id": new_id(),
                "project": self.project_id,
                "from": ends[0],
                "to": ends[1],
                "class": self.classes[tags],
                "confidence": confidence,
                "status": status,
                "expires": expires,
            },
        )

    async def relation(self) -> RelationId:
        new = new_id()
        ends = {"source": await self.entity(), "target": await self.entity()}
        await self.database.execute(
            "INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)"
            " VALUES (%(id)s, %(project)s, %(source)s, %(target)s, 'USES')",
            {"id": new, "project": self.project_id, **ends},
        )
        return RelationId(new)

    async def chunk(self, tags: frozenset[str], *stated: RelationId) -> ChunkId:
        """Write a document of one chunk that states these."""
        chunk = new_id()
        facts = {"id": chunk, "project": self.project_id, "class": self.classes[tags]}
        await self.database.execute(
            "INSERT INTO source_documents (document_id, project_id, tenant_id, global_ref, source_system, source_type,"
            " source_id, source_url, format, content_hash, acl_tags, class_id)"
            " SELECT %(id)s, project_id, tenant_id, %(id)s, 'file', 'document', '', %(id)s, 'text', '', '{}', %(class)s"
            " FROM projects WHERE project_id = %(project)s",
            facts,
        )
        await self.database.execute(
            "INSERT INTO document_chunks (chunk_id, chunk_ref, document_id, class_id, chunk_index, chunk_text, chunk_hash,"
            " token_count, start_offset, end_offset) VALUES (%(id)s, '', %(id)s, %(class)s, 0, 'x', '', 1, 0, 1)",
            facts,
        )
        for relation in stated:
            await self.database.execute(
                "INSERT INTO relation_mentions (relation_id, stated_as, chunk_id, class_id, weight, confidence)"
                " VALUES (%(relation)s, %(relation)s, %(id)s, %(class)s, 1, 1)",
                {**facts, "relation": relation},
            )
        await self.apply_changes()
        return ChunkId(chunk)

    async def mention(self, entity: EntityId, chunk: ChunkId, *, named_as: EntityId) -> None:
        await self.database.execute(
            "INSERT INTO document_entity_mentions (entity_id, named_as, chunk_id, class_id, name, entity_kind,"
            " mention_type, confidence) VALUES (%(entity)s, %(named_as)s, %(chunk)s, %(class)s, '', '', 'explicit', 1)",
            {"entity": entity, "named_as": named_as, "chunk": chunk, "class": self.classes[A]},
        )
        await self.apply_changes()

    async def apply_changes(self) -> None:
        if self.copy is not None:
            assert await self.copy.update()


@pytest.fixture(params=STORES)
async def store(database: Database, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    project_id = await access_classes.get_or_create_project(database, "tenant", "project")
    async with database.transaction() as connection:
        classes = {
            tags: await access_classes.get_or_create_class(connection, project_id, tags)
            for tags in (A, B)
        }
    async with AsyncExitStack() as stack:
        copied = await open_store(request, stack)
        copy = None
        if copied:
            copy = GraphCopy(database=database, project_id=project_id, store=copied)
        opened = Store(
            database=database,
            project_id=project_id,
            graph=CopiedGraph(database, copied) if copied else PostgresGraph(database),
            copy=copy,
            classes=classes,
        )
        await opened.apply_changes()
        yield opened


async def test_chunks_that_state_a_relation_come_once_and_the_first_first(store: Store) -> None:
    one, two, other = [await store.relation() for _ in range(3)]
    first = await store.chunk(A, one, two)
    hidden = await store.chunk(B, one)
    second = await store.chunk(A, one)
    await store.chunk(A, other)
    a, both = await store.reader(A), await store.reader(A | B)
    assert await store.graph.chunks_stating(a, [one, two], limit=10) == [first, second]
    assert await store.graph.chunks_stating(a, [two], limit=10) == [first]
    assert await store.graph.chunks_stating(both, [one], limit=10) == [first, hidden, second]
    assert await store.graph.chunks_stating(both, [one], limit=2) == [first, hidden]
    assert await store.graph.chunks_stating(await store.reader(frozenset()), [one], limit=10) == []
    assert await store.graph.chunks_stating(a, [], limit=10) == []


async def test_links_lead_both_ways_and_the_surest_come_first(store: Store) -> None:
    acme, to, back, sure = [await store.entity() for _ in range(4)]
    await store.link((acme, to), confidence=0.6)
    await store.link((back, acme), confidence=0.7)
    await store.link((acme, sure), confidence=0.1)
    await store.link((sure, acme), confidence=0.9)
    await store.link((acme, acme))
    a = await store.reader(A)
    assert await store.graph.linked_entities(a, [acme], limit=10) == [sure, back, to]
    assert await store.graph.linked_entities(a, [acme], limit=2) == [sure, back]
    assert await store.graph.linked_entities(a, [to, back], limit=10) == [acme]
    assert await store.graph.linked_entities(a, [acme, to, back, sure], limit=10) == []


@pytest.mark.parametrize("backwards", [False, True])
async def test_only_confirmed_links_that_hold_and_are_seen_are_followed(
    store: Store, *, backwards: bool
) -> None:
    acme, proposed, rejected, expired, unseen, lasting = [await store.entity() for _ in range(6)]

    def ends(other: EntityId) -> tuple[UUID, UUID]:
        return (other, acme) if backwards else (acme, other)

    await store.link(ends(proposed), status="proposed")
    await store.link(ends(rejected), status="rejected")
    await store.link(ends(expired), expires=YESTERDAY)
    await store.link(ends(unseen), B)
    await store.link(ends(lasting), expires=TOMORROW)
    assert await store.graph.linked_entities(await store.reader(A), [acme], limit=10) == [lasting]
    assert await store.graph.linked_entities(await store.reader(B), [acme], limit=10) == [unseen]
    assert (
        await store.graph.linked_entities(await store.reader(frozenset()), [acme], limit=10) == []
    )


async def test_an_entity_that_a_chunk_mentions_under_two_names_is_mentioned_once(
    store: Store,
) -> None:
    chunk, other = await store.chunk(A), await store.chunk(A)
    twice, once = await store.entity(), await store.entity()
    for entity, named_as, where in (
        (twice, twice, chunk),
        (twice, once, chunk),
        (once, once, chunk),
        (once, once, other),
    ):
        await store.mention(entity, where, named_as=named_as)

    near = await store.graph.neighbourhood(await store.reader(A), [other, chunk], [])

    places: list[list[int]] = near.mentions.T.tolist()
    pairs = {(near.chunks[row], near.entities[column]) for row, column in places}
    assert pairs == {(chunk, twice.bytes), (chunk, once.bytes), (other, once.bytes)}
    assert near.mentions.shape == (2, 3)
    assert (await store.graph.neighbourhood(await store.reader(B), [chunk], [])).mentions.shape == (
        2,
        0,
    )
