"""Linear in the real store: what is asked and answered, and who finds what when access, teams and texts change there."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from lightwell.connectors.linear.source import LinearSource
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief
from lightwell.domain.business_systems import NewSource, Source
from lightwell.domain.directory import PersonChange
from lightwell.domain.documents import WorkState
from lightwell.ingest.item_sync import SyncReport, SyncRequest, sync_source
from lightwell.ingest.webhooks import Webhook, take_webhook
from lightwell.knowledge_base.directory import Directory
from lightwell.records import sources
from lightwell.testing.linear import records
from lightwell.testing.linear.server import LinearServer
from tests.linear_world import CONVERSATION, World, build_world, connected

from .conftest import Project

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
PEOPLE = ("ada", "bob")


@dataclass(frozen=True)
class Site:
    """A project with a workspace of Linear as its source."""

    project: Project
    server: LinearServer
    world: World
    source: Source
    directory: Directory

    async def sync(self, *, is_full: bool = True, with_sweep: bool = False) -> SyncReport:
        request = SyncRequest(is_full=is_full, with_sweep=with_sweep)
        report = await sync_source(self.project.database, self.source.id, self.connect, request)
        assert report is not None
        await self.project.kb.ingestion.finish_jobs()
        return report

    async def deliver(self, type: str, name: str) -> None:
        """Take a webhook as the server does: what it names is fetched at the next sync, which need not be due."""
        headers, body = self.server.sign_webhook(type, self.world[name], sent_at=NOW)
        webhook = Webhook(headers=headers, body=body, received_at=NOW)
        await take_webhook(self.project.database, self.connect, self.source.id, webhook)
        await self.sync(is_full=False)

    async def reader(self, person: str) -> Reader:
        """The person as a reader, with the access of this moment."""
        email = f"{person}@halden.example"
        return await self.project.kb.reader((await self.directory.get_person(email)).tags)

    async def lists(self, person: str, kind: str) -> list[str]:
        """The titles of all documents of a kind that the person sees."""
        listing = self.project.kb.documents.iterate(await self.reader(person))
        return sorted([each.title async for each in listing if each.kind == kind])

    async def finds(self, person: str, text: str) -> set[str]:
        """The titles of what a search by the person finds."""
        found = await self.project.kb.questions.search(text, await self.reader(person))
        return {each.chunk.title for each in found.evidence}

    @asynccontextmanager
    async def connect(self, source: Source) -> AsyncGenerator[LinearSource]:
        assert source.system == "linear"
        async with connected(self.server) as opened:
            yield opened


@pytest.fixture
async def site(project: Project) -> Site:
    world = build_world()
    new = NewSource(name="tracker", system="linear")
    source = await sources.create(project.database, project.kb.project_id, new)
    directory = Directory(database=project.database, project_id=project.kb.project_id)
    for person in PEOPLE:
        await directory.create_person(PersonChange(email=f"{person}@halden.example"))
    server = LinearServer(workspace=world.workspace)
    made = Site(project, server, world, source, directory)
    report = await made.sync()
    assert (report.counts.inserted, report.counts.unreadable) == (14, 0)
    return made


async def test_a_question_is_answered_with_a_citation_and_an_issue_has_a_brief(site: Site) -> None:
    kb, ada = site.project.kb, await site.reader("ada")
    answer = await kb.questions.ask("When does the session end, whatever the setting says?", ada)
    assert "600 seconds" in answer.text
    assert "https://linear.app/halden/issue/ENG-1" in {each.source_url for each in answer.citations}
    brief = await kb.questions.brief("ENG-1", ada)
    assert isinstance(brief, Brief)
    assert brief.entity.ref == f"linear:issue:{site.world['login']}"
    assert brief.citations
    assert {"Ada Lovelace", "Bob Stone"} <= {each.name for each in brief.people}
    (page,) = (await kb.questions.candidates("Conversation with Nordwind", ada)).candidates
    assert page.entity.primary_url == CONVERSATION


async def test_a_second_sync_costs_no_job_and_no_embedding(site: Site) -> None:
    embedded = len(site.project.embedder.texts)
    jobs = await site.project.database.rows("SELECT count(*) FROM ingestion_jobs", {})
    counts = (await site.sync(with_sweep=True)).counts
    assert (counts.inserted, counts.updated, counts.deleted) == (0, 0, 0)
    assert await site.project.database.rows("SELECT count(*) FROM ingestion_jobs", {}) == jobs
    assert len(site.project.embedder.texts) == embedded


@pytest.mark.parametrize("way", ["sync", "webhook"])
async def test_whoever_is_removed_at_the_source_finds_nothing_any_more(
    site: Site, way: str
) -> None:
    assert await site.finds("bob", "login session")
    site.world.workspace.edit("User", site.world["bob"], active=False)
    await (site.sync() if way == "sync" else site.deliver("PermissionChange", "bob"))
    assert await site.finds("bob", "login session") == set()
    assert await site.lists("bob", "issue") == []
    assert await site.finds("ada", "login session")


async def test_a_team_that_becomes_private_is_hidden_at_once_from_who_is_no_member(
    site: Site,
) -> None:
    issues = ["ENG-1: Login fails after 10 minutes", "OPS-1: Export is slow"]
    assert await site.lists("bob", "issue") == issues
    site.world.workspace.edit_silently("Team", site.world["eng"], visibility="private")
    await site.sync()
    assert await site.lists("bob", "issue") == issues[1:]
    export = await site.project.kb.documents.text(
        await site.reader("bob"), f"linear:issue:{site.world['export']}"
    )
    assert "ENG-1" not in export
    assert await site.lists("bob", "customer_need") == []
    assert issues[0] in await site.lists("ada", "issue")


async def test_a_moved_issue_keeps_its_entity_and_links_and_both_names(site: Site) -> None:
    ada = await site.reader("ada")
    (before,) = (await site.project.kb.questions.candidates("ENG-1", ada)).candidates
    linked = "SELECT link_id FROM entity_links ORDER BY 1"
    links = await site.project.database.rows(linked, {})
    records.move_issue(site.world.workspace, site.world["login"], site.world["ops"])
    await site.sync()
    for name in ("OPS-2", "ENG-1"):
        (after,) = (await site.project.kb.questions.candidates(name, ada)).candidates
        assert (after.entity.id, after.entity.name) == (before.entity.id, "OPS-2"), name
    kept = set(await site.project.database.rows(linked, {})) & set(links)
    assert len(kept) >= len(links) - 1  # the link to the former team is gone


async def test_an_edit_that_a_webhook_names_is_there_after_one_fetch(site: Site) -> None:
    site.world.workspace.edit(
        "Comment", site.world["comment"], body="It only happens behind the corporate proxy."
    )
    asked = len(site.server.requests)
    await site.deliver("Comment", "comment")
    assert site.server.requests[asked:] == ["Comments"]
    text = await site.project.kb.documents.text(
        await site.reader("ada"), f"linear:comment:{site.world['comment']}"
    )
    assert "It only happens behind the corporate proxy." in text


async def test_s2_5_webhooks_repeated_and_in_another_order_give_the_last_version_once(
    site: Site,
) -> None:
    comment, hooks = site.world["comment"], list[Webhook]()
    for body in ("It is the proxy.", "It was the firewall."):
        site.world.workspace.edit("Comment", comment, body=body)
        headers, content = site.server.sign_webhook("Comment", comment, sent_at=NOW, body=body)
        hooks.append(Webhook(headers=headers, body=content, received_at=NOW))
    embedded: list[int] = []
    for order in ((1, 0, 1), (0, 1, 0)):
        for each in order:
            database = site.project.database
            await take_webhook(database, site.connect, site.source.id, hooks[each])
        await site.sync(is_full=False)
        text = await site.project.kb.documents.text(
            await site.reader("ada"), f"linear:comment:{comment}"
        )
        assert "It was the firewall." in text
        embedded.append(len(site.project.embedder.texts))
    assert embedded[0] == embedded[1]


async def test_what_is_trashed_or_deleted_is_gone_with_what_belongs_to_it(site: Site) -> None:
    site.world.workspace.trash("Issue", site.world["login"])
    await site.deliver("Issue", "login")
    assert await site.lists("ada", "comment") == [
        "Comment on SEC-1: Tokens in log files",
        "Comment on Session design",
    ]
    found = await site.finds("ada", "session ends after 600 seconds")
    assert [title for title in found if "ENG-1" in title] == []
    site.world.workspace.delete("Comment", site.world["inline"])
    await site.sync(with_sweep=True)
    assert await site.lists("ada", "comment") == ["Comment on SEC-1: Tokens in log files"]


async def test_the_type_of_a_state_closes_an_issue_although_no_word_of_it_changes(
    site: Site,
) -> None:
    await site.sync()
    reader = await site.reader("ada")
    issue = site.world["login"]

    async def states() -> set[WorkState | None]:
        found = await site.project.kb.questions.search("Login fails after 10 minutes", reader)
        ref = f"linear:issue:{issue}"
        return {e.chunk.work_state for e in found.evidence if e.chunk.document_ref == ref}

    assert await states() == {WorkState.OPEN}
    workspace = site.world.workspace
    workspace.edit("WorkflowState", str(workspace.rows["Issue"][issue]["state"]), type="completed")
    await site.sync()
    assert await states() == {WorkState.CLOSED}
