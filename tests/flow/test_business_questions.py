"""What is owed, asked of a second company's Attio, Chatwoot and Linear: commitments, what is due, and what is late."""

from collections.abc import Mapping

import pytest

from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief
from lightwell.domain.business_systems import NewSource
from lightwell.domain.directory import PersonChange
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import LinkFilter
from lightwell.ingest.item_sync import SyncRequest, sync_source
from lightwell.knowledge_base.directory import Directory
from lightwell.records import sources
from lightwell.records.database import Database
from lightwell.testing.example_company import SYSTEMS
from tests.business_world import (
    ALL,
    CRACKED,
    CRATE,
    DEV,
    DIE,
    FRAME,
    IDRIS,
    LABELS,
    MARA,
    OPEN,
    PANELS,
    PIA,
    PROOFS,
    QUOTE,
    SAMPLES,
    TEST,
    THEIRS,
    Asked,
    PrintShop,
)

from .conftest import Project, project_on

WIDE = 384


async def sync_shop(database: Database) -> tuple[Project, Mapping[str, Reader]]:
    """Return the synced project, with certain links confirmed, and each person's reader; `ALL` is one who sees what any of them does."""
    project = await project_on(database, dimension=WIDE)
    shop, kb = PrintShop(), project.kb
    directory = Directory(database=database, project_id=kb.project_id)
    for email in (MARA, IDRIS, PIA):
        await directory.create_person(PersonChange(email=email))
    for system in SYSTEMS:
        new = NewSource(name=system, system=system)
        source = await sources.create(database, kb.project_id, new)
        report = await sync_source(database, source.id, shop.open, SyncRequest(is_full=True))
        assert report is not None
        assert report.counts.unreadable == 0
    await kb.ingestion.finish_jobs()
    tags = {email: (await directory.get_person(email)).tags for email in (MARA, IDRIS, PIA)}
    tags[ALL] = frozenset[str]().union(*tags.values())
    readers = {who: await kb.reader(held) for who, held in tags.items()}
    links = kb.graph.links
    for link in await links.list_links(readers[ALL], LinkFilter()):
        if link.is_certain and link.type is LinkType.SAME_AS:
            await links.confirm(readers[ALL], link.id)
    return project, readers


@pytest.mark.parametrize(
    ("split", "least"), [(DEV, 14), (TEST, 13), (OPEN, 5)], ids=["dev", "test", "open"]
)
async def test_what_is_owed_is_answered_from_deadlines_and_the_words_of_our_own_people(
    database: Database, split: tuple[Asked, ...], least: int
) -> None:
    project, readers = await sync_shop(database)
    for door in (project.kb.questions.ask, project.kb.questions.statements):
        failures: list[str] = []
        for question in split:
            answer = await door(question.text, readers[question.who])
            text = answer.text if answer.is_answered else ""
            lacking = [words for words in question.right if words not in text]
            wrong = [words for words in question.wrong if words in text]
            if lacking or wrong or answer.is_answered > bool(question.right):
                failures.append(f"{question.text} lacks {lacking}, has {wrong}: {answer.text}")
            assert (answer.relevance >= answer.threshold) == answer.is_answered
        assert len(split) - len(failures) >= least, "\n".join(failures)


BRIEFS = {
    "Brennfeld Optik GmbH": (FRAME, (DIE, LABELS, SAMPLES, QUOTE)),
    "Brennfeld Logistik AG": (DIE, (CRATE, FRAME, PROOFS)),
    "Lens catalogue": (CRATE, (DIE, LABELS, QUOTE)),
    "Atelier Corvin": (QUOTE, (CRATE, PROOFS, DIE)),
    "Lumen Dental": ("", (CRATE, PANELS, CRACKED)),
}
"""What the open points of a brief hold, and what they do not: of others, and what is done."""


async def test_s2_12_a_brief_says_what_is_open_with_all_that_belongs_to_a_company(
    database: Database,
) -> None:
    project, readers = await sync_shop(database)
    for name, (right, wrong) in BRIEFS.items():
        brief = await project.kb.questions.brief(name, readers[ALL])
        assert isinstance(brief, Brief)
        opened = "\n".join(line.text for line in brief.open_points)
        assert right in opened
        assert not [words for words in (*wrong, *THEIRS) if words in opened]
        told = (*brief.about, *brief.lately, *brief.open_points)
        assert not [line.text for line in told if "E-mail:" in line.text or "Created:" in line.text]
        assert len(brief.about) == 1
        assert all(line.said_at and line.said_at.year < 2031 for line in brief.lately)
        assert len(brief.citations) <= 5
        assert len(brief.citations) >= 3 or not right
