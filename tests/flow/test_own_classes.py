"""Nobody writes for readers of other tags: what a person corrects is not felt by those who share no tag with the person."""

from collections.abc import Awaitable, Callable

import pytest

from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import (
    ManualEdit,
    MergeStrategy,
    Predicate,
    RelationKey,
    RelationMention,
)
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import LinkFilter
from lightwell.records.database import Database

from .notes import Noted, noted
from .test_merging import AB, A, B, seen

LINES = (
    "Acme Corp (organization): sells pumps",
    "Acme Ltd (organization): sells pipes",
    "Nordwind (organization): buys",
    "Acme Corp -> Nordwind [USES]: daily",
)

Act = Callable[[Noted], Awaitable[object]]


async def hide(store: Noted) -> object:
    return await store.kb.graph.delete(await store.kb.reader(A), "Acme Corp")


async def hide_several(store: Noted) -> object:
    return await store.kb.graph.delete_entities(await store.kb.reader(A), ["Acme Corp", "Nordwind"])


async def unrelate(store: Noted) -> object:
    reader = await store.kb.reader(A)
    key = RelationKey(source="Acme Corp", predicate=Predicate.USES, target="Nordwind")
    return await store.kb.graph.delete_relations(reader, [key])


async def edit(store: Noted) -> object:
    word = ManualEdit(name="Zeta", description="Owned by nobody.")
    return await store.kb.graph.edit(await store.kb.reader(A), "Acme Corp", word)


async def relate(store: Noted) -> object:
    said = RelationMention(subject="Acme Ltd", object="Nordwind", predicate=Predicate.PART_OF)
    return await store.kb.graph.relate(await store.kb.reader(A), said)


async def merge(store: Noted) -> object:
    reader = await store.kb.reader(A)
    return await store.kb.graph.merge(
        reader, ["Acme Ltd"], "Acme Corp", strategy=MergeStrategy.CONCATENATE
    )


async def reject(store: Noted) -> object:
    return await store.kb.graph.reject(await store.kb.reader(A), "Acme Ltd", "Acme Corp")


async def split(store: Noted) -> object:
    reader = await store.kb.reader(A)
    urls = [each.url async for each in store.kb.documents.iterate(reader)]
    return await store.kb.graph.split(reader, "Acme Corp", "Acme Two", documents=urls)


async def link(store: Noted) -> object:
    reader = await store.kb.reader(A)
    return await store.kb.graph.links.add(reader, "Acme Corp", "Nordwind", LinkType.RELATED_TO)


ACTS = (hide, hide_several, unrelate, edit, relate, merge, reject, split, link)


async def felt_by(store: Noted, tags: list[str]) -> object:
    """Return all that a reader sees of the graph, with links and what is rejected."""
    reader = await store.kb.reader(tags)
    links = await store.kb.graph.links.list_links(reader, LinkFilter())
    proposed = [(each.one.name, each.other.name) for each in await store.kb.graph.proposals(reader)]
    return await seen(store, reader), [(each.type, each.status) for each in links], proposed


@pytest.fixture
async def store(database: Database) -> Noted:
    store = await noted(database)
    await store.put("shared", AB, *LINES)
    return store


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_a_correction_of_a_document_of_others_is_refused(store: Noted, act: Act) -> None:
    before = await felt_by(store, B)
    with pytest.raises(Invalid, match="access tags"):
        await act(store)
    assert await felt_by(store, B) == before
    assert await felt_by(store, A) == before


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_a_correction_holds_in_the_persons_own_documents_only(
    database: Database, act: Act
) -> None:
    store, without = await noted(database), await noted(database, "without")
    for each in (store, without):
        await each.put("own", A, *LINES)
    await act(store)
    # A document that others read comes later: they see it as if nobody had corrected anything.
    for each in (store, without):
        await each.put("shared", AB, *LINES)
    assert await felt_by(store, B) == await felt_by(without, B)


async def test_a_hidden_entity_is_shown_again_by_its_own_readers_only(database: Database) -> None:
    store = await noted(database)
    await store.put("own", A, *LINES)
    await hide(store)
    with pytest.raises(NotFound):
        await store.kb.graph.entity(await store.kb.reader(A), "Acme Corp")
    with pytest.raises(NotFound):
        await store.kb.graph.restore(await store.kb.reader(B), "Acme Corp")
    await store.put("shared", AB, *LINES)
    seen_again = await store.kb.graph.entity(await store.kb.reader(A), "Acme Corp")
    assert seen_again.entity.chunk_count == 1
    whole = await store.kb.graph.restore(await store.kb.reader(A), "Acme Corp")
    assert whole.chunk_count == 2


async def test_a_merge_is_undone_for_its_own_readers_only(store: Noted) -> None:
    reader = await store.kb.reader([*A, *B])
    await store.kb.graph.merge(
        reader, ["Acme Ltd"], "Acme Corp", strategy=MergeStrategy.CONCATENATE
    )
    before = await felt_by(store, B)
    (merged,) = await store.kb.graph.merges(await store.kb.reader(A))
    with pytest.raises(Invalid, match="access tags"):
        await store.kb.graph.unmerge(await store.kb.reader(A), str(merged.merge_id))
    assert await felt_by(store, B) == before
    await store.kb.graph.unmerge(reader, str(merged.merge_id))
    assert await felt_by(store, B) != before
