"""Briefs on what documents speak of, and the candidates that fit one name."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from lightwell.answer.brief import brief as briefing
from lightwell.answer.brief.brief import Library
from lightwell.domain.answers import Confidence, confidence
from lightwell.domain.briefs import Brief, BriefLine
from lightwell.domain.errors import NotFound
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph import ManualEdit
from lightwell.domain.graph_views import Candidates
from lightwell.domain.questions import Mode
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document
from tests.passages import found

from .conftest import Project
from .notes import Noted, noted

SALES, SUPPORT = ["team:sales"], ["team:support"]
NORDWIND = {
    "plan.md": "# Plan\n\nNordwind Energie is a utility in Lübeck. Dr. Katrin Albers decides for Nordwind Energie.",
    "2026-03-18-call.md": "Nordwind Energie called about the gateways. The offer to Nordwind Energie is overdue.",
    "2026-02-12-visit.md": "Nordwind Energie visited the workshop in Bergen.",
    "2026-01-05-mail.md": "Nordwind Energie asked for a discount.\n\n- [ ] Nordwind Energie: send the papers\n",
}


async def shelved(project: Project, texts: dict[str, str], tags: Sequence[str] = SALES) -> None:
    old = datetime(2025, 1, 1, tzinfo=UTC)
    documents = [
        replace(make_document(name, text, tags), updated_at=old) for name, text in texts.items()
    ]
    await project.kb.ingestion.ingest(
        InMemorySource(documents=tuple(documents), scope=f"file:///shelf/{uuid4()}")
    )


async def brief(project: Project, name: str, tags: Sequence[str] = SALES) -> Brief:
    found = await project.kb.questions.brief(name, await project.kb.reader(tags))
    assert isinstance(found, Brief)
    return found


async def candidates(project: Project, name: str, tags: Sequence[str] = SALES) -> Candidates:
    found = await project.kb.questions.brief(name, await project.kb.reader(tags))
    assert isinstance(found, Candidates)
    return found


def texts(lines: Sequence[BriefLine]) -> list[str]:
    return [each.text for each in lines]


async def test_a_brief_has_three_to_five_citations_word_for_word(project: Project) -> None:
    await shelved(project, NORDWIND)
    given = await brief(project, "nordwind energie")
    assert given.entity.name == "Nordwind Energie"
    assert texts(given.about) == ["Nordwind Energie is a utility in Lübeck."]
    assert texts(given.lately) == [
        "Nordwind Energie called about the gateways.",
        "Nordwind Energie visited the workshop in Bergen.",
        "Nordwind Energie asked for a discount.",
    ]
    assert [f"{each.said_at:%Y-%m-%d}" for each in given.lately] == [
        "2026-03-18",
        "2026-02-12",
        "2026-01-05",
    ]
    assert texts(given.open_points) == [
        "The offer to Nordwind Energie is overdue.",
        "Nordwind Energie: send the papers",
    ]
    assert [each.id for each in given.citations] == ["[1]", "[2]", "[3]", "[4]"]
    assert given.model == "extracts"
    reader = await project.kb.reader(SALES)
    told = (*given.about, *given.lately, *given.open_points)
    for cited in (*given.citations, *(each for line in told for each in line.citations)):
        whole = await project.kb.documents.text(reader, cited.source_url)
        assert whole[cited.locator.start :].startswith(cited.snippet)


async def test_people_and_links_say_how(project: Project) -> None:
    await shelved(project, NORDWIND)
    given = await brief(project, "Nordwind Energie")
    person = next(each for each in given.people if "Albers" in each.name)
    assert person.evidence
    assert person.evidence.text == "Dr. Katrin Albers decides for Nordwind Energie."
    assert person.evidence.citations[0].id in {each.id for each in given.citations}
    assert person.co_mentions == 1
    links = {each.name: each for each in given.links}
    how = links["Lübeck"].evidence
    assert how
    assert how.text == "Nordwind Energie is a utility in Lübeck."


async def test_one_document_is_one_honest_citation(project: Project) -> None:
    await shelved(project, {"a.md": "Tern was a project about a buoy."})
    given = await brief(project, "Tern")
    assert texts(given.about) == ["Tern was a project about a buoy."]
    assert len(given.citations) == 1


async def test_a_citation_s_score_is_how_relevant_its_passage_is_to_the_name(
    project: Project,
) -> None:
    weak = "Nordwind Energie paid. " + "Nobody was there to see the rain in the harbour. " * 30
    await shelved(project, {**NORDWIND, "rain.md": weak})
    given = await brief(project, "Nordwind Energie")
    reader = await project.kb.reader(SALES)
    searched = await project.kb.questions.search(
        "Nordwind Energie", reader, limit=10, mode=Mode.NAIVE
    )
    relevance = {str(each.chunk.id): each.relevance for each in searched.evidence}
    scores = {each.chunk_id: each.score for each in given.citations}
    assert scores == {chunk: relevance[chunk] for chunk in scores}
    assert len(set(scores.values())) > 1
    parts = (*given.about, *given.lately, *given.open_points)
    ties = [each.evidence for each in (*given.people, *given.links) if each.evidence]
    for cited in (cited for line in (*parts, *ties) for cited in line.citations):
        assert cited.score == relevance[cited.chunk_id]
    assert given.relevance == pytest.approx(max(scores.values()), abs=0.0001)
    assert given.confidence is confidence(given.relevance)


async def test_lines_whose_passages_no_search_finds_are_of_low_confidence(
    project: Project,
) -> None:
    await shelved(project, {"a.md": "Tern was a project about a buoy."})

    async def search(words: str) -> Retrieval:
        return found(words)

    library = Library(
        database=project.database,
        reader=await project.kb.reader(SALES),
        search=search,
        model=None,
        max_tokens=4000,
    )
    given = await briefing.brief(library, "Tern")
    assert isinstance(given, Brief)
    assert texts(given.about) == ["Tern was a project about a buoy."]
    assert (given.confidence, given.relevance) == (Confidence.LOW, 0.6)
    assert [each.score for each in given.citations] == [0.0]


async def test_an_entity_that_no_text_speaks_of_has_no_brief_to_cite(database: Database) -> None:
    one = await noted(database)
    await one.put("a", SALES, "Acme Corp (organization)")
    reader = await one.kb.reader(SALES)
    await one.kb.graph.create(
        reader, ManualEdit(name="Osprey Plant", kind="site", description="A site.")
    )
    given = await one.kb.questions.brief("Osprey Plant", reader)
    assert isinstance(given, Brief)
    assert given.confidence is Confidence.INSUFFICIENT
    assert (given.citations, given.about, given.people, given.links) == ((), (), (), ())
    assert given.entity.description == "A site."


async def test_no_document_is_cited_for_what_a_person_wrote(database: Database) -> None:
    one = await noted(database)
    await one.put(
        "a",
        SALES,
        "Cody (product)",
        "Any developer can adopt AI for code because Cody puts guardrails in place to make it secure.",
    )
    await one.put("b", SALES, "Cody (product): writes code", "We met to speak of Cody in March.")
    reader = await one.kb.reader(SALES)
    before = await one.kb.questions.brief("Cody", reader)
    assert isinstance(before, Brief)
    assert not before.entity.described_by_hand
    await one.kb.graph.edit(reader, "Cody", ManualEdit(description="AI coding assistant"))
    given = await one.kb.questions.brief("Cody", reader)
    assert isinstance(given, Brief)
    assert (given.entity.description, given.entity.described_by_hand) == (
        "AI coding assistant",
        True,
    )
    lines = (*given.about, *given.lately, *given.open_points)
    assert lines
    assert not any("assistant" in each.text for each in lines)


# ── which one? ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_name_that_nearly_fits_lists_what_it_may_mean(project: Project) -> None:
    await shelved(
        project,
        {
            "2026-03-01-a.md": "Marlowe Dairy is a dairy in Kent. Marlowe Dairy wants meters.",
            "2026-02-01-b.md": "Marlowe Ltd is a law firm.",
            "2026-01-01-c.md": "We met Marlowe Dairy.",
        },
    )
    found = await candidates(project, "marlowe")
    assert [each.entity.name for each in found.candidates] == ["Marlowe Dairy", "Marlowe Ltd"]
    dairy, firm = found.candidates
    assert dairy.distinguishing["description"] == "Marlowe Dairy is a dairy in Kent."
    assert (dairy.distinguishing["passages"], firm.distinguishing["passages"]) == ("2", "1")
    assert (dairy.distinguishing["latest"], firm.distinguishing["latest"]) == (
        "2026-03-01",
        "2026-02-01",
    )
    typo = await candidates(project, "Marlow Dairy")
    assert typo.candidates[0].entity.name == "Marlowe Dairy"
    for name in (dairy.entity.ref, str(dairy.entity.id)):
        assert (await brief(project, name)).entity.name == "Marlowe Dairy"


async def test_one_name_of_several_is_told_apart_by_attributes(database: Database) -> None:
    """What a merge calls Jonas Weber in one place, and a rename in another, is two people."""
    one = await noted(database)
    await one.put("a", SALES, "Jonas Weber (person, email=jonas@halden.example): writes firmware")
    await one.put("b", SALES, "J Weber (person, email=jonas@nordwind.example): buys sensors")
    reader = await one.kb.reader(SALES)
    await one.kb.graph.edit(reader, "J Weber", ManualEdit(name="Jonas Weber"))
    found = await one.kb.questions.brief("Jonas Weber", reader)
    assert isinstance(found, Candidates)
    apart = {
        each.distinguishing["email"]: each.distinguishing["description"]
        for each in found.candidates
    }
    assert apart == {
        "jonas@halden.example": "writes firmware",
        "jonas@nordwind.example": "buys sensors",
    }
    assert not any("kind" in each.distinguishing for each in found.candidates)
    for each in found.candidates:
        given = await one.kb.questions.brief(str(each.entity.id), reader)
        assert isinstance(given, Brief)
        assert given.entity.id == each.entity.id


async def test_an_alias_leads_to_what_it_stands_for(database: Database) -> None:
    one = await noted(database)
    await one.put("a", SALES, "Acme Corp (organization): sells pumps", "ACME Inc (organization)")
    reader = await one.kb.reader(SALES)
    await one.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp")
    given = await one.kb.questions.brief("acme inc", reader)
    assert isinstance(given, Brief)
    assert given.entity.name == "Acme Corp"


async def test_at_most_ten_candidates(project: Project) -> None:
    await shelved(project, {f"{n}.md": f"Marlowe {word} called." for n, word in enumerate(WORDS)})
    assert len((await candidates(project, "Marlowe")).candidates) == 10


WORDS = "Alder Beech Cedar Damson Elder Fir Gorse Hazel Ivy Juniper Kapok Larch".split()


async def test_what_is_invisible_is_not_there(project: Project) -> None:
    await shelved(project, {"a.md": "Marlowe Dairy is a dairy.", "b.md": "Acme Corp called."})
    said: set[str] = set()
    for tags in (SUPPORT, []):
        with pytest.raises(NotFound) as caught:
            await project.kb.questions.brief("Marlowe Dairy", await project.kb.reader(tags))
        said.add(str(caught.value).replace("Marlowe Dairy", "NAME"))
    with pytest.raises(NotFound) as caught:
        await project.kb.questions.brief("Zyxwvut", await project.kb.reader(SALES))
    said.add(str(caught.value).replace("Zyxwvut", "NAME"))
    assert said == {"There is no entity 'NAME' that you may see"}


async def test_confirmed_links_come_first(database: Database) -> None:
    one = await noted(database)
    await one.put(
        "a",
        SALES,
        "Deal 7 (deal)",
        "Acme Corp (company)",
        "Bolt Ltd (company)",
        "Cog Ltd (company)",
    )
    await one.put("b", SALES, "Deal 7 -> Cog Ltd [USES]: buys from")
    await linked(one, "deal-7", "acme-corp", "confirmed")
    await linked(one, "deal-7", "bolt-ltd", "proposed")
    given = await one.kb.questions.brief("Deal 7", await one.kb.reader(SALES))
    assert isinstance(given, Brief)
    assert [(each.name, each.relation, each.description) for each in given.links] == [
        ("Acme Corp", "belongs_to", ""),
        ("Cog Ltd", "USES", "buys from"),
    ]


async def linked(one: Noted, start: str, end: str, status: str) -> None:
    await one.project.database.execute(
        """
        INSERT INTO entity_links (link_id, project_id, from_ref, to_ref, class_id, link_type, directional, confidence,
                                  evidence, created_by, status)
        SELECT gen_random_uuid(), start.project_id, start.entity_id, stop.entity_id, class.class_id, 'belongs_to', true,
               1, '{}', 'user', %(status)s
        FROM entities AS start JOIN entities AS stop ON stop.entity_ref = 'kg:entity:' || %(end)s
        JOIN access_classes AS class ON class.tags = ARRAY['team:sales']
        WHERE start.entity_ref = 'kg:entity:' || %(start)s
        """,
        {"start": start, "end": end, "status": status},
    )


async def test_names_that_only_others_use_lead_nowhere(database: Database) -> None:
    """An alias from invisible documents matches no name, neither exactly nor approximately."""
    one = await noted(database)
    await one.put("a", SALES, "Acme Corp (organization): sells pumps")
    await one.put("b", SUPPORT, "Zeta Holding (organization): owns pumps")
    both = await one.kb.reader([*SALES, *SUPPORT])
    await one.kb.graph.merge(both, ["Zeta Holding"], "Acme Corp")
    reader = await one.kb.reader(SALES)
    for name in ("Zeta Holding", "zeta", "Zeta Holdin"):
        assert await one.kb.questions.brief(name, both)
        with pytest.raises(NotFound):
            await one.kb.questions.brief(name, reader)


async def test_what_others_say_does_not_make_a_short_name_stand_alone(project: Project) -> None:
    texts = {"a.md": "Marlowe Dairy called.", "b.md": "Marlowe Ltd called. Marlowe Ltd paid."}
    await shelved(project, texts)
    before = await candidates(project, "Marlowe")
    await shelved(project, {"c.md": "Marlowe called. Marlowe paid."}, SUPPORT)
    assert (await candidates(project, "Marlowe")).candidates == before.candidates
    assert (await brief(project, "Marlowe", SUPPORT)).entity.name == "Marlowe"


# ── short names, and names that several bear ──────────────────────────────────────────────────────────


async def test_a_name_that_is_short_for_several_is_none_of_them(project: Project) -> None:
    texts = {
        "a.md": "We met Nordwind Energie in Lübeck. Nordwind Energie GmbH heats flats.",
        "b.md": "Yesterday Nordwind Energie paid.",
        "c.md": "A lorry of Nordwind Logistik came.",
        "d.md": "We read Nordwind's pilot.",
    }
    await shelved(project, texts)
    found = await candidates(project, "Nordwind")
    assert [each.entity.name for each in found.candidates] == [
        "Nordwind Energie",
        "Nordwind Logistik",
        "Nordwind",
    ]
    alone = await brief(project, found.candidates[2].entity.ref)
    assert [each.snippet for each in alone.citations] == ["We read Nordwind's pilot."]


async def test_a_company_said_by_itself_more_often_than_its_products_is_meant(
    project: Project,
) -> None:
    texts = {
        "a.md": "We called Halden today.",
        "b.md": "Our friends at Halden paid.",
        "c.md": "The sensor Halden Tarn leaks.",
    }
    await shelved(project, texts)
    assert (await brief(project, "Halden")).entity.name == "Halden"


async def test_what_differs_in_kind_or_by_a_number_makes_no_name_short(database: Database) -> None:
    one = await noted(database)
    await one.put("a", SALES, "Halden (organization): makes sensors", "Skarn (name): a meter")
    for name in "bc":
        await one.put(name, SALES, "Halden Tarn (product)", "Skarn 3 (name): a meter")
    for name in ("Halden", "Skarn"):
        given = await one.kb.questions.brief(name, await one.kb.reader(SALES))
        assert isinstance(given, Brief)
        assert given.entity.name == name


WEBERS = {
    "who.md": (
        "Jonas Weber of our house writes firmware: jonas.weber@halden.example. He grew up in Kassel."
        " Jonas Weber of the customer buys sensors: jweber@nordwind.example. Jonas Weber met Jonas Weber."
    ),
    "order.md": "Jonas Weber (jweber@nordwind.example) ordered 60 gateways.",
    "radio.md": "Jonas Weber wrote the radio part. Answer to jonas.weber@halden.example.",
    "talk.md": "Jonas Weber spoke in Bergen.",
}


async def test_two_people_of_one_name_are_told_apart_by_their_addresses(project: Project) -> None:
    await shelved(project, WEBERS)
    found = await candidates(project, "Jonas Weber")
    ref = found.candidates[0].entity.ref.partition("<")[0]
    assert {each.entity.ref: each.distinguishing.get("documents") for each in found.candidates} == {
        f"{ref}<jonas.weber@halden.example>": "radio; who",
        f"{ref}<jweber@nordwind.example>": "order; who",
        f"{ref}<>": "talk; who",
    }
    by_reference = await candidates(project, ref)
    assert (by_reference.name, by_reference.candidates) == (ref, found.candidates)
    for picked in (f"{ref}<jweber@nordwind.example>", "Jonas Weber <JWeber@nordwind.example>"):
        given = await brief(project, picked)
        assert {each.snippet for each in given.citations} == {
            "Jonas Weber (jweber@nordwind.example) ordered 60 gateways.",
            "Jonas Weber of the customer buys sensors: jweber@nordwind.example.",
        }
        assert given.entity.description == "jweber@nordwind.example"
        assert given.people == ()
    unsaid = await brief(project, f"{ref}<>")
    assert "Jonas Weber spoke in Bergen." in {each.snippet for each in unsaid.citations}
    assert unsaid.confidence is confidence(unsaid.relevance) is Confidence.LOW
    with pytest.raises(NotFound):
        await project.kb.questions.brief(
            "Jonas Weber <ada@halden.example>", await project.kb.reader(SALES)
        )


async def test_a_person_with_one_address_is_one_person(project: Project) -> None:
    await shelved(
        project,
        {
            "a.md": "Priya Raman (priya.raman@halden.example, praman@home.example) leads Osprey.",
            "b.md": "We asked Priya Raman (praman@home.example) and jonas.weber@halden.example.",
        },
    )
    for name in ("Priya Raman", "Priya Raman <praman@home.example>"):
        given = await brief(project, name)
        assert len(given.citations) == 2
        assert [each.name for each in given.people] == ["jonas.weber@halden.example"]


# ── what it says ──────────────────────────────────────────────────────────────────────────────────────

CALL = """CALL NOTES  Castell Water, 5 March 2026, 40 minutes
With: Rhys Morgan, head of leakage, rhys.morgan@castellwater.example

The frame contract with us ends on 30 September 2026.

What I promised:
- a written plan, district by district, by 17 April 2026
"""


async def test_what_only_a_title_or_a_heading_names_is_in_the_brief(project: Project) -> None:
    await shelved(
        project,
        {
            "castell-water-call.txt": CALL,
            "pipeline.md": "Castell Water is the deal of the year. Castell Water meets Hannah Price in Kent.",
            "who.md": "Write to hannah.price@halden.example.",
        },
    )
    given = await brief(project, "Castell Water")
    assert "The frame contract with us ends on 30 September 2026." in texts(given.lately)
    assert texts(given.open_points) == ["a written plan, district by district, by 17 April 2026"]
    assert [f"{each.said_at:%Y-%m-%d}" for each in given.open_points] == ["2026-04-17"]
    assert {each.name for each in given.people} == {"Hannah Price", "Rhys Morgan"}
    assert [each.name for each in given.links if "Castell" in each.name] == []


async def test_a_link_is_a_name(project: Project) -> None:
    await shelved(
        project,
        {
            "a.md": "Whoever changes Osprey tells Bergen. We like Osprey and Chambers. All chambers are full.",
            "b.md": "Revenue of Osprey is low. The Revenue office wrote to Händen von Frau Sabine Roth of Osprey.",
        },
    )
    given = await brief(project, "Osprey")
    assert [each.name for each in given.links] == ["Bergen"]
    with pytest.raises(NotFound):
        await project.kb.questions.brief("Whoever", await project.kb.reader(SALES))
