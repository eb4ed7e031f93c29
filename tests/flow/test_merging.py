"""Merging on a real database: effects, separation of access classes, and undo."""

import re
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import MergeStrategy
from lightwell.records.database import Database
from lightwell.testing.models import ScriptedModel
from tests.generation import examples

from .notes import Noted, dump, noted, outline
from .observed import entities_seen

pytestmark = pytest.mark.usefixtures("many_classes")

A, B, AB = ["team:a"], ["team:b"], ["team:a", "team:b"]
JOINED = MergeStrategy.CONCATENATE


@pytest.fixture
async def store(database: Database) -> Noted:
    """Acme Corp and ACME Inc, in two documents, with relations of which some are alike."""
    store = await noted(database)
    await store.put(
        "one",
        A,
        "Acme Corp (organization): sells pumps",
        "Nordwind (organization): buys pumps",
        "Acme Corp -> Nordwind [USES]: since 2019",
        "Acme Corp -> Osprey [PART_OF]: a plant",
    )
    await store.put(
        "two",
        A,
        "ACME Inc (company): makes valves and pipes",
        "Nordwind (organization): pays late",
        "ACME Inc -> Nordwind [USES]: with a discount",
        "ACME Inc -> Tarn [RELATED_TO]: near the dam",
        "ACME Inc -> Acme Corp [RELATED_TO]: the same house",
    )
    return store


async def test_a_merge_redirects_drops_loops_and_joins_duplicates(store: Noted) -> None:
    reader = await store.kb.reader(A)
    done = await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp")
    assert (done.relations_redirected, done.relations_deduped) == (2, 1)
    assert done.source_entities_deleted == 1
    assert done.target_entity.name == "Acme Corp"
    assert done.target_entity.description == "sells pumps | makes valves and pipes"
    assert done.target_entity.chunk_count == 2
    portrait = await store.kb.graph.entity(reader, "Acme Corp")
    assert portrait.aliases == ("ACME Inc",)
    assert [
        (each.source, each.predicate, each.target, each.weight) for each in portrait.relations
    ] == [
        ("Acme Corp", "USES", "Nordwind", 2.0),
        ("Acme Corp", "PART_OF", "Osprey", 1.0),
        ("Acme Corp", "RELATED_TO", "Tarn", 1.0),
    ]
    names = [entity.name for entity in await entities_seen(store.kb.graph, reader)]
    assert names == ["Acme Corp", "Nordwind", "Osprey", "Tarn"]
    assert (await store.kb.documents.status(reader)).entities == 4


async def test_a_question_by_either_name_finds_what_both_say(store: Noted) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp")
    for name in ("Acme Corp", "ACME Inc"):
        found = await store.kb.questions.search(f"What about {name}?", reader)
        assert {each.chunk.title for each in found.evidence} == {"one", "two"}


@pytest.mark.parametrize(
    ("strategy", "description"),
    [
        (MergeStrategy.CONCATENATE, "sells pumps | makes valves and pipes"),
        (MergeStrategy.KEEP_FIRST, "sells pumps"),
        (MergeStrategy.KEEP_LONGEST, "makes valves and pipes"),
    ],
)
async def test_descriptions_follow_the_strategy_also_after_a_new_reading(
    store: Noted, strategy: MergeStrategy, description: str
) -> None:
    reader = await store.kb.reader(A)
    done = await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp", strategy=strategy)
    assert done.target_entity.description == description
    await store.put("three", A, "Osprey (plant): is large", "ACME Inc (company)")
    assert (await store.kb.graph.entity(reader, "ACME Inc")).entity.description == description


async def test_a_source_speaks_where_the_target_has_no_description(database: Database) -> None:
    store = await noted(database)
    await store.put("one", A, "Acme Corp (organization)", "ACME Inc (company): makes valves")
    reader = await store.kb.reader(A)
    done = await store.kb.graph.merge(
        reader, ["ACME Inc"], "Acme Corp", strategy=MergeStrategy.KEEP_FIRST
    )
    assert done.target_entity.description == "makes valves"
    assert done.target_entity.chunk_count == 1
    assert done.relations_redirected == 0
    await store.put("two", A, "Acme Corp (organization)", "ACME Inc (company): makes pipes")
    again = (await store.kb.graph.entity(reader, "Acme Corp")).entity
    assert (again.chunk_count, again.description) == (2, "makes valves | makes pipes")


async def test_what_cannot_be_merged_is_refused_with_the_reason(store: Noted) -> None:
    reader = await store.kb.reader(A)
    merge = store.kb.graph.merge
    before = await dump(store)
    with pytest.raises(Invalid, match="target's name is empty"):
        await merge(reader, ["ACME Inc"], "  ")
    with pytest.raises(Invalid, match="No source entity"):
        await merge(reader, [], "Acme Corp")
    with pytest.raises(Invalid, match="cannot be merged with itself"):
        await merge(reader, ["ACME Inc", "acme corp"], "Acme Corp")
    with pytest.raises(NotFound, match="no entity 'Zeta' that you may see"):
        await merge(reader, ["Zeta"], "Acme Corp")
    with pytest.raises(Invalid, match="needs a chat model"):
        await merge(reader, ["ACME Inc"], "Acme Corp", strategy=MergeStrategy.LLM_SUMMARIZE)
    assert await dump(store) == before


async def test_entities_of_another_project_are_not_there(store: Noted, database: Database) -> None:
    other = await noted(database, "other")
    await other.put("one", A, "Zeta (organization)")
    zeta = (await other.kb.graph.entity(await other.kb.reader(A), "Zeta")).entity
    reader = await store.kb.reader(A)
    for name in ("Zeta", str(zeta.id), zeta.ref):
        with pytest.raises(NotFound):
            await store.kb.graph.merge(reader, [name], "Acme Corp")


async def test_what_one_may_not_see_cannot_be_merged_or_taken_apart(store: Noted) -> None:
    await store.put("three", B, "ACME Inc (company): hidden here", "Zeta (company)")
    both, own = await store.kb.reader(AB), await store.kb.reader(A)
    with pytest.raises(NotFound):
        await store.kb.graph.merge(own, ["Zeta"], "Acme Corp")
    done = await store.kb.graph.merge(both, ["Zeta"], "Acme Corp")
    for name in ("Zeta", "Acme Corp", str(done.merge_id)):
        with pytest.raises(NotFound) as unseen:
            await store.kb.graph.unmerge(own, name)
        assert "Acme" not in str(unseen.value) or name == "Acme Corp"
    assert [each.name for each in await store.kb.graph.unmerge(both, "Zeta")] == ["Zeta"]


async def test_unmerging_restores_every_row(store: Noted) -> None:
    reader = await store.kb.reader(A)
    before, shown = await dump(store), await seen(store, reader)
    done = await store.kb.graph.merge(reader, ["ACME Inc", "Osprey"], "Acme Corp")
    assert await seen(store, reader) != shown
    apart = await store.kb.graph.unmerge(reader, str(done.merge_id))
    assert [each.name for each in apart] == ["ACME Inc", "Osprey"]
    assert await seen(store, reader) == shown
    assert await dump(store) == before


async def test_a_new_reading_lands_on_the_target_and_remembers_the_alias(store: Noted) -> None:
    reader = await store.kb.reader(A)
    await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp")
    await store.remove("two")
    assert len((await dump(store))["relations"]) == 2
    await store.put("two", A, "ACME Inc (company): makes taps", "ACME Inc -> Osprey [PART_OF]")
    portrait = await store.kb.graph.entity(reader, "Acme Corp")
    assert portrait.entity.description == "sells pumps | makes taps"
    assert portrait.entity.chunk_count == 2
    assert portrait.aliases == ("ACME Inc",)
    assert [(each.target, each.weight) for each in portrait.relations] == [
        ("Osprey", 2.0),
        ("Nordwind", 1.0),
    ]
    await store.kb.graph.unmerge(reader, "ACME Inc")
    assert (await store.kb.graph.entity(reader, "ACME Inc")).entity.description == "makes taps"


async def test_merges_that_hold_are_listed_by_what_their_reader_has_heard(store: Noted) -> None:
    reader = await store.kb.reader(A)
    graph = store.kb.graph
    first = await graph.merge(reader, ["ACME Inc", "Tarn"], "Acme Corp")
    second = await graph.merge(reader, ["Acme Corp"], "Osprey", strategy=MergeStrategy.KEEP_LONGEST)
    held = await graph.merges(reader)
    assert [(each.merge_id, each.target, each.sources, each.strategy) for each in held] == [
        (second.merge_id, "Osprey", ("Acme Corp",), MergeStrategy.KEEP_LONGEST),
        (first.merge_id, "Acme Corp", ("ACME Inc", "Tarn"), JOINED),
    ]
    assert held[0].merged_at > held[1].merged_at
    assert await graph.merges(reader, limit=1) == held[:1]
    assert await graph.merges(reader, after=second.merge_id) == held[1:]
    await graph.unmerge(reader, "Tarn")
    assert [each.sources for each in await graph.merges(reader)] == [("Acme Corp",), ("ACME Inc",)]
    await graph.unmerge(reader, str(second.merge_id))
    assert [each.merge_id for each in await graph.merges(reader)] == [first.merge_id]


async def test_chains_and_circles(store: Noted) -> None:
    reader = await store.kb.reader(A)
    graph = store.kb.graph
    before = await dump(store)
    await graph.merge(reader, ["ACME Inc"], "Acme Corp")
    await graph.merge(reader, ["Acme Corp"], "Osprey")
    assert (await graph.entity(reader, "ACME Inc")).entity.name == "Osprey"
    for source, target in (("Osprey", "ACME Inc"), ("ACME Inc", "Osprey"), ("Osprey", "Osprey")):
        with pytest.raises(Invalid, match="one entity"):
            await graph.merge(reader, [source], target)
    await graph.unmerge(reader, "ACME Inc")
    assert (await graph.entity(reader, "ACME Inc")).entity.name == "ACME Inc"
    assert (await graph.entity(reader, "Acme Corp")).entity.name == "Osprey"
    await graph.unmerge(reader, "Acme Corp")
    assert await dump(store) == before


async def test_who_sees_one_of_two_merged_entities_learns_nothing_of_the_other(
    database: Database,
) -> None:
    store = await noted(database)
    await store.put("one", A, "Zeta (organization): sells pumps", "Zeta -> Osprey [USES]: daily")
    await store.put(
        "two", B, "Project Falcon (codename): is secret", "Project Falcon -> Tarn [USES]"
    )
    own = await store.kb.reader(A)
    before = await seen(store, own)
    done = await store.kb.graph.merge(await store.kb.reader(AB), ["Zeta"], "Project Falcon")
    assert await seen(store, own) == before
    entities = [entity for entity in await entities_seen(store.kb.graph, own)]
    assert "falcon" not in str(entities).lower()
    for name in ("Project Falcon", str(done.target_entity.id)):
        with pytest.raises(NotFound):
            await store.kb.graph.entity(own, name)
    other = await store.kb.graph.entity(await store.kb.reader(B), "Project Falcon")
    assert other.aliases == ()
    assert [each.target for each in other.relations] == ["Tarn"]


NAMES = ("Acme Corp", "ACME Inc", "Nordwind", "Osprey", "Tarn")


@st.composite
def papers(draw: st.DrawFn) -> tuple[str, ...]:
    """Return the lines of a document: mentions with or without a description, and statements."""
    name = st.sampled_from(NAMES)
    said = st.tuples(name, st.sampled_from(["", ": is old", ": sells pumps and pipes", ": owes"]))
    stated = st.tuples(name, name, st.sampled_from(["USES", "PART_OF"]))
    mentions = draw(st.lists(said, min_size=1, max_size=4, unique_by=lambda each: each[0]))
    statements = draw(st.lists(stated, max_size=4, unique=True))
    return (
        *(f"{one} (thing){words}" for one, words in mentions),
        *(f"{one} -> {other} [{predicate}]: so" for one, other, predicate in statements),
    )


@dataclass(frozen=True)
class Put:
    name: str
    tags: list[str]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Remove:
    name: str


@dataclass(frozen=True)
class Merge:
    sources: list[str]
    target: str


@dataclass(frozen=True)
class Unmerge:
    name: str


Change = Put | Remove | Merge | Unmerge

changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(Put, st.sampled_from("xyz"), st.sampled_from([A, B, AB]), papers()),
    st.builds(Remove, st.sampled_from("xyz")),
    st.builds(
        Merge,
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=2),
        st.sampled_from(NAMES),
    ),
    st.builds(Unmerge, st.sampled_from(NAMES)),
)

on_one_database = examples(7)


@on_one_database
@given(st.lists(changes, min_size=3, max_size=8), st.sampled_from(list(MergeStrategy)))
async def test_once_all_is_taken_back_no_merge_has_been(
    database: Database, history: list[Change], strategy: MergeStrategy
) -> None:
    merged = await noted(database, uuid4().hex, ScriptedModel(lambda _: "In short."))
    plain = await noted(database, uuid4().hex)
    for change in (Put("all", A, tuple(f"{name} (thing)" for name in NAMES)), *history):
        await carried_out(merged, change, strategy)
        if isinstance(change, Put | Remove):
            await carried_out(plain, change, strategy)
    for name in NAMES:
        await carried_out(merged, Unmerge(name), strategy)
    assert await outline(merged) == await outline(plain)


async def carried_out(store: Noted, change: Change, strategy: MergeStrategy) -> None:
    """Make one change; a merge of what is one already, and one that is not there, are none."""
    reader = await store.kb.reader(AB)
    match change:
        case Put(name, tags, lines):
            await store.put(name, tags, *lines)
        case Remove(name):
            await store.remove(name)
        case Merge(sources, target):
            with suppress(Invalid, NotFound):
                await store.kb.graph.merge(reader, sources, target, strategy=strategy)
        case Unmerge(name):
            with suppress(NotFound):
                await store.kb.graph.unmerge(reader, name)


@on_one_database
@given(
    st.lists(st.tuples(st.sampled_from([A, B]), papers()), min_size=2, max_size=5),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=4),
    st.sampled_from([JOINED, MergeStrategy.KEEP_FIRST, MergeStrategy.KEEP_LONGEST]),
)
async def test_what_merged_entities_show_depends_on_no_invisible_document(
    database: Database,
    corpus: list[tuple[list[str], tuple[str, ...]]],
    merges: list[tuple[str, str]],
    strategy: MergeStrategy,
) -> None:
    """The same merges, with and without what B's documents say."""
    full, own = await noted(database, uuid4().hex), await noted(database, uuid4().hex)
    for store in (full, own):
        await store.put("names", B, *(f"{name} (thing)" for name in NAMES))
    for number, (tags, lines) in enumerate(corpus):
        for store in (full, own) if tags == A else (full,):
            await store.put(f"{number}", tags, *lines)
    for one, other in merges:
        for store in (full, own):
            await carried_out(store, Merge([one], other), strategy)
    assert await seen(full, await full.kb.reader(A)) == await seen(own, await own.kb.reader(A))


async def seen(store: Noted, reader: Reader) -> object:
    """Return all that a reader can observe, without ids."""
    portraits: list[str] = []
    for entity in await entities_seen(store.kb.graph, reader):
        portrait = await store.kb.graph.entity(reader, str(entity.id))
        portraits.append(_plain(portrait))
    found: list[object] = []
    for name in ("Zeta", "Project Falcon", "Acme Corp", "ACME Inc", "Nordwind", "Tarn"):
        try:
            portrait = _plain(await store.kb.graph.entity(reader, name))
        except NotFound as error:
            portrait = str(error)
        asked = await store.kb.questions.search(f"What about {name}?", reader)
        evidence = [(e.chunk.title, e.relevance, dict(e.ranks)) for e in asked.evidence]
        found.append((portrait, evidence))
    standing = await store.kb.graph.merges(reader)
    merges = [(each.target, each.sources, each.strategy) for each in standing]
    return portraits, found, merges, await store.kb.documents.status(reader)


def _plain(portrait: object) -> str:
    return re.sub(
        r"UUID\('[^']+'\)|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id", repr(portrait)
    )
