"""Attio, Chatwoot and GitHub in the real store: what is asked and answered, and who finds what when access and texts change there."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import pytest

from lightwell.connectors.attio.documents import WORKSPACE_TAGS, list_tags
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Brief
from lightwell.domain.business_systems import NewSource, Source
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import StoreFailed
from lightwell.domain.graph import ManualEdit
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import LinkFilter, LinkStatus
from lightwell.ingest import item_pages
from lightwell.ingest.item_sync import SyncReport, SyncRequest, sync_source
from lightwell.ingest.webhooks import Webhook, take_webhook
from lightwell.knowledge_base.directory import Directory
from lightwell.ports import ItemSource
from lightwell.records import item_fetches, sources
from tests import attio_world, chatwoot_world, github_world
from tests.attio_world import Halden
from tests.chatwoot_world import Support
from tests.github_world import Forge

from .conftest import Project, project_on
from .test_noninterference import view

Delivery = tuple[dict[str, str], bytes]
DAY = 86_400
OTHERS = {"contact", "contact-notes", "company"}


@dataclass(frozen=True)
class Site:
    """A project with one business system as its source."""

    project: Project
    source: Source
    directory: Directory
    connect: Callable[[], AbstractAsyncContextManager[ItemSource]]

    async def sync(self, *, is_full: bool = True, with_sweep: bool = False) -> SyncReport:
        request = SyncRequest(is_full=is_full, with_sweep=with_sweep)
        report = await sync_source(
            self.project.database, self.source.id, lambda _: self.connect(), request
        )
        assert report is not None
        await self.project.kb.ingestion.finish_jobs()
        return report

    async def deliver(self, delivery: Delivery, now: datetime) -> None:
        """Take a webhook as the server does: what it names is fetched at the next sync, which need not be due."""
        async with self.connect() as source:
            hint = source.read_webhook(*delivery, now)
        async with self.project.database.transaction() as connection:
            await item_fetches.request(connection, self.source.id, hint.refs)
        await self.sync(is_full=False)

    async def reader(self, person: str) -> Reader:
        """The person as a reader, with the access of this moment."""
        return await self.project.kb.reader((await self.directory.get_person(email(person))).tags)

    async def finds(self, person: str, text: str) -> set[str]:
        """The kinds of what a search by the person finds."""
        found = await self.project.kb.questions.search(text, await self.reader(person))
        return {each.chunk.kind for each in found.evidence}

    async def kinds(self, person: str) -> set[str]:
        """The kinds of all documents that the person sees."""
        return {
            each.kind async for each in self.project.kb.documents.iterate(await self.reader(person))
        }

    async def text(self, person: str, ref: str) -> str:
        return await self.project.kb.documents.text(await self.reader(person), ref)


def email(person: str) -> str:
    return f"{person}@halden.example"


async def make_site(
    project: Project, system: str, connect: Callable[[], AbstractAsyncContextManager[ItemSource]]
) -> Site:
    new = NewSource(name=system, system=system)
    source = await sources.create(project.database, project.kb.project_id, new)
    directory = Directory(database=project.database, project_id=project.kb.project_id)
    for person in ("ada", "bob", "cy"):
        await directory.create_person(PersonChange(email=email(person)))
    made = Site(project, source, directory, connect)
    assert (await made.sync()).counts.unreadable == 0
    return made


async def jobs_and_embeddings(site: Site) -> tuple[object, int]:
    jobs = await site.project.database.rows("SELECT count(*) FROM ingestion_jobs", {})
    return jobs, len(site.project.embedder.texts)


async def test_attio_answers_briefs_and_costs_nothing_again(project: Project) -> None:
    halden = Halden()
    site = await make_site(project, "attio", lambda: attio_world.opened(halden.attio))
    kb, bob = project.kb, await site.reader("bob")
    answer = await kb.questions.ask("What do they want by June?", bob)
    assert "delivery by June" in answer.text
    page = f"https://app.attio.com/halden/deal/{halden.deal}"
    assert f"{page}#note-{halden.note}" in {each.source_url for each in answer.citations}
    brief = await kb.questions.brief("TARN-4 roll-out", bob)
    assert isinstance(brief, Brief)
    assert brief.entity.ref == f"attio:deal:{halden.deal}"
    assert {"Petra Voss", "Ada Lindqvist"} <= {each.name for each in brief.people}
    before = await jobs_and_embeddings(site)
    counts = (await site.sync(with_sweep=True)).counts
    assert (counts.inserted, counts.updated, counts.deleted) == (0, 0, 0)
    assert await jobs_and_embeddings(site) == before


async def test_attio_decides_who_sees_lists_and_calls(project: Project) -> None:
    halden = Halden()
    site = await make_site(project, "attio", lambda: attio_world.opened(halden.attio))
    assert "list-entry" in await site.kinds("bob")
    assert {"meeting", "call"} <= await site.kinds("ada")
    assert {"meeting", "call"} & await site.kinds("bob") == set()
    halden.attio.make_list_private(halden.list, [halden.ada])
    await site.sync()
    assert "list-entry" not in await site.kinds("bob")
    assert "list-entry" in await site.kinds("ada")
    halden.attio.members[halden.bob]["access_level"] = "suspended"
    await site.sync()
    assert await site.kinds("bob") == set()
    assert await site.finds("bob", "delivery by June") == set()


async def test_attio_tells_of_edits_merges_and_deletions(project: Project) -> None:
    halden = Halden()
    attio = halden.attio
    former = attio.add_record("companies", {"name": "Nordwind GmbH", "domains": ["nordwind.de"]})
    site = await make_site(project, "attio", lambda: attio_world.opened(attio))
    attio.change_record(halden.deal, {"stage": "Won"})
    event = attio.event("record.updated", attio.records[halden.deal])
    await site.deliver(attio.webhook(event), attio_world.NOW)
    assert "Deal stage: Won" in await site.text("bob", f"attio:deal:{halden.deal}")
    await site.deliver(attio.merge_records(halden.nordwind, former), attio_world.NOW)
    (company,) = (
        await project.kb.questions.candidates(f"attio:company:{former}", await site.reader("bob"))
    ).candidates
    assert company.entity.ref == f"attio:company:{halden.nordwind}"
    attio.notes.pop(halden.note)
    await site.sync(with_sweep=True)
    assert "note" not in await site.kinds("ada")


async def test_chatwoot_answers_briefs_and_costs_nothing_again(project: Project) -> None:
    support = Support()
    promise = "The technician replaces the broken gateway in Bergen on Friday at nine."
    support.chatwoot.add_message(support.talk, promise, ("user", support.bob))
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    kb, bob = project.kb, await site.reader("bob")
    answer = await kb.questions.ask(
        "When does the technician replace the broken gateway in Bergen?", bob
    )
    assert "Friday" in answer.text
    page = f"{chatwoot_world.BASE}/app/accounts/1/conversations/1"
    assert page in {each.source_url for each in answer.citations}
    brief = await kb.questions.brief("chatwoot:conversation:1-1", bob)
    assert isinstance(brief, Brief)
    assert {"Petra Voss", "Bob Okafor"} <= {each.name for each in brief.people}
    threads = await project.database.rows(
        "SELECT count(*) FROM entity_links WHERE link_type = 'thread_of'", {}
    )
    assert threads == [(4,)]
    support.chatwoot.clock += DAY // 2
    await site.sync()
    before = await jobs_and_embeddings(site)
    counts = (await site.sync(with_sweep=True)).counts
    assert (counts.inserted, counts.updated, counts.deleted) == (0, 0, 0)
    assert await jobs_and_embeddings(site) == before


async def test_s2_6_a_reply_is_linked_with_the_message_that_it_answers(project: Project) -> None:
    support = Support()
    chat, petra, bob = support.chatwoot, ("contact", support.petra), ("user", support.bob)
    reply, aside, careless, lost = (
        chat.add_message(support.talk, "On Friday at nine, please.", petra),
        chat.add_message(support.talk, "She sounds angry.", bob, private=True),
        chat.add_message(support.talk, "We see.", bob),
        chat.add_message(support.talk, "Hello?", petra),
    )
    answers = {reply: support.answer, aside: support.first, careless: support.note, lost: 999_999}
    for message, first in answers.items():
        chat.edit_message(message, content_attributes={"in_reply_to": first})
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    public = (reply, support.answer, f"chatwoot:inbox:{support.inbox}")
    private = (aside, support.first, f"chatwoot:inbox:{support.inbox}:internal")
    assert await _replies(site) == {public, private}
    chat.delete_message(support.answer)
    await site.deliver(chat.webhook("message_updated", support.answer), support.now)
    assert await _replies(site) == {private}


async def _replies(site: Site) -> set[tuple[int, int, str]]:
    """Which message answers which, and the access tag of whoever knows."""
    rows = await site.project.database.rows(
        "SELECT split_part(reply.entity_ref, ':', 3)::int, split_part(first.entity_ref, ':', 3)::int, class.tags[1]"
        " FROM entity_links AS link JOIN access_classes AS class USING (class_id)"
        " JOIN entities AS reply ON reply.entity_id = from_ref JOIN entities AS first ON first.entity_id = to_ref"
        " WHERE evidence ->> 'relation' = 'in_reply_to'",
        {},
    )
    return {(row[0], row[1], row[2]) for row in rows}


async def test_s2_4_a_citation_says_when_the_message_was_written(project: Project) -> None:
    support = Support()
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    bob = await site.reader("bob")
    began = datetime.fromtimestamp(1_772_442_180, UTC)
    assert (await project.kb.documents.get(bob, "chatwoot:conversation:1-1")).created_at == began
    brief = await project.kb.questions.brief("chatwoot:conversation:1-1", bob)
    assert isinstance(brief, Brief)
    page = f"{chatwoot_world.BASE}/app/accounts/1/conversations/1"
    assert {each.created_at for each in brief.citations if each.source_url == page} == {began}
    support.chatwoot.change_conversation(support.talk, status="resolved")
    await site.sync()
    assert (await project.kb.documents.get(bob, "chatwoot:conversation:1-1")).created_at == began


async def test_chatwoot_decides_who_sees_inboxes_and_private_notes(project: Project) -> None:
    support = Support()
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    assert "private-notes" in await site.finds("bob", "They pay late")
    outside = await project.kb.reader(frozenset((f"chatwoot:inbox:{support.inbox}",)))
    found = await project.kb.questions.search("They pay late", outside)
    assert "private-notes" not in {each.chunk.kind for each in found.evidence}
    assert not any("pay late" in each.chunk.text for each in found.evidence)
    support.chatwoot.inbox_members[support.inbox].clear()
    await site.sync()
    assert await site.finds("bob", "The gateway is down since noon") <= OTHERS
    assert await site.kinds("bob") == OTHERS
    assert "conversation" in await site.kinds("ada")
    support.chatwoot.agents.pop(support.bob)
    await site.sync()
    assert await site.kinds("bob") == set()


async def test_chatwoot_tells_of_edits_and_deletions(project: Project) -> None:
    support = Support()
    chatwoot, ref = support.chatwoot, "chatwoot:conversation:1-1"
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    chatwoot.edit_message(support.first, content="The gateway works again.")
    await site.deliver(chatwoot.webhook("message_updated", support.first), support.now)
    assert "works again" in await site.text("bob", ref)
    chatwoot.delete_message(support.answer)
    await site.deliver(chatwoot.webhook("message_updated", support.answer), support.now)
    assert "technician" not in await site.text("bob", ref)
    chatwoot.delete_conversation(support.talk)
    await site.sync(with_sweep=True)
    assert await site.kinds("ada") == OTHERS
    assert await site.finds("ada", "The gateway works again") <= OTHERS


def downloads(support: Support) -> list[str]:
    """Return what was downloaded of the account's files since the last time, from the log of its server."""
    names = [call.rpartition("/")[2] for call in support.chatwoot.calls if "/disk/" in call]
    support.chatwoot.calls.clear()
    return sorted(names)


async def test_s2_11_files_that_are_stored_are_not_downloaded_again(project: Project) -> None:
    support = Support()
    chatwoot, petra = support.chatwoot, ("contact", support.petra)
    chatwoot.attach(support.answer, "broken.pdf", b"no PDF")
    gone = chatwoot.attach(support.answer, "gone.md", b"# Gone")
    file = chatwoot.files.pop(gone)
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    assert downloads(support) == ["broken.pdf", "gone.md", "reset steps.md"]

    chatwoot.add_message(support.talk, "Any news?", petra)
    chatwoot.files[gone] = file
    await site.sync()
    assert downloads(support) == ["gone.md"], "what was not there is tried again, and only that"
    assert "Gone" in await site.text("bob", f"chatwoot:attachment:{gone}")

    before = await jobs_and_embeddings(site)
    await site.sync(with_sweep=True)
    assert (downloads(support), await jobs_and_embeddings(site)) == ([], before)

    new = chatwoot.attach(support.answer, "new.md", b"# New")
    chatwoot.add_message(support.talk, "See the new file.", ("user", support.bob))
    await site.sync()
    assert downloads(support) == ["new.md"]
    assert "New" in await site.text("bob", f"chatwoot:attachment:{new}")


async def test_s2_11_what_changes_around_a_file_is_stored_without_the_file(
    project: Project,
) -> None:
    support = Support()
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    manual = f"chatwoot:attachment:{support.manual}"
    text, embedded = await site.text("bob", manual), len(project.embedder.texts)
    downloads(support)
    row = support.chatwoot.messages[support.answer]
    row["sender"] = {**cast("dict[str, object]", row["sender"]), "available_name": "Robert Okafor"}
    support.chatwoot.change_conversation(support.talk)
    await site.sync()
    assert downloads(support) == []
    (known,) = [
        each
        async for each in project.kb.documents.iterate(await site.reader("bob"))
        if each.ref == manual
    ]
    assert (known.author, await site.text("bob", manual)) == ("Robert Okafor", text)
    assert not [each for each in project.embedder.texts[embedded:] if "ten seconds" in each]


async def test_a_file_that_is_attached_is_kept_as_it_came_and_what_is_told_as_text_is_not(
    project: Project,
) -> None:
    support = Support()
    notes = support.chatwoot.attach(support.answer, "notes.md", b"# Notes\r\n")
    broken = support.chatwoot.attach(support.answer, "broken.pdf", b"no PDF")
    site = await make_site(project, "chatwoot", lambda: chatwoot_world.opened(support))
    bob = await site.reader("bob")
    original = await project.kb.originals.get(bob, f"chatwoot:attachment:{notes}")
    parts = [part async for part in project.kb.originals.parts(bob, original)]
    assert b"".join(parts) == b"# Notes\r\n"
    documents = [each async for each in project.kb.documents.iterate(bob)]
    kept = {each.ref for each in documents if each.has_original}
    assert kept == {f"chatwoot:attachment:{file}" for file in (notes, broken, support.manual)}
    assert len(documents) > len(kept)
    ((rows,),) = await project.database.rows("SELECT count(*) FROM document_originals", {})
    assert rows == len(kept)


async def test_github_answers_briefs_and_costs_nothing_again(project: Project) -> None:
    forge = Forge()
    site = await make_site(project, "github", lambda: github_world.opened(forge.github))
    kb, bob = project.kb, await site.reader("bob")
    answer = await kb.questions.ask("For how many seconds should I hold the green button?", bob)
    assert "nine seconds" in answer.text
    page = "https://github.test/halden/tarn/blob/main/docs/start.md"
    assert page in {each.source_url for each in answer.citations}
    brief = await kb.questions.brief("halden/tarn#1", bob)
    assert isinstance(brief, Brief)
    assert {"ada", "bob"} <= {each.name for each in brief.people}
    (link,) = await project.database.rows(
        "SELECT status FROM entity_links WHERE evidence::text LIKE '%%closes%%'", {}
    )
    assert link == ("confirmed",)
    await site.sync()
    before = await jobs_and_embeddings(site)
    counts = (await site.sync(with_sweep=True)).counts
    assert (counts.inserted, counts.updated, counts.deleted) == (0, 0, 0)
    assert await jobs_and_embeddings(site) == before


async def test_github_decides_who_sees_a_repository(project: Project) -> None:
    forge = Forge()
    site = await make_site(project, "github", lambda: github_world.opened(forge.github))
    everything = {"repository", "issue", "pull-request", "file"}
    assert await site.kinds("bob") == everything
    assert await site.kinds("cy") == {"repository", "issue", "file"}
    forge.tarn.collaborators.remove(forge.bob)
    await site.sync()
    assert await site.kinds("bob") == {"repository", "issue", "file"}
    assert "pull-request" not in await site.finds("bob", "Heat the valve")
    forge.docs.row["private"] = True
    await site.sync()
    assert await site.kinds("bob") == await site.kinds("cy") == set()
    assert await site.kinds("ada") == everything
    forge.github.delete_issue(forge.tarn, forge.pull)
    forge.github.write_files(forge.tarn, {"docs/start.md": b"Hold it for ten seconds."})
    commits = [{"modified": ["docs/start.md"]}]
    hook = forge.github.webhook("push", forge.tarn, ref="refs/heads/main", commits=commits)
    await site.deliver(hook, forge.github.now)
    file = f"github:file:{forge.tarn.row['id']}/docs/start.md"
    assert "ten seconds" in await site.text("ada", file)
    await site.sync(with_sweep=True)
    assert "pull-request" not in await site.kinds("ada")


async def test_who_sees_a_public_repository_feels_nothing_of_a_private_one(
    project: Project,
) -> None:
    """Its issue names the private repository, whose issue names it, too; people and labels are the same in both."""
    forge = Forge()
    forge.github.comment(forge.docs, forge.public, "Like halden/tarn#1.", author=forge.ada)
    own = await project_on(project.database, "own")
    seen: list[object] = []
    for each, names in ((project, "halden/tarn,halden/docs"), (own, "halden/docs")):
        site = await make_site(
            each, "github", lambda names=names: github_world.opened(forge.github, names)
        )
        asked = ["Who wrote of the typo in the guide?", "halden/tarn#1"]
        seen.append(await view(each, await site.reader("cy"), asked))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("system", ["attio", "chatwoot"])
async def test_a_damaged_cursor_is_reported(project: Project, system: str) -> None:
    connect = (
        (lambda: attio_world.opened(Halden().attio))
        if system == "attio"
        else (lambda: chatwoot_world.opened(Support()))
    )
    async with connect() as source:
        with pytest.raises(Exception, match="cursor of the source is damaged"):
            async for _ in source.pull(source.streams[1], '{"page": "no"'):
                pass


@dataclass(frozen=True)
class Edits:
    """Two edits of one item of a system, each with its webhook; `ref` is the item's, `last` what it says afterwards."""

    connect: Callable[[], AbstractAsyncContextManager[ItemSource]]
    ref: str
    last: str
    now: datetime
    make: Callable[[], list[Delivery]]


def attio_edits() -> Edits:
    halden = Halden()
    attio = halden.attio

    def make() -> list[Delivery]:
        hooks: list[Delivery] = []
        for stage in ("Won", "Lost"):
            attio.change_record(halden.deal, {"stage": stage})
            hooks.append(attio.webhook(attio.event("record.updated", attio.records[halden.deal])))
        return hooks

    ref = f"attio:deal:{halden.deal}"
    return Edits(lambda: attio_world.opened(attio), ref, "Deal stage: Lost", attio_world.NOW, make)


def chatwoot_edits() -> Edits:
    support = Support()
    chatwoot = support.chatwoot

    def make() -> list[Delivery]:
        hooks: list[Delivery] = []
        for text in ("It works again.", "It is down again."):
            chatwoot.edit_message(support.first, content=text)
            hooks.append(chatwoot.webhook("message_updated", support.first))
        return hooks

    return Edits(
        lambda: chatwoot_world.opened(support),
        "chatwoot:conversation:1-1",
        "It is down again.",
        support.now,
        make,
    )


def github_edits() -> Edits:
    forge = Forge()

    def make() -> list[Delivery]:
        hooks: list[Delivery] = []
        for state in ("closed", "open"):
            forge.github.change_issue(forge.tarn, forge.issue, state=state, title=f"It is {state}")
            issue = forge.tarn.issues[forge.issue]
            hooks.append(forge.github.webhook("issues", forge.tarn, issue=issue))
        return hooks

    ref = f"github:issue:{forge.tarn.row['id']}-{forge.issue}"
    return Edits(
        lambda: github_world.opened(forge.github),
        ref,
        "Title: It is open\nStatus: open",
        forge.github.now,
        make,
    )


@pytest.mark.parametrize("edit", [attio_edits, chatwoot_edits, github_edits])
async def test_s2_5_webhooks_repeated_and_in_another_order_give_the_last_version_once(
    project: Project, edit: Callable[[], Edits]
) -> None:
    edits = edit()
    site = await make_site(project, edits.ref.partition(":")[0], edits.connect)
    first, second = edits.make()

    async def take(*deliveries: Delivery) -> None:
        for headers, body in deliveries:
            webhook = Webhook(headers=headers, body=body, received_at=edits.now)
            await take_webhook(project.database, lambda _: edits.connect(), site.source.id, webhook)
        await site.sync(is_full=False)

    await take(second, first, second)
    assert edits.last in await site.text("ada", edits.ref)
    before = await jobs_and_embeddings(site)
    await take(first, second, first)
    assert await jobs_and_embeddings(site) == before
    counted = "SELECT webhooks_taken, webhooks_repeated FROM sources"
    assert await project.database.rows(counted, {}) == [(2, 4)]


async def _links_of(site: Site, name: str) -> set[tuple[str, str]]:
    """What is linked with an entity for bob, by a person or by documents: kinds and names."""
    reader, links = await site.reader("bob"), site.project.kb.graph.links
    found = await links.list_links(reader, LinkFilter(status=LinkStatus.CONFIRMED, about=name))
    ends = [end for each in found for end in (each.source, each.target)]
    return {(end.ref.split(":")[1], end.name) for end in ends if end.ref != name}


async def _decisions(site: Site) -> object:
    said = "SELECT pair_id, from_ref, to_ref, status FROM entity_links WHERE decided_at IS NOT NULL ORDER BY 1"
    return await site.project.database.rows(said, {}), await site.project.database.rows(
        "SELECT former_ref, survivor_ref, names FROM item_merges", {}
    )


@dataclass(frozen=True)
class Merging:
    """A site with a company `former` that has a deal and two decisions, and is merged into `survivor` by `delivery`."""

    site: Site
    halden: Halden
    former: str
    survivor: str
    delivery: Delivery


async def make_merging(project: Project) -> Merging:
    halden = Halden()
    former = halden.attio.add_record("companies", {"name": "Aurora Wind"})
    halden.attio.add_record("deals", {"name": "Rotor test", "associated_company": former})
    site = await make_site(project, "attio", lambda: attio_world.opened(halden.attio))
    old, new = (f"attio:company:{each}" for each in (former, halden.nordwind))
    bob, links = await site.reader("bob"), project.kb.graph.links
    await links.add(bob, old, f"attio:person:{halden.petra}", LinkType.MAPPED_TO)
    rejected = await links.add(bob, old, f"attio:deal:{halden.deal}", LinkType.SAME_AS)
    await links.reject(bob, rejected.id)
    delivery = halden.attio.merge_records(halden.nordwind, former)
    return Merging(site, halden, former=old, survivor=new, delivery=delivery)


async def test_s2_10_a_merge_at_the_source_passes_links_names_and_mentions_to_the_survivor(
    project: Project,
) -> None:
    merging = await make_merging(project)
    site, halden, bob = merging.site, merging.halden, await merging.site.reader("bob")
    before = await _links_of(site, merging.survivor)
    await site.deliver(merging.delivery, attio_world.NOW)
    gained = {("deal", "Rotor test"), ("person", "Petra Voss")}
    assert await _links_of(site, merging.survivor) == before | gained
    (link,) = await project.kb.graph.links.list_links(bob, LinkFilter(status=LinkStatus.REJECTED))
    assert {link.source.ref, link.target.ref} == {merging.survivor, f"attio:deal:{halden.deal}"}

    halden.attio.change_record(halden.nordwind, {"name": "Nordwind Group"})
    await site.sync(with_sweep=True)  # the system says no more what it was called
    for name in ("Aurora Wind", merging.former):
        (company,) = (await project.kb.questions.candidates(name, bob)).candidates
        assert (company.entity.ref, company.entity.name) == (merging.survivor, "Nordwind Group")
    assert gained <= await _links_of(site, merging.survivor)


async def test_s2_10_what_a_person_hid_stays_hidden_under_the_survivor(project: Project) -> None:
    merging, graph = await make_merging(project), project.kb.graph
    bob = await merging.site.reader("bob")
    await graph.delete(bob, merging.former)
    assert (await project.kb.questions.candidates("Nordwind Energie", bob)).candidates
    await merging.site.deliver(merging.delivery, attio_world.NOW)
    for name in (merging.survivor, "Nordwind Energie", "Aurora Wind"):
        found = (await project.kb.questions.candidates(name, bob)).candidates
        assert merging.survivor not in {each.entity.ref for each in found}, name


async def test_s2_10_a_merge_tells_nothing_to_who_does_not_see_the_survivor(
    project: Project,
) -> None:
    """Whose list names the former item does not even get the reference of the survivor, and no corrections of it."""
    halden, kb = Halden(), project.kb
    former = halden.attio.add_record("companies", {"name": "Aurora Wind"})
    halden.attio.add_entry(halden.list, former, {"tier": "Silver"})
    aside = halden.attio.add_list("Aside", "aside", "companies", {"tier": "select"})
    halden.attio.add_entry(aside, former, {"tier": "Silver"})
    site = await make_site(project, "attio", lambda: attio_world.opened(halden.attio))
    bob, reader = await site.reader("bob"), await kb.reader(list_tags(aside))
    old, new = f"attio:company:{former}", f"attio:company:{halden.nordwind}"
    await kb.graph.edit(bob, new, ManualEdit(description="They pay late."), tags=WORKSPACE_TAGS)
    await kb.graph.edit(bob, old, ManualEdit(description="They are sold."), tags=WORKSPACE_TAGS)
    before = (await kb.graph.entity(reader, old)).entity
    await site.deliver(halden.attio.merge_records(halden.nordwind, former), attio_world.NOW)

    assert (await kb.graph.entity(reader, "Aurora Wind")).entity == before
    assert before.ref == old
    for hidden in (new, "Nordwind Energie"):
        assert not (await kb.questions.candidates(hidden, reader)).candidates


async def test_s2_10_a_killed_or_repeated_delivery_of_a_merge_leaves_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    merging = await make_merging(project)
    site, before = merging.site, await _decisions(merging.site)

    async def die(*_: object) -> None:
        raise StoreFailed("the process was killed")

    with monkeypatch.context() as patched:
        patched.setattr(item_pages.registration, "restate", die)
        with pytest.raises(StoreFailed):
            await site.deliver(merging.delivery, attio_world.NOW)
    assert await _decisions(site) == before
    await site.deliver(merging.delivery, attio_world.NOW)
    merged, jobs = await _decisions(site), await jobs_and_embeddings(site)
    assert merged != before
    await site.deliver(merging.delivery, attio_world.NOW)
    assert (await _decisions(site), await jobs_and_embeddings(site)) == (merged, jobs)


async def test_s2_9_an_erased_former_item_leaves_no_name_on_its_survivor(project: Project) -> None:
    halden, kb = Halden(), project.kb
    former = halden.attio.add_record("companies", {"name": "Aurora Wind"})
    site = await make_site(project, "attio", lambda: attio_world.opened(halden.attio))
    await site.deliver(halden.attio.merge_records(halden.nordwind, former), attio_world.NOW)
    bob = await site.reader("bob")
    assert (await kb.questions.candidates("Aurora Wind", bob)).candidates
    await kb.documents.erase(bob, [f"attio:company:{halden.nordwind}"])
    await site.sync()
    assert not (await kb.questions.candidates("Aurora Wind", bob)).candidates
    assert await project.database.rows("SELECT former_ref FROM item_merges", {}) == []
