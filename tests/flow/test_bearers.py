"""S2.8: where texts contradict each other in an attribute that distinguishes, one name has several entities."""

import pytest

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity
from lightwell.domain.graph_views import Candidates
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import project_on
from .notes import Noted, noted, outline
from .observed import entities_seen

A, B, AB = ["team:a"], ["team:b"], ["team:a", "team:b"]
OSLO = "Anna Schmidt (person, email=anna@oslo.example): runs sales"
KIEL = "Anna Schmidt (person, email=anna@kiel.example): repairs boats"
PLAIN = "Anna Schmidt (person): likes tea"


async def annas(store: Noted, tags: list[str]) -> dict[str, str]:
    found = await entities(store, tags)
    return {
        each.ref.removeprefix("kg:person:anna-schmidt"): each.description
        for each in found
        if each.name == "Anna Schmidt"
    }


async def entities(store: Noted, tags: list[str]) -> list[Entity]:
    reader = await store.kb.reader(tags)
    return [each for each in await entities_seen(store.kb.graph, reader)]


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("email", "a@x.example", "b@x.example"),
        ("domain", "x.example", "y.example"),
        ("owner", "ada", "bob"),
        ("location", "oslo", "kiel"),
    ],
)
async def test_s2_8_contradicting_attributes_separate_what_bears_one_name(
    database: Database, field: str, one: str, other: str
) -> None:
    store = await noted(database)
    await store.put(
        "one", A, f"Anna Schmidt (person, {field}={one}): sells", "Anna Schmidt -> Tarn [USES]: so"
    )
    assert await annas(store, A) == {"": "sells"}
    await store.put(
        "two", A, f"Anna Schmidt (person, {field}={other}): buys", PLAIN.replace("Anna", "Bo")
    )
    await store.put("same", A, f"Anna Schmidt (person, {field}={one.upper()}): sells more")
    await store.put("plain", A, PLAIN)
    assert await annas(store, A) == {
        f"<{one}>": "sells | sells more",
        f"<{other}>": "buys",
        "": "likes tea",
    }
    reader = await store.kb.reader(A)
    with pytest.raises(Invalid, match="Several entities are called"):
        await store.kb.graph.entity(reader, "Anna Schmidt")
    seller = await store.kb.graph.entity(reader, f"kg:person:anna-schmidt<{one}>")
    assert [each.target for each in seller.relations] == ["Tarn"]


async def test_s2_8_bearers_do_not_depend_on_the_order_of_ingestion(
    database: Database, other_database: Database
) -> None:
    documents = {"one": OSLO, "two": KIEL, "three": PLAIN}
    found: list[object] = []
    for each, order in (
        (database, ("one", "two", "three")),
        (other_database, ("three", "two", "one")),
    ):
        store = await noted(each)
        await each.execute("UPDATE projects SET id_key = %(key)s", {"key": b"one key"})
        for name in order:
            await store.put(name, A, documents[name], "Anna Schmidt -> Tarn [USES]: a lake")
        state = await outline(store)
        ids = [(one.id, one.ref, one.description) for one in await entities(store, A)]
        found.append((state["mentions"], state["statements"], state["entities"], ids))
    assert found[0] == found[1]


async def test_s2_8_a_name_is_one_again_when_the_contradiction_goes(database: Database) -> None:
    store = await noted(database)
    await store.put("one", A, OSLO, "Anna Schmidt -> Tarn [USES]: a lake")
    await store.put("three", A, PLAIN)
    before = await outline(store)
    await store.put("two", A, KIEL, "Anna Schmidt -> Osprey [USES]: a boat")
    assert len(await annas(store, A)) == 3
    await store.put("two", A, "Osprey (place)")
    assert len(await annas(store, A)) == 1
    await store.put("two", A, KIEL)
    assert len(await annas(store, A)) == 3
    await store.kb.documents.erase(await store.kb.reader(A), ["file:///shelf/two.txt"])
    assert await outline(store) == before
    assert await store.project.database.rows("SELECT count(*) FROM entity_bearers", {}) == [(0,)]


async def test_s2_8_an_attribute_in_another_class_changes_nothing(
    database: Database, other_database: Database
) -> None:
    full, own = await noted(database), await noted(other_database)
    for each in (database, other_database):
        await each.execute("UPDATE projects SET id_key = %(key)s", {"key": b"one key"})
    await full.put("secret", B, KIEL)
    await full.put("other", B, "Anna Schmidt (person, email=x@y.example): is secret")
    for store in (full, own):
        await store.put("one", A, OSLO)
        await store.put("three", A, PLAIN)
    seen = [
        [
            (each.id, each.ref, each.description, each.chunk_count)
            for each in await entities(store, A)
        ]
        for store in (full, own)
    ]
    assert seen[0] == seen[1]
    assert len(await annas(full, AB)) == 3


async def test_s2_8_a_document_takes_its_contradiction_along_to_other_tags(
    database: Database,
) -> None:
    store = await noted(database)
    await store.put("one", A, OSLO)
    await store.put("two", A, KIEL)
    assert len(await annas(store, A)) == 2
    await store.put("two", B, KIEL)
    assert await annas(store, A) == {"": "runs sales"}
    assert await annas(store, B) == {"": "repairs boats"}


async def test_s2_8_a_split_by_hand_stands_before_an_attribute(database: Database) -> None:
    store = await noted(database)
    await store.put("one", A, OSLO)
    await store.put("two", A, KIEL)
    before = await outline(store)
    reader = await store.kb.reader(A)
    kiel = "kg:person:anna-schmidt<anna@kiel.example>"
    await store.kb.graph.split(reader, kiel, "Anna the sailor", documents=["file:///shelf/two.txt"])
    names = {each.name: each.description for each in await entities(store, A)}
    assert names == {"Anna Schmidt": "runs sales", "Anna the sailor": "repairs boats"}
    await store.kb.graph.unsplit(reader, "Anna the sailor")
    assert await outline(store) == before


async def test_s2_8_rules_state_the_address_that_a_mail_gives_with_a_name(
    database: Database,
) -> None:
    """A mail's head says whose address it is; what gives one name two addresses, or another's, says nothing."""
    project = await project_on(database)
    texts = {
        "oslo": "We had a note from Anna Schmidt <anna.schmidt@oslo.example> on pumps.",
        "kiel": "We had a note from Anna Schmidt <Anna.Schmidt@kiel.example> on boats.",
        "desk": "We had a note from Anna Schmidt <office@kiel.example> on tea.",
        "both": "We met Anna Schmidt <anna.schmidt@oslo.example> and Anna Schmidt <anna.schmidt@kiel.example>.",
    }
    shelf = InMemorySource(
        documents=tuple(make_document(f"{name}.md", text, A) for name, text in texts.items())
    )
    assert (await project.kb.ingestion.ingest(shelf)).problems == ()
    reader = await project.kb.reader(A)
    found = {
        each.ref.partition("<")[2].rstrip(">"): sorted(path[-7:-3] for path in each.paths)
        for each in await entities_seen(project.kb.graph, reader)
        if each.name == "Anna Schmidt"
    }
    assert found == {
        "anna.schmidt@oslo.example": ["oslo"],
        "anna.schmidt@kiel.example": ["kiel"],
        "": ["both", "desk"],
    }


@pytest.mark.parametrize(
    ("name", "texts", "bearers"),
    [
        (
            "Nordwind",
            {
                "oslo": "We buy from [Nordwind](https://www.nordwind.example/pumps), which sells pumps.",
                "kiel": "Boats are repaired by Nordwind (mail: <info@x.example>). Ask Nordwind <info@nordwind-boats.example>.",
                "both": "We know Nordwind (nordwind.com) and Nordwind (nordwind.net).",
                "link": "The contract with [Nordwind](https://docs.example/1) is in Nordwind (nordwind.pdf).",
            },
            {
                "nordwind.example": ["oslo"],
                "nordwind-boats.example": ["kiel"],
                "": ["both", "link"],
            },
        ),
        (
            "Tarn House",
            {
                "oslo": "We met people of Tarn House, based in Oslo, on Monday.",
                "kiel": "Boats come from Tarn House, which is headquartered in Kiel.",
                "land": "We pay Tarn House, based in Germany, each month.",
            },
            {"oslo": ["oslo"], "kiel": ["kiel"], "": ["land"]},
        ),
        (
            "Project Falcon",
            {
                "oslo": "We wait for Project Falcon (owner: Jane Smith) since May.",
                "kiel": "We paid for Project Falcon, owned by Bob Moss, twice.",
                "none": "We heard of Project Falcon once.",
            },
            {"jane smith": ["oslo"], "bob moss": ["kiel"], "": ["none"]},
        ),
        (
            "Sales roadmap",
            {
                "oslo": "# Sales roadmap\n\n- **Owner:** Jane Smith\n\nPumps come first.",
                "kiel": "# Sales roadmap\n\nOwner: Bob Moss\n\nBoats come first.",
            },
            {"jane smith": ["oslo"], "bob moss": ["kiel"]},
        ),
    ],
)
async def test_s2_8_rules_state_the_domain_owner_and_location_that_a_text_plainly_gives(
    database: Database, name: str, texts: dict[str, str], bearers: dict[str, list[str]]
) -> None:
    project = await project_on(database)
    shelf = InMemorySource(
        documents=tuple(
            make_document(f"{key}.md", text, A, title=name if text.startswith("#") else key)
            for key, text in texts.items()
        )
    )
    assert (await project.kb.ingestion.ingest(shelf)).problems == ()
    reader = await project.kb.reader(A)
    found = {
        each.ref.partition("<")[2].rstrip(">"): sorted(path[-7:-3] for path in each.paths)
        for each in await entities_seen(project.kb.graph, reader)
        if each.name == name
    }
    assert found == bearers


async def test_s2_8_a_brief_is_on_one_of_the_bearers(database: Database) -> None:
    store = await noted(database)
    await store.put("one", A, OSLO)
    await store.put("two", A, KIEL)
    reader = await store.kb.reader(A)
    found = await store.kb.questions.brief("Anna Schmidt", reader)
    assert isinstance(found, Candidates)
    assert {each.entity.description for each in found.candidates} == {"runs sales", "repairs boats"}
