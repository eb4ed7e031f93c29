"""S2.8: entities of one name stay apart: a person splits them, and it is kept, undone, and each reader's own."""

from collections.abc import Awaitable, Callable

import pytest

from lightwell.domain.errors import Invalid, NotFound
from lightwell.records.database import Database

from .notes import Noted, dump, noted, outline
from .observed import entities_seen

pytestmark = pytest.mark.usefixtures("many_classes")

A, B, AB = ["team:a"], ["team:b"], ["team:a", "team:b"]
KIEL = "Anna Schmidt (Kiel)"


def url(name: str) -> str:
    return f"file:///shelf/{name}.txt"


@pytest.fixture
async def store(database: Database) -> Noted:
    """Two people called Anna Schmidt, in three documents."""
    store = await noted(database)
    await store.put(
        "oslo",
        A,
        "Anna Schmidt (person): runs sales in Oslo",
        "Acme Corp (organization): sells pumps",
        "Anna Schmidt -> Acme Corp [PART_OF]: since 2019",
    )
    await store.put(
        "kiel",
        A,
        "Anna Schmidt (person): repairs boats in Kiel",
        "Acme Corp (organization)",
        "Anna Schmidt -> Acme Corp [PART_OF]: as a guest",
        "Anna Schmidt -> Nordwind [USES]: a boat",
    )
    await store.put("harbour", B, "Anna Schmidt (person): pays for a berth")
    return store


async def described(store: Noted, tags: list[str]) -> dict[str, str]:
    reader = await store.kb.reader(tags)
    return {each.name: each.description for each in await entities_seen(store.kb.graph, reader)}


async def test_s2_8_a_split_moves_what_documents_say_with_its_relations(store: Noted) -> None:
    reader = await store.kb.reader(A)
    done = await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
    assert (done.part.name, done.part.description) == (KIEL, "repairs boats in Kiel")
    assert done.part.kind == "person"
    assert done.rest is not None
    assert (done.rest.description, done.rest.chunk_count) == ("runs sales in Oslo", 1)
    assert done.passages == 1
    portrait = await store.kb.graph.entity(reader, KIEL)
    assert [(each.source, each.predicate, each.target) for each in portrait.relations] == [
        (KIEL, "PART_OF", "Acme Corp"),
        (KIEL, "USES", "Nordwind"),
    ]
    first = await store.kb.graph.entity(reader, "Anna Schmidt")
    assert [(each.predicate, each.target, each.weight) for each in first.relations] == [
        ("PART_OF", "Acme Corp", 1.0)
    ]
    assert (await store.kb.documents.status(reader)).entities == 4


async def test_s2_8_undoing_a_split_restores_every_row(store: Noted) -> None:
    reader = await store.kb.reader(A)
    for name in (KIEL, ""):
        before = await dump(store)
        done = await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
        assert await dump(store) != before
        (whole,) = await store.kb.graph.unsplit(reader, name or str(done.split_id))
        assert whole.name == "Anna Schmidt"
        assert whole.chunk_count == 2
        assert await dump(store) == before
    with pytest.raises(NotFound):
        await store.kb.graph.unsplit(reader, KIEL)


async def test_s2_8_a_split_is_kept_when_its_document_is_read_again(store: Noted) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
    await store.put(
        "kiel",
        A,
        "Anna Schmidt (person): builds boats now",
        "Anna Schmidt -> Tarn [USES]: a lake",
    )
    await store.put("new", A, "Anna Schmidt (person): is in another document")
    said = await described(store, A)
    assert said[KIEL] == "builds boats now"
    assert said["Anna Schmidt"] == "runs sales in Oslo | is in another document"
    portrait = await store.kb.graph.entity(reader, KIEL)
    assert [each.target for each in portrait.relations] == ["Tarn"]


async def test_s2_8_a_passage_is_split_as_long_as_its_text_stands(database: Database) -> None:
    store = await noted(database)
    filler = [
        f"Plain words about the weather on day {day}, which nobody needs." for day in range(90)
    ]
    boats, sales = "Anna Schmidt (person): repairs boats", "Anna Schmidt (person): runs sales"
    await store.put("letter", A, boats, *filler, sales)
    reader = await store.kb.reader(A)
    anna = (await store.kb.graph.entity(reader, "Anna Schmidt")).entity
    assert anna.chunk_count == 2
    done = await store.kb.graph.split(reader, "Anna Schmidt", KIEL, passages=[anna.sources[0]])
    assert done.part.description == "repairs boats"
    await store.put("letter", A, boats, *filler, "Anna Schmidt (person): runs all of sales")
    assert await described(store, A) == {KIEL: "repairs boats", "Anna Schmidt": "runs all of sales"}
    await store.put("letter", A, boats + " and ships", *filler, sales)
    assert await described(store, A) == {"Anna Schmidt": "repairs boats and ships | runs sales"}


async def test_s2_8_a_split_is_applied_as_far_as_the_reader_sees_its_documents(
    store: Noted,
) -> None:
    both = await store.kb.reader(AB)
    await store.kb.graph.split(both, "Anna Schmidt", KIEL, documents=[url("kiel"), url("harbour")])
    assert await described(store, B) == {KIEL: "pays for a berth"}
    assert (await described(store, A))[KIEL] == "repairs boats in Kiel"
    assert (await described(store, AB))[KIEL] == "repairs boats in Kiel | pays for a berth"
    await store.kb.graph.unsplit(await store.kb.reader(B), KIEL)
    assert await described(store, B) == {"Anna Schmidt": "pays for a berth"}
    assert (await described(store, A))[KIEL] == "repairs boats in Kiel"


async def test_s2_8_a_document_that_moves_to_other_tags_does_not_take_its_split_along(
    store: Noted,
) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
    lines = (
        "Anna Schmidt (person): repairs boats in Kiel",
        "Acme Corp (organization)",
        "Anna Schmidt -> Acme Corp [PART_OF]: as a guest",
        "Anna Schmidt -> Nordwind [USES]: a boat",
    )
    await store.put("kiel", ["team:c"], *lines)
    assert (await described(store, ["team:c"]))["Anna Schmidt"] == "repairs boats in Kiel"
    assert await store.kb.graph.splits(await store.kb.reader(["team:c"])) == []
    await store.put("kiel", A, *lines)
    assert (await described(store, A))[KIEL] == "repairs boats in Kiel"


async def test_s2_8_splits_are_listed_for_those_who_see_what_they_move(store: Noted) -> None:
    both = await store.kb.reader(AB)
    done = await store.kb.graph.split(
        both, "Anna Schmidt", KIEL, documents=[url("kiel"), url("harbour")]
    )
    (own,) = await store.kb.graph.splits(await store.kb.reader(B))
    assert (own.split_id, own.part, own.names) == (done.split_id, KIEL, ("Anna Schmidt",))
    assert (own.urls, own.passages) == ((url("harbour"),), 1)
    (whole,) = await store.kb.graph.splits(both)
    assert whole.urls == (url("harbour"), url("kiel"))
    assert await store.kb.graph.splits(both, after=done.split_id) == []
    await store.kb.graph.unsplit(both, str(done.split_id))
    assert await store.kb.graph.splits(both) == []


async def test_s2_8_what_cannot_be_split_is_refused_with_the_reason(store: Noted) -> None:
    reader, split = await store.kb.reader(A), store.kb.graph.split
    await store.put("other", A, "Tarn (lake): is deep")
    before = await dump(store)
    with pytest.raises(Invalid, match="at least one document or passage"):
        await split(reader, "Anna Schmidt", KIEL)
    with pytest.raises(Invalid, match="name of the other entity is empty"):
        await split(reader, "Anna Schmidt", " - ", documents=[url("kiel")])
    with pytest.raises(Invalid, match="longer than 200"):
        await split(reader, "Anna Schmidt", "A" * 201, documents=[url("kiel")])
    with pytest.raises(Invalid, match="name of this entity itself"):
        await split(reader, "Anna Schmidt", "anna  schmidt", documents=[url("kiel")])
    with pytest.raises(Invalid, match="does not mention"):
        await split(reader, "Anna Schmidt", KIEL, documents=[url("kiel"), url("other")])
    with pytest.raises(NotFound):
        await split(reader, "Anna Schmidt", KIEL, documents=[url("harbour")])
    with pytest.raises(NotFound):
        await split(reader, "Zeta", KIEL, documents=[url("kiel")])
    assert await dump(store) == before


async def test_s2_8_a_split_holds_together_with_merges(store: Noted) -> None:
    reader = await store.kb.reader(A)
    await store.put("short", A, "A. Schmidt (person): sails")
    await store.kb.graph.merge(reader, ["A. Schmidt"], "Anna Schmidt")
    await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel"), url("short")])
    said = await described(store, A)
    assert said[KIEL] == "repairs boats in Kiel | sails"
    assert said["Anna Schmidt"] == "runs sales in Oslo"
    await store.kb.graph.merge(reader, [KIEL], "Anna Schmidt")
    assert "sails" in (await described(store, A))["Anna Schmidt"]
    await store.kb.graph.unmerge(reader, KIEL)
    assert await described(store, A) == said


async def test_s2_8_the_later_of_two_splits_wins_and_undoing_it_restores_the_earlier(
    store: Noted,
) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
    between = await dump(store)
    await store.kb.graph.split(reader, KIEL, "Anna the sailor", documents=[url("kiel")])
    said = await described(store, A)
    assert KIEL not in said
    assert said["Anna the sailor"] == "repairs boats in Kiel"
    await store.kb.graph.unsplit(reader, "Anna the sailor")
    assert await dump(store) == between


async def test_s2_8_a_part_can_be_deleted_by_hand_and_restored(store: Noted) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
    before = await outline(store)
    await store.kb.graph.delete(reader, KIEL)
    said = await described(store, A)
    assert KIEL not in said
    assert said["Anna Schmidt"] == "runs sales in Oslo"
    await store.put("kiel", A, "Anna Schmidt (person): repairs boats in Kiel")
    assert KIEL not in await described(store, A)
    await store.put(
        "kiel",
        A,
        "Anna Schmidt (person): repairs boats in Kiel",
        "Acme Corp (organization)",
        "Anna Schmidt -> Acme Corp [PART_OF]: as a guest",
        "Anna Schmidt -> Nordwind [USES]: a boat",
    )
    await store.kb.graph.restore(reader, KIEL)
    assert (await described(store, A))[KIEL] == "repairs boats in Kiel"
    assert await outline(store) == before


async def _ingested_anew(store: Noted) -> None:
    await store.remove("kiel")
    assert KIEL not in await described(store, A)
    await store.put("kiel", A, "Anna Schmidt (person): is back")
    assert (await described(store, A))[KIEL] == "is back"


async def _erased(store: Noted) -> None:
    await store.kb.documents.erase(await store.kb.reader(A), [url("kiel")])
    tables = ("entity_splits", "split_passages")
    for table in tables:
        assert await store.project.database.rows(f"SELECT count(*) FROM {table}", {}) == [(0,)]
    names = await store.project.database.rows("SELECT normalized_name FROM entities", {})
    assert not [name for (name,) in names if "kiel" in name]
    await store.put("kiel", A, "Anna Schmidt (person): is another document")
    assert KIEL not in await described(store, A)


@pytest.mark.parametrize("gone", [_ingested_anew, _erased])
async def test_s2_8_a_split_outlives_deletion_but_not_erasure(
    store: Noted, gone: Callable[[Noted], Awaitable[None]]
) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
    await gone(store)


async def test_s2_8_the_order_of_split_and_ingestion_does_not_matter(
    database: Database, other_database: Database
) -> None:
    """A store in which the document is read after the split equals one in which it was read before."""
    stores = [await noted(each) for each in (database, other_database)]
    lines = ("Anna Schmidt (person): repairs boats", "Anna Schmidt -> Tarn [USES]: a lake")
    for first, store in zip((lines, lines[:1]), stores, strict=True):
        await store.put("oslo", A, "Anna Schmidt (person): runs sales")
        await store.put("kiel", A, *first)
        reader = await store.kb.reader(A)
        await store.kb.graph.split(reader, "Anna Schmidt", KIEL, documents=[url("kiel")])
        await store.put("kiel", A, *lines)
    assert await outline(stores[0]) == await outline(stores[1])
