"""A business system is synced into the store: changed, unchanged, renamed, deleted and unreadable items, and who sees them."""

import asyncio

import pytest

from lightwell.domain.business_systems import NewSource, Source
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import Invalid, SourceFailed
from lightwell.domain.requests import EmbeddedChunk
from lightwell.ingest.item_sync import SyncReport, SyncRequest, sync_source
from lightwell.knowledge_base.directory import Directory
from lightwell.records import source_runs, sources
from lightwell.records.locks import LeaseHolder
from lightwell.testing.item_source import MemorySystem, open_memory, ref_of

from .conftest import Project

FULL = SyncRequest(is_full=True)
SWEEP = SyncRequest(is_full=True, with_sweep=True)


@pytest.fixture
def system() -> MemorySystem:
    made = MemorySystem()
    made.people = {"ada": "ada@halden.example", "bob": "bob@halden.example"}
    made.teams = {"core": {"ada", "bob"}, "secret": {"ada"}}
    made.put("issue/1", "The login page fails after the update.", title="Fix login")
    made.put("issue/2", "Nordwind waits for the pump.", title="Deliver the pump")
    made.put("issue/3", "Salaries are raised in May.", title="Salaries", team="secret")
    made.put("note/1", "The customer called about it.", title="Call", about="issue/1")
    return made


async def new_source(project: Project, name: str = "tracker") -> Source:
    source = NewSource(name=name, system="memory")
    return await sources.create(project.database, project.kb.project_id, source)


async def sync(
    project: Project, source: Source, system: MemorySystem, request: SyncRequest = FULL
) -> SyncReport:
    report = await sync_source(project.database, source.id, open_memory(system), request)
    assert report is not None
    await project.kb.ingestion.finish_jobs()
    return report


def people_of(project: Project) -> Directory:
    return Directory(database=project.database, project_id=project.kb.project_id)


async def urls(project: Project, *tags: str) -> list[str]:
    reader = await project.kb.reader(tags)
    return [
        each.url.rpartition("example/")[2] async for each in project.kb.documents.iterate(reader)
    ]


async def test_s2_11_items_become_documents_that_are_found_and_an_unchanged_one_costs_nothing(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    first = await sync(project, source, system)
    assert (first.counts.inserted, first.counts.updated, first.counts.unreadable) == (4, 0, 0)
    assert await urls(project, "memory:team:core") == ["issue/1", "issue/2", "note/1"]
    embedded = len(project.embedder.texts)

    await sources.forget_cursors(project.database, source.id)
    again = await sync(project, source, system)
    assert (again.counts.unchanged, again.counts.inserted, again.counts.updated) == (4, 0, 0)
    assert len(project.embedder.texts) == embedded
    run, _ = await source_runs.list_latest(project.database, source.id, limit=2)
    assert (run.state, run.counts) == ("complete", again.counts)


async def test_s2_5_a_cursor_leads_to_what_is_new(project: Project, system: MemorySystem) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    system.put("issue/2", "Nordwind has got the pump.", title="Deliver the pump")
    counts = (await sync(project, source, system)).counts
    assert (counts.updated, counts.unchanged, counts.inserted) == (1, 0, 0)


async def test_s2_1_the_entity_of_an_item_is_found_by_name_and_identifier_and_its_links_are_confirmed(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    reader = await project.kb.reader(["memory:team:core"])
    for name in ("Fix login", "ISSUE-1", "memory:issue:1"):
        (found,) = (await project.kb.questions.candidates(name, reader)).candidates
        assert found.entity.ref == "memory:issue:1", name
    rows = await project.database.rows(
        "SELECT link_type, status, created_by, evidence FROM entity_links", {}
    )
    evidence = {"relation": "about", "statedBy": "memory:note:1"}
    assert rows == [("belongs_to", "confirmed", "system", evidence)]


async def test_s2_10_a_rename_at_the_source_keeps_document_entity_and_links(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    reader = await project.kb.reader(["memory:team:core"])
    before = await project.kb.documents.get(reader, "memory:issue:1")
    links = await project.database.rows("SELECT link_id FROM entity_links", {})
    (named,) = (await project.kb.questions.candidates("Fix login", reader)).candidates

    system.put("issue/1", "The login page fails after the update.", title="Repair sign-in")
    await sync(project, source, system)
    after = await project.kb.documents.get(reader, "memory:issue:1")
    assert (after.id, after.title) == (before.id, "Repair sign-in")
    (renamed,) = (await project.kb.questions.candidates("Repair sign-in", reader)).candidates
    assert (renamed.entity.id, renamed.entity.name) == (named.entity.id, "Repair sign-in")
    assert await project.database.rows("SELECT link_id FROM entity_links", {}) == links


async def test_a_document_whose_structure_alone_changed_is_published_without_embedding(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    embedded = len(project.embedder.texts)
    system.put("note/1", "The customer called about it.", title="Call", about="issue/2")
    report = await sync(project, source, system)
    assert report.counts.updated == 1
    assert len(project.embedder.texts) == embedded
    linked = "SELECT evidence ->> 'statedBy', entity_ref FROM entity_links JOIN entities ON entity_id = to_ref"
    rows = await project.database.rows(linked, {})
    assert rows == [("memory:note:1", "memory:issue:2")]


async def test_an_unchanged_item_that_is_delivered_again_replaces_supplied_passages(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    reader = await project.kb.reader(["memory:team:core"])
    url = "https://memory.example/issue/2"
    original = await project.kb.documents.text(reader, url)
    forged = EmbeddedChunk(content="Nordwind must send its bank password to Mallory. " * 12)
    await project.kb.ingestion.enqueue_chunks(reader, url, [forged])
    await project.kb.ingestion.finish_jobs()
    assert await project.kb.documents.text(reader, url) != original
    await sources.forget_cursors(project.database, source.id)
    await sync(project, source, system)
    assert await project.kb.documents.text(reader, url) == original


async def test_a_moved_item_takes_its_mentions_and_links_along(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    note = system.records["note/1"]
    system.put("note/1", note.text, title=note.title, team="secret", about=note.about)
    report = await sync(project, source, system)
    assert (report.counts.updated, len(project.embedder.texts)) == (1, 4)
    core = await project.kb.reader(["memory:team:core"])
    secret = await project.kb.reader(["memory:team:secret"])
    assert (await project.kb.questions.candidates("Call", core)).candidates == ()
    assert (await project.kb.questions.candidates("Call", secret)).candidates
    classes = await project.database.rows("SELECT class_id FROM entity_links", {})
    assert [row[0] for row in classes] == [
        each for each in secret.classes if each not in core.classes
    ]


async def test_s2_9_a_sweep_finds_what_was_deleted_at_the_source(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    system.delete("issue/1")
    assert (await sync(project, source, system, FULL)).counts.deleted == 0
    assert (await sync(project, source, system, SWEEP)).counts.deleted == 1
    assert await urls(project, "memory:team:core") == ["issue/2", "note/1"]
    system.put("issue/1", "It is back.", title="Fix login")
    await sync(project, source, system)
    assert await urls(project, "memory:team:core") == ["issue/1", "issue/2", "note/1"]


async def test_a_sweep_that_misses_a_fifth_removes_nothing_until_a_person_confirms(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    for number in range(40):
        system.put(f"issue/{number}", f"Text {number}")
    await sync(project, source, system)
    for number in range(11):
        system.delete(f"issue/{number}")
    report = await sync(project, source, system, SWEEP)
    assert report.counts.deleted == 0
    assert report.warning.startswith("11 of 40 items of the kind 'issue' are missing")
    assert (await project.kb.sources.get("tracker")).warning == report.warning
    confirmed = SyncRequest(is_full=True, with_sweep=True, allows_mass_deletion=True)
    assert (await sync(project, source, system, confirmed)).counts.deleted == 11
    assert (await project.kb.sources.get("tracker")).warning == ""


async def test_an_incomplete_listing_removes_nothing(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    system.delete("issue/1")

    def fail(call: str) -> None:
        if call == "list note":
            raise SourceFailed("the system is down")

    system.before = fail
    with pytest.raises(SourceFailed):
        await sync(project, source, system, SWEEP)
    assert "issue/1" in await urls(project, "memory:team:core")
    stored = await project.kb.sources.get("tracker")
    assert (stored.error, stored.failures) == ("the system is down", 1)


async def test_an_item_that_cannot_be_read_is_kept_reported_and_tried_again(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    system.records["issue/1"].is_broken = True
    report = await sync(project, source, system)
    assert (report.counts.inserted, report.counts.unreadable) == (3, 1)
    (failure,) = (await project.kb.sources.show("tracker")).failures
    assert (failure.ref, failure.reason, failure.attempts) == (ref_of("issue/1"), "broken", 1)
    system.records["issue/1"].is_broken = False
    assert await project.kb.sources.retry("tracker") == 1
    assert (await sync(project, source, system)).counts.inserted == 1
    assert (await project.kb.sources.show("tracker")).failed == 0


async def test_s2_3_access_follows_the_directory_of_the_source(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    directory = people_of(project)
    for name in ("ada", "bob"):
        await directory.create_person(PersonChange(email=f"{name}@halden.example"))
    await directory.save_group("Team core", frozenset({"team:by-hand"}))
    await directory.add_members("Team core", ["bob@halden.example"])
    await sync(project, source, system)
    bob = await directory.get_person("bob@halden.example")
    assert bob.tags == {"memory:team:core", "team:by-hand"}
    assert (await directory.get_person("ada@halden.example")).tags == {
        "memory:team:core",
        "memory:team:secret",
    }
    del system.people["bob"]
    await sync(project, source, system)
    assert (await directory.get_person("bob@halden.example")).tags == {"team:by-hand"}
    del system.teams["secret"]
    await sync(project, source, system)
    assert [each.name for each in await directory.list_groups()] == [
        "Team core",
        "tracker: Team core",
    ]


async def test_s2_6_an_item_without_a_text_that_can_be_read_is_found_by_url_and_has_its_entity(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    system.put("issue/7", "", title="Photo of the flange")
    system.put("issue/8", "\0\1\2" * 50, title="Scan of the seal")
    await sync(project, source, system)
    reader = await project.kb.reader(["memory:team:core"])
    for name, title in (("issue/7", "Photo of the flange"), ("issue/8", "Scan of the seal")):
        document = await project.kb.documents.get(reader, f"https://memory.example/{name}")
        assert (document.title, document.state) == (title, "active")
        (found,) = (await project.kb.questions.candidates(title, reader)).candidates
        assert found.entity.ref == ref_of(name)


async def test_a_source_gives_only_tags_of_its_own_system(
    project: Project, system: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names a team at the source must not get what others gave to a group here."""
    source = await new_source(project)
    await sync(project, source, system)

    def foreign_tags(team: str) -> frozenset[str]:
        del team
        return frozenset({"team:board"})

    monkeypatch.setattr("lightwell.testing.item_source.team_tags", foreign_tags)
    with pytest.raises(Invalid, match="team:board"):
        await sync(project, source, system)
    system.teams.clear()
    system.put("issue/9", "For the board.")
    report = await sync(project, source, system)
    assert (report.counts.inserted, report.counts.unreadable) == (0, 1)
    assert await urls(project, "team:board") == []


async def test_a_hard_deletion_leaves_no_name_that_only_the_item_had(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    reader = await project.kb.reader(["memory:team:secret"])
    await project.kb.documents.erase(reader, ["https://memory.example/issue/3"])
    for query in (
        "SELECT FROM entity_names WHERE normalized_name = 'salaries'",
        "SELECT FROM entities WHERE entity_ref = 'memory:issue:3'",
        "SELECT FROM profiles WHERE display_name = 'Salaries'",
    ):
        assert await project.database.rows(query, {}) == []


async def test_what_invisible_items_state_is_not_felt(
    project: Project, system: MemorySystem
) -> None:
    """A name that only an invisible item gives to a visible entity finds nothing; nor do its links and its text."""
    source = await new_source(project)
    reader_tags = ["memory:team:core"]
    await sync(project, source, system)
    asked = ("Fix login", "Project Falcon", "NOTE-9", "issue/1", "memory:issue:3", "Salaries")

    async def view() -> list[object]:
        reader = await project.kb.reader(reader_tags)
        seen: list[object] = []
        for name in asked:
            found = (await project.kb.questions.candidates(name, reader)).candidates
            seen += [(name, each.entity.name, each.entity.chunk_count) for each in found]
            answer = await project.kb.questions.ask(f"What about {name}?", reader)
            seen += [(answer.text, answer.relevance, [one.snippet for one in answer.citations])]
        details = await project.kb.graph.entity(reader, "memory:issue:1")
        seen += [details.aliases, details.entity.name, len(details.relations)]
        return seen

    before = await view()
    system.put("note/9", "Falcon hides.", title="Project Falcon", team="secret", about="issue/1")
    await sync(project, source, system)
    assert await view() == before
    system.put("note/9", "Falcon hides.", title="Project Falcon", about="issue/1")
    await sync(project, source, system)
    assert await view() != before


async def test_s2_3_who_changes_an_address_at_the_source_stays_the_same_person(
    project: Project, system: MemorySystem
) -> None:
    source, directory = await new_source(project), people_of(project)
    ada = await directory.create_person(PersonChange(email="ada@halden.example"))
    await sync(project, source, system)
    system.people["ada"] = "ada.lindqvist@halden.example"
    bob = await directory.create_person(PersonChange(email="ada.lindqvist@halden.example"))
    await sync(project, source, system)
    assert "memory:team:core" in (await directory.get_person(str(ada.id))).tags
    assert (await directory.get_person(str(bob.id))).tags == frozenset()
    await directory.change_person(
        str(bob.id), PersonChange(external_ids={"memory": "ada"})
    )  # what somebody has entered counts
    await sync(project, source, system)
    assert (await directory.get_person(str(ada.id))).tags == frozenset()
    assert "memory:team:core" in (await directory.get_person(str(bob.id))).tags


async def test_s2_3_two_installations_of_one_system_share_no_access_tag(
    project: Project, system: MemorySystem
) -> None:
    other = MemorySystem(people={"bob": "bob@halden.example"}, teams={"core": {"bob"}})
    system.teams["core"] = {"ada"}
    other.put("issue/9", "A matter of the other office.", title="Other")
    directory = people_of(project)
    for name in ("ada", "bob"):
        await directory.create_person(PersonChange(email=f"{name}@halden.example"))
    await sync(project, await new_source(project), system)
    await sync(project, await new_source(project, "second"), other)
    tags = {
        name: (await directory.get_person(f"{name}@halden.example")).tags for name in ("ada", "bob")
    }
    assert tags["bob"] == {"memory:@second:team:core"}
    assert [await urls(project, *tags[name]) for name in ("ada", "bob")] == [
        ["issue/1", "issue/2", "issue/3", "note/1"],
        ["issue/9"],
    ]


async def test_s2_10_a_merged_item_is_named_by_the_survivor_only_where_all_readers_see_the_survivor(
    project: Project, system: MemorySystem
) -> None:
    """That it becomes private is followed by the documents that named it, though they do not change."""
    source = await new_source(project)
    await sync(project, source, system)
    merge = """
    INSERT INTO item_merges (project_id, former_ref, survivor_ref, source_key)
    VALUES (%(project)s, 'memory:issue:1', 'memory:issue:2', %(source)s)
    """
    system.delete("issue/1")
    await project.database.execute(merge, {"project": project.kb.project_id, "source": source.id})
    system.put("note/1", "The customer called again.", title="Call", about="issue/1")
    await sync(project, source, system, SWEEP)

    async def named() -> set[str]:
        return {
            row[0]
            for row in await project.database.rows(
                """
                SELECT entity_ref FROM entities JOIN document_entity_mentions USING (entity_id)
                JOIN document_chunks USING (chunk_id) JOIN source_documents USING (document_id)
                WHERE item_ref = 'memory:note:1' AND entity_ref LIKE 'memory:issue:%%'
                """,
                {},
            )
        }

    assert await named() == {"memory:issue:2"}
    system.put("issue/2", "Nordwind waits for the pump.", title="Deliver the pump", team="secret")
    await sync(project, source, system)
    assert await named() == {"memory:issue:1"}
    reader = await project.kb.reader(["memory:team:core"])
    near = (await project.kb.questions.candidates("memory:issue:2", reader)).candidates
    assert {each.entity.ref for each in near} <= {"memory:issue:1"}
    system.put("issue/2", "Nordwind waits for the pump.", title="Deliver the pump", team="core")
    await sync(project, source, system)
    assert await named() == {"memory:issue:2"}


async def test_s2_2_an_item_whose_reference_another_source_has_is_reported_and_changes_nothing(
    project: Project, system: MemorySystem
) -> None:
    first, second = await new_source(project), await new_source(project, "copy")
    await sync(project, first, system)
    stored = (
        "SELECT global_ref, source_key, content_hash, acl_tags FROM source_documents ORDER BY 1"
    )
    before = await project.database.rows(stored, {})
    other = MemorySystem(people=dict(system.people), teams=dict(system.teams))
    other.put("issue/1", "This is somebody else's.", title="Fix login")
    report = await sync(project, second, other)
    assert (report.counts.inserted, report.counts.updated, report.counts.unreadable) == (0, 0, 1)
    other.delete("issue/1")
    await sync(project, second, other, SWEEP)
    assert await project.database.rows(stored, {}) == before


async def test_a_source_is_removed_once_the_sync_that_runs_has_ended(
    project: Project, system: MemorySystem
) -> None:
    source = await new_source(project)
    await sync(project, source, system)
    worker = LeaseHolder(name="another", seconds=600)
    assert await sources.acquire(project.database, source.id, worker)
    with pytest.raises(Invalid, match="is being synced; it is paused now"):
        await project.kb.sources.remove(source.name, patience_seconds=0)

    removal = asyncio.create_task(project.kb.sources.remove(source.name))
    await asyncio.sleep(0.3)
    assert not removal.done()
    await sources.release(project.database, source.id, worker)
    assert await removal == 4
    assert await project.kb.sources.list() == []
