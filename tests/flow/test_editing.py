"""Editing by hand on a real database: a person's word is kept, and only those hear it who may."""

from itertools import permutations
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import ManualEdit, Predicate, RelationKey, RelationMention
from lightwell.records.database import Database
from lightwell.records.graph.entities import ORDER
from tests.generation import examples

from .notes import Noted, dump, noted
from .observed import entities_seen
from .test_merging import AB, A, B, seen

ACME = "Acme Corp (organization): sells pumps"


@pytest.fixture
async def store(database: Database) -> Noted:
    store = await noted(database)
    await store.put(
        "one", A, ACME, "Nordwind (organization)", "Acme Corp -> Nordwind [USES]: daily"
    )
    return store


async def names(store: Noted, tags: list[str]) -> list[str]:
    reader = await store.kb.reader(tags)
    return [entity.name for entity in await entities_seen(store.kb.graph, reader)]


async def test_a_person_s_word_stands_before_texts_and_stays(store: Noted) -> None:
    reader = await store.kb.reader(A)
    word = ManualEdit(name="Acme International", kind="company", description="A maker of pumps.")
    said = await store.kb.graph.edit(reader, "Acme Corp", word)
    assert (said.name, said.kind, said.description) == (word.name, word.kind, word.description)
    assert said.chunk_count == 1
    await store.put("one", A, "Acme Corp (shop): sells taps", "Nordwind (organization)")
    await store.put("two", A, "Acme Corp (shop): is shut")
    again = await store.kb.graph.entity(await store.kb.reader(A), "Acme International")
    assert (again.entity.name, again.entity.kind) == ("Acme International", "company")
    assert again.entity.description == "A maker of pumps."
    assert again.entity.chunk_count == 2
    assert again.aliases == ("Acme Corp",)
    assert (await store.kb.graph.entity(reader, "acme corp")).entity.id == said.id
    found = await store.kb.questions.search(
        "What about Acme International?", await store.kb.reader(A)
    )
    assert {each.chunk.title for each in found.evidence} >= {"one", "two"}


async def test_a_word_outlives_the_texts_it_is_about(store: Noted) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.edit(reader, "Acme Corp", ManualEdit(description="Ours."))
    await store.remove("one")
    left = await store.kb.graph.entity(await store.kb.reader(A), "Acme Corp")
    assert (left.entity.description, left.entity.chunk_count) == ("Ours.", 0)
    assert left.entity.sources == ()
    assert await names(store, A) == ["Acme Corp"]
    await store.put("one", A, ACME)
    back = await store.kb.graph.entity(await store.kb.reader(A), "Acme Corp")
    assert (back.entity.description, back.entity.chunk_count) == ("Ours.", 1)
    await store.remove("one")
    await store.kb.graph.delete(await store.kb.reader(A), "Acme Corp")
    assert (await dump(store))["entities"] == []


async def test_an_entity_made_by_hand_is_joined_by_texts_that_name_it(store: Noted) -> None:
    reader = await store.kb.reader(A)
    made = await store.kb.graph.create(reader, ManualEdit(name="Osprey Plant", description="New."))
    assert (made.ref, made.kind, made.chunk_count) == ("kg:term:osprey-plant", "term", 0)
    with pytest.raises(Invalid, match="already"):
        await store.kb.graph.create(await store.kb.reader(A), ManualEdit(name="osprey-plant"))
    await store.put("two", A, "Osprey Plant (site): large")
    joined = await store.kb.graph.entity(await store.kb.reader(A), "Osprey Plant")
    assert joined.entity.id == made.id
    assert (joined.entity.chunk_count, joined.entity.description) == (1, "New.")


async def test_what_is_deleted_by_hand_stays_hidden_from_new_readings(store: Noted) -> None:
    await store.put("two", B, "Acme Corp (organization): b's word")
    reader = await store.kb.reader(A)
    before = await dump(store)
    gone = await store.kb.graph.delete(reader, "Acme Corp")
    assert gone.description == "sells pumps"
    await store.put(
        "three", A, "Acme Corp (organization): again", "Acme Corp -> Nordwind [PART_OF]"
    )
    assert await names(store, A) == ["Nordwind"]
    with pytest.raises(NotFound):
        await store.kb.graph.entity(reader, "Acme Corp")
    assert (await store.kb.graph.entity(reader, "Nordwind")).relations == ()
    assert await names(store, B) == ["Acme Corp"]
    assert await names(store, AB) == ["Acme Corp", "Nordwind"]
    await store.put("two", AB, "Acme Corp (organization): b's word")
    assert await names(store, B) == ["Acme Corp"]
    await store.put("two", B, "Acme Corp (organization): b's word")
    assert await names(store, B) == ["Acme Corp"]
    await store.remove("three")
    shown = await store.kb.graph.restore(reader, "Acme Corp")
    assert shown.description == "sells pumps"
    assert [row for row in (await dump(store))["entity profiles"] if "pumps" in row] == [
        row for row in before["entity profiles"] if "pumps" in row
    ]
    with pytest.raises(NotFound):
        await store.kb.graph.restore(reader, "Acme Corp")


async def test_a_relation_by_hand_lives_beside_what_texts_state(store: Noted) -> None:
    reader = await store.kb.reader(A)
    graph = store.kb.graph
    before = await dump(store)
    statement = RelationMention(
        subject="Nordwind",
        object="Acme Corp",
        predicate=Predicate.PART_OF,
        description="since the sale",
        keywords="ownership",
        weight=3,
    )
    made = await graph.relate(reader, statement)
    assert (made.source, made.target, made.weight) == ("Nordwind", "Acme Corp", 3.0)
    assert (made.keywords, made.description) == ("ownership", "since the sale")
    both = RelationMention(
        subject="Acme Corp", object="Nordwind", predicate=Predicate.USES, description="hourly"
    )
    mixed = await graph.relate(await store.kb.reader(A), both)
    assert (mixed.description, mixed.weight, mixed.chunk_count) == ("hourly", 2.0, 1)
    await store.put("two", A, "Acme Corp -> Nordwind [USES]: weekly")
    relations = (await graph.entity(await store.kb.reader(A), "Acme Corp")).relations
    assert [(each.description, each.weight) for each in relations] == [
        ("hourly", 3.0),
        ("since the sale", 3.0),
    ]
    await store.remove("two")
    reader = await store.kb.reader(A)
    part = RelationKey(source="Nordwind", predicate=Predicate.PART_OF, target="Acme Corp")
    use = RelationKey(source="Acme Corp", predicate=Predicate.USES, target="Nordwind")
    await graph.delete_relations(reader, [part])
    await graph.delete_relations(reader, [use])
    assert (await graph.entity(reader, "Acme Corp")).relations == ()
    await store.put("two", A, "Acme Corp -> Nordwind [USES]: weekly")
    assert (await graph.entity(reader, "Acme Corp")).relations == ()
    assert (await dump(store))["entities"] == before["entities"]
    again = await graph.relate(await store.kb.reader(A), both)
    assert again.chunk_count == 2


async def test_words_follow_merges_and_come_back(store: Noted) -> None:
    await store.put("two", A, "ACME Inc (company): makes taps")
    reader = await store.kb.reader(A)
    await store.kb.graph.edit(reader, "ACME Inc", ManualEdit(description="By hand."))
    linked = RelationMention(subject="ACME Inc", object="Nordwind", predicate=Predicate.USES)
    await store.kb.graph.relate(await store.kb.reader(A), linked)
    reader = await store.kb.reader(A)
    before = await dump(store)
    done = await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp")
    assert done.target_entity.description == "sells pumps | By hand."
    assert (done.relations_redirected, done.relations_deduped) == (1, 1)
    relations = (await store.kb.graph.entity(reader, "Acme Corp")).relations
    assert [(each.predicate, each.weight) for each in relations] == [(Predicate.USES, 2.0)]
    whole = await store.kb.graph.edit(reader, "ACME Inc", ManualEdit(description="All of it."))
    assert whole.description == "All of it."
    await store.kb.graph.unmerge(reader, "ACME Inc")
    apart = await store.kb.graph.entity(reader, "ACME Inc")
    assert apart.entity.description == "By hand."
    await store.project.database.execute(
        "DELETE FROM entity_edits WHERE description = 'All of it.'", {}
    )
    after = await dump(store)
    for table in ("mentions", "relations", "statements", "relation profiles"):
        assert after[table] == before[table]


async def test_words_that_cannot_stand_are_refused(store: Noted) -> None:
    reader = await store.kb.reader(A)
    graph = store.kb.graph
    before = await dump(store)
    for word in (
        ManualEdit(),
        ManualEdit(name="..."),
        ManualEdit(name="x" * 201),
        ManualEdit(kind="Big Firm"),
    ):
        with pytest.raises(Invalid):
            await graph.edit(reader, "Acme Corp", word)
        with pytest.raises(Invalid):
            await graph.create(reader, word)
    with pytest.raises(Invalid, match="not be able to see it"):
        await graph.edit(reader, "Acme Corp", ManualEdit(name="X"), tags=B)
    with pytest.raises(NotFound):
        await graph.edit(await store.kb.reader(B), "Acme Corp", ManualEdit(name="X"))
    with pytest.raises(NotFound):
        await graph.delete(await store.kb.reader(B), "Acme Corp")
    with pytest.raises(NotFound):
        await graph.delete_relations(
            reader, [RelationKey(source="Nordwind", predicate=Predicate.USES, target="Acme Corp")]
        )
    for weight in (0, -1, float("nan")):
        linked = RelationMention(subject="Nordwind", object="Acme Corp", weight=weight)
        with pytest.raises(Invalid):
            await graph.relate(reader, linked)
    with pytest.raises(Invalid, match="one entity"):
        await graph.relate(reader, RelationMention(subject="Nordwind", object="nordwind"))
    assert await dump(store) == before


async def test_a_word_is_heard_by_those_it_is_for(store: Noted) -> None:
    await store.put("two", B, "Acme Corp (organization): b's word")
    other = await store.kb.reader(B)
    unseen = await seen(store, other)
    reader = await store.kb.reader(AB)
    await store.kb.graph.edit(reader, "Acme Corp", ManualEdit(name="Zeta"), tags=A)
    await store.kb.graph.create(reader, ManualEdit(name="Tarn"), tags=A)
    linked = RelationMention(subject="Acme Corp", object="Nordwind", predicate=Predicate.PART_OF)
    await store.kb.graph.relate(reader, linked, tags=A)
    assert await seen(store, await store.kb.reader(B)) == unseen
    assert (await store.kb.graph.entity(await store.kb.reader(A), "Zeta")).entity.name == "Zeta"


async def test_a_new_name_for_others_does_not_tell_the_old_one(database: Database) -> None:
    store = await noted(database)
    await store.put("one", A, "Project Falcon (codename): secret")
    both = await store.kb.reader(AB)
    await store.kb.graph.edit(both, "Project Falcon", ManualEdit(name="The Site"), tags=B)
    other = await store.kb.reader(B)
    listed = [entity for entity in await entities_seen(store.kb.graph, other)]
    assert [(each.name, each.ref) for each in listed] == [("The Site", "kg:codename:the-site")]
    assert (await store.kb.graph.entity(other, "kg:codename:the-site")).entity.name == "The Site"
    assert (await store.kb.graph.entity(other, "The Site")).aliases == ()
    for name in ("Project Falcon", "kg:codename:project-falcon"):
        with pytest.raises(NotFound):
            await store.kb.graph.entity(other, name)


@examples(6)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Acme Corp", "Nordwind", "Tarn"]), st.booleans()), max_size=5
    ),
    st.lists(st.sampled_from(["Acme Corp", "Nordwind", "Tarn", "Osprey"]), max_size=3, unique=True),
)
async def test_edits_in_other_classes_and_invisible_texts_are_not_felt(
    database: Database, edits: list[tuple[str, bool]], hidden: list[str]
) -> None:
    full, own = await noted(database, uuid4().hex), await noted(database, uuid4().hex)
    lines = ("Acme Corp (organization): old", "Nordwind (organization)", "Nordwind -> Tarn [USES]")
    for store in (full, own):
        await store.put("one", A, *lines)
    await full.put("two", B, "Secrets.", *(f"{name} (thing): secret" for name in hidden))
    for number, (name, is_visible) in enumerate(edits):
        word = ManualEdit(
            description=f"word {number}", name="" if number % 2 else f"{name} {number}"
        )
        for store in (full, own) if is_visible else (full,):
            reader = await store.kb.reader(AB)
            listed = [entity for entity in await entities_seen(store.kb.graph, reader)]
            entity = next(each for each in listed if each.name.startswith(name))
            await store.kb.graph.edit(reader, str(entity.id), word, tags=A if is_visible else B)
    assert await seen(full, await full.kb.reader(A)) == await seen(own, await own.kb.reader(A))


async def test_what_several_classes_say_does_not_depend_on_where_their_rows_lie(
    database: Database,
) -> None:
    """They say the same equally often, but of other documents: an update that the reader cannot see moves a row."""
    found = {
        row
        for order in permutations(range(3))
        for row in await database.rows(
            f"""
            SELECT (array_agg(profile.source_ids[1] ORDER BY {ORDER}))[1],
                   (array_agg(profile.entity_ref ORDER BY {ORDER}))[1]
            FROM (SELECT 1 AS subject_id, '{{}}'::text[] AS by_hand, 1 AS mention_count, 'Acme' AS display_name,
                         'term' AS entity_kind,
                         ARRAY[said.source] AS source_ids, said.entity_ref
                  FROM unnest(%(sources)s::uuid[], %(refs)s::text[]) AS said (source, entity_ref)) AS profile,
                 (SELECT 1 AS entity_id) AS entity
            """,
            {
                "sources": [UUID(int=n) for n in order],
                "refs": [f"kg:term:acme-{n}" for n in order],
            },
        )
    }
    assert found == {(UUID(int=0), "kg:term:acme-0")}
