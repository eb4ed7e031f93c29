"""The example company in Attio, Linear and Chatwoot together: synced, linked by people, and asked about across all three."""

from collections.abc import Sequence

import pytest

from lightwell.domain.access import Reader
from lightwell.domain.answers import Citation
from lightwell.domain.briefs import Brief
from lightwell.domain.business_systems import NewSource
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import NotFound
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import LinkFilter
from lightwell.ingest.item_sync import SyncRequest, sync_source
from lightwell.knowledge_base.directory import Directory
from lightwell.records import sources
from lightwell.records.database import Database
from lightwell.testing.example_company import SYSTEMS, ExampleCompany

from .conftest import Project, project_on

WIDE = 384
"""The dimension of the bundled network's vectors: in 64, where words share places, the note that answers is not among the first five passages."""


@pytest.fixture
async def project(database: Database) -> Project:
    return await project_on(database, dimension=WIDE)


async def sync_all(project: Project, company: ExampleCompany) -> None:
    directory = Directory(database=project.database, project_id=project.kb.project_id)
    for name in ("bob", "yusuf.demir"):
        await directory.create_person(PersonChange(email=f"{name}@halden.example"))
    for system in SYSTEMS:
        new = NewSource(name=system, system=system)
        source = await sources.create(project.database, project.kb.project_id, new)
        request = SyncRequest(is_full=True)
        report = await sync_source(project.database, source.id, company.open, request)
        assert report is not None
        assert report.counts.unreadable == 0
    await project.kb.ingestion.finish_jobs()


async def reader_for(project: Project, email: str) -> Reader:
    directory = Directory(database=project.database, project_id=project.kb.project_id)
    return await project.kb.reader((await directory.get_person(email)).tags)


async def confirm_certain(project: Project, reader: Reader) -> set[frozenset[str]]:
    """Confirm the proposals that are marked as certain; return the pairs of systems that they join."""
    links, joined = project.kb.graph.links, set[frozenset[str]]()
    for link in await links.list_links(reader, LinkFilter()):
        if link.is_certain and link.type is LinkType.SAME_AS:
            await links.confirm(reader, link.id)
            refs = (link.source.ref, link.target.ref)
            joined.add(frozenset(ref.partition(":")[0] for ref in refs))
    return joined


SAME = {
    ("same_as", "attio Katrin Albers", "chatwoot Katrin Albers"),
    ("same_as", "attio Nordwind Energie GmbH", "linear Nordwind Energie"),
    ("same_as", "attio Yusuf Demir", "linear Yusuf Demir"),
}
WORK = ("mapped_to", "attio Nordwind southern network", "linear Southern network")


async def proposals(project: Project, reader: Reader) -> set[tuple[str, ...]]:
    """Return the type of each proposal in the review queue, and the systems and names of its ends."""
    return {
        (
            link.type,
            *sorted(
                f"{end.ref.partition(':')[0]} {end.name}" for end in (link.source, link.target)
            ),
        )
        for link in await project.kb.graph.links.list_links(reader, LinkFilter())
    }


def systems_of(citations: Sequence[Citation]) -> set[str]:
    return {each.source_system for each in citations}


async def brief_on_the_deal(project: Project, reader: Reader) -> Brief:
    brief = await project.kb.questions.brief("Nordwind southern network", reader)
    assert isinstance(brief, Brief)
    return brief


async def test_s2_12_a_customer_is_known_across_three_systems_and_each_person_sees_their_own(
    project: Project,
) -> None:
    kb, company = project.kb, ExampleCompany()
    await sync_all(project, company)
    yusuf = await reader_for(project, "yusuf.demir@halden.example")  # sales: Attio and Linear
    bob = await reader_for(project, "bob@halden.example")  # support: Chatwoot and Linear
    everything = await kb.reader(yusuf.tags | bob.tags)
    assert await proposals(project, everything) == {*SAME, WORK}
    joined = await confirm_certain(project, everything)
    assert joined == {frozenset({"attio", "chatwoot"}), frozenset({"attio", "linear"})}
    assert await proposals(project, everything) == {WORK}

    brief = await brief_on_the_deal(project, everything)
    assert systems_of(brief.citations) == set(SYSTEMS)
    theirs = await brief_on_the_deal(project, yusuf)
    assert systems_of(theirs.citations) == {"attio", "linear"}
    with pytest.raises(NotFound):
        await kb.questions.brief(brief.entity.ref, bob)
    known = await kb.questions.brief("Nordwind Energie", bob)
    assert isinstance(known, Brief)
    assert known.entity.ref.startswith("linear:customer:")

    asked = "What is open with Nordwind Energie?"
    assert systems_of((await kb.questions.statements(asked, everything)).citations) == set(SYSTEMS)
    assert systems_of((await kb.questions.statements(asked, yusuf)).citations) == {
        "attio",
        "linear",
    }
    shorter = "What is open with Nordwind?"  # what support sees links the conversation to no company: its contact's address names it
    assert systems_of((await kb.questions.statements(shorter, bob)).citations) == {
        "chatwoot",
        "linear",
    }

    for asked in ("What is open with Nordwind Energie?", "What is open with Nordwind?"):
        assert systems_of((await kb.questions.ask(asked, yusuf)).citations) == {"attio", "linear"}
    answer = await kb.questions.ask("What is open with Nordwind?", everything)
    assert systems_of(answer.citations) == set(SYSTEMS)
    assert "Deadline: 2026-06-30; Assignee: Yusuf Demir" in answer.text
    answer = await kb.questions.ask("What is open with Nordwind in Chatwoot?", everything)
    assert systems_of(answer.citations) == {"chatwoot"}
    answer = await kb.questions.ask("Which tasks by Grace are there in Attio?", everything)
    assert {citation.source_type for citation in answer.citations} == {"task"}
    found = await kb.questions.ask("What is open with Nordwind?", bob)
    assert systems_of(found.citations) == {"chatwoot", "linear"}
    assert found.ambiguous_names == ()

    await _ask_about_days(project, yusuf, bob)


async def _ask_about_days(project: Project, yusuf: Reader, bob: Reader) -> None:
    kb = project.kb
    replaced = "When are the sensors in the harbour district replaced?"
    assert "12 June 2026" in (await kb.questions.ask(replaced, bob)).text
    assert "12 June 2026" not in (await kb.questions.ask(replaced, yusuf)).text
    decided = "When does Nordwind decide on the southern network?"
    assert "November 2026" in (await kb.questions.ask(decided, yusuf)).text
    assert "November 2026" not in (await kb.questions.ask(decided, bob)).text
