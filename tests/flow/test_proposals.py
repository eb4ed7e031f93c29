"""Merge proposals on a real database: evidence, and rejected proposals."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.item_structure import LinkType
from lightwell.records.database import Database
from tests.generation import examples

from .notes import Noted, noted
from .test_merging import AB, A, B


async def pairs(store: Noted, tags: list[str]) -> list[tuple[str, str]]:
    found = await store.kb.graph.proposals(await store.kb.reader(tags))
    return [(each.one.name, each.other.name) for each in found]


async def test_equal_addresses_and_aliases_speak_for_a_merge(database: Database) -> None:
    store = await noted(database)
    await store.put(
        "one", A, "Jane Smith (person, email=jane@acme.example)", "Li Hua (person, aliases=LiHua)"
    )
    await store.put("two", A, "Boss Lady (person, email=Jane@Acme.example)", "LiHua (person)")
    await store.put("three", A, "Jane Smith (person, email=jane@acme.example)")
    found = await store.kb.graph.proposals(await store.kb.reader(A))
    assert [(each.one.name, each.other.name, each.evidence) for each in found] == [
        ("Jane Smith", "Boss Lady", {"email": "jane@acme.example"}),
        ("Li Hua", "LiHua", {"alias": "lihua"}),
    ]
    assert [each.confidence for each in found] == [0.95, 0.9]


async def test_near_names_speak_for_a_merge_where_neighbours_are_shared(database: Database) -> None:
    store = await noted(database)
    await store.put(
        "one", A, "Nordwind -> Osprey [USES]", "ENG-41 -> Osprey [USES]", "Tarn Valley (place)"
    )
    await store.put(
        "two", A, "Nordwind AG -> Osprey [USES]", "ENG-42 -> Osprey [USES]", "Tarn Valey (place)"
    )
    reader = await store.kb.reader(A)
    [found] = await store.kb.graph.proposals(reader)
    assert {found.one.name, found.other.name} == {"Nordwind", "Nordwind AG"}
    assert found.shared_neighbours == ("Osprey",)
    assert list(found.evidence) == ["name"]
    assert 0.5 <= float(found.evidence["name"]) < 1
    assert 0.4 < found.confidence < 0.9
    assert await store.kb.graph.proposals(reader, about="Osprey") == []
    assert await store.kb.graph.proposals(reader, about="nordwind") == [found]


async def test_a_proposal_changes_nothing_until_somebody_merges(database: Database) -> None:
    store = await noted(database)
    await store.put("one", A, "Nordwind -> Osprey [USES]", "Nordwind AG -> Osprey [USES]")
    reader = await store.kb.reader(A)
    assert len(await pairs(store, A)) == 1
    assert (await store.kb.documents.status(reader)).entities == 3
    await store.kb.graph.merge(reader, ["Nordwind AG"], "Nordwind")
    assert await pairs(store, A) == []
    await store.kb.graph.unmerge(reader, "Nordwind AG")
    assert len(await pairs(store, A)) == 1


async def test_what_was_rejected_is_never_proposed_again(database: Database) -> None:
    store = await noted(database)
    lines = ("Nordwind -> Osprey [USES]", "Nordwind AG -> Osprey [USES]")
    await store.put("one", A, *lines)
    reader = await store.kb.reader(A)
    one, other = await store.kb.graph.reject(reader, "nordwind ag", "Nordwind")
    assert {one.name, other.name} == {"Nordwind", "Nordwind AG"}
    await store.kb.graph.reject(reader, "Nordwind", "Nordwind AG")
    assert await pairs(store, A) == []
    await store.remove("one")
    kept = await store.project.database.rows(
        "SELECT merge_rejections::text FROM merge_rejections", {}
    )
    assert len(kept) == 1
    assert "nordwind" not in kept[0][0]
    await store.put("one", AB, *lines, "Osprey Plant -> Osprey [PART_OF]")
    assert await pairs(store, AB) == []
    await store.kb.graph.merge(await store.kb.reader(AB), ["Osprey Plant"], "Nordwind")
    assert await pairs(store, AB) == []
    reader = await store.kb.reader(A)
    with pytest.raises(Invalid, match="one entity"):
        await store.kb.graph.reject(reader, "Nordwind", "Nordwind")
    with pytest.raises(NotFound):
        await store.kb.graph.reject(await store.kb.reader(["team:c"]), "Nordwind", "Nordwind AG")


async def test_a_rejected_merge_can_be_taken_back_also_under_a_later_name(
    database: Database,
) -> None:
    store = await noted(database)
    lines = ("Nordwind -> Osprey [USES]", "Nordwind AG -> Osprey [USES]")
    await store.put("one", A, *lines)
    reader, graph = await store.kb.reader(A), store.kb.graph
    await graph.reject(reader, "Nordwind", "Nordwind AG")
    [decision] = await graph.decisions(reader)
    assert not decision.is_confirmed
    assert {*decision.names} == {"Nordwind", "Nordwind AG"}
    await store.remove("one")
    assert await graph.decisions(reader) == []
    await store.put("one", A, *lines)
    assert await pairs(store, A) == []
    await graph.reopen(await store.kb.reader(A), "Nordwind AG", "Nordwind")
    assert len(await pairs(store, A)) == 1
    with pytest.raises(Invalid, match="Nobody has rejected"):
        await graph.reopen(await store.kb.reader(A), "Nordwind AG", "Nordwind")


async def test_taking_back_a_rejection_changes_nothing_for_readers_of_other_documents(
    database: Database,
) -> None:
    store = await noted(database)
    lines = ("Nordwind -> Osprey [USES]", "Nordwind AG -> Osprey [USES]")
    await store.put("one", A, *lines)
    await store.put("two", B, *lines)
    both = await store.kb.reader([*A, *B])
    await store.kb.graph.reject(both, "Nordwind", "Nordwind AG")
    await store.kb.graph.reopen(await store.kb.reader(A), "Nordwind", "Nordwind AG")
    assert len(await pairs(store, A)) == 1
    assert await pairs(store, B) == []
    await store.kb.graph.reject(await store.kb.reader(A), "Nordwind", "Nordwind AG")
    await store.kb.graph.reopen(both, "Nordwind", "Nordwind AG")
    assert len(await pairs(store, A)) == len(await pairs(store, B)) == 1


async def test_the_last_decisions_are_listed_for_those_who_see_both_sides(
    database: Database,
) -> None:
    store = await noted(database)
    await store.put("one", A, "Nordwind -> Osprey [USES]", "Nordwind AG -> Osprey [USES]")
    await store.put("two", B, "Tarn (product)")
    both, graph = await store.kb.reader([*A, *B]), store.kb.graph
    merge = await graph.merge(both, ["Nordwind AG"], "Nordwind")
    link = await graph.links.add(both, "Osprey", "Tarn", LinkType.RELATED_TO)
    assert [(each.kind, each.is_confirmed, each.id) for each in await graph.decisions(both)] == [
        ("link", True, str(link.id)),
        ("merge", True, str(merge.merge_id)),
    ]
    await graph.links.reject(both, link.id)
    assert [each.is_confirmed for each in await graph.decisions(both)] == [False, True]
    assert [each.id for each in await graph.decisions(await store.kb.reader(A))] == [
        str(merge.merge_id)
    ]
    assert await graph.decisions(await store.kb.reader(B)) == []


@examples(8)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([A, B]),
            st.sampled_from(["Nordwind", "Nordwind AG", "Nordwind GmbH", "Nordwin"]),
            st.sampled_from(["Osprey", "Tarn"]),
            st.sampled_from(
                ["", ", email=a@x.example", ", email=b@x.example", ", domain=x.example"]
            ),
        ),
        min_size=3,
        max_size=6,
    )
)
async def test_proposals_rest_on_what_the_reader_sees_alone(
    database: Database, papers: list[tuple[list[str], str, str, str]]
) -> None:
    full, own = await noted(database, uuid4().hex), await noted(database, uuid4().hex)
    for number, (tags, name, neighbour, attribute) in enumerate(papers):
        for store in (full, own) if tags == A else (full,):
            lines = (f"{name} (organization{attribute})", f"{name} -> {neighbour} [USES]")
            await store.put(f"{number}", tags, *lines)
    assert await plain(full, await full.kb.reader(A)) == await plain(own, await own.kb.reader(A))


async def plain(store: Noted, reader: Reader) -> list[object]:
    return [
        (each.one.ref, each.other.ref, each.confidence, each.evidence, each.shared_neighbours)
        for each in await store.kb.graph.proposals(reader)
    ]
