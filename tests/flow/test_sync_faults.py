"""Whatever happens during a sync, the store ends equal to one clean sync."""

import asyncio
import random
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from lightwell.domain.business_systems import NewSource, Source, SourceCounts
from lightwell.domain.errors import LeaseLost, Refused, SourceFailed
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, SourceDirectory
from lightwell.ingest.item_sync import SyncReport, SyncRequest, sync_source
from lightwell.ingest.webhooks import Webhook, take_webhook
from lightwell.records import sources
from lightwell.records.database import Database, Row
from lightwell.testing.item_source import MemorySource, MemorySystem, open_memory
from tests.patience import PATIENCE

from .conftest import Project, project_on
from .processes import running

SWEEP = SyncRequest(is_full=True, with_sweep=True, allows_mass_deletion=True)
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


class _Killed(BaseException):
    """The end of the process, as far as the code under test can tell: no handler of errors runs."""


def full() -> MemorySystem:
    system = MemorySystem(people={"ada": "ada@halden.example"}, teams={"core": {"ada"}})
    for number in range(7):
        system.put(f"issue/{number}", f"Text {number}", title=f"Issue {number}")
        system.put(f"note/{number}", f"Note {number}", about=f"issue/{number}", team="notes")
    return system


async def new_source(project: Project) -> Source:
    new = NewSource(name="tracker", system="memory")
    return await sources.create(project.database, project.kb.project_id, new)


async def sync(
    project: Project, source: Source, system: MemorySystem, request: SyncRequest = SWEEP
) -> SyncReport | None:
    return await sync_source(project.database, source.id, open_memory(system), request)


async def sync_forever(project: Project, source: Source, system: MemorySystem) -> None:
    while True:
        await sync(project, source, system)


async def state(project: Project) -> list[list[Row]]:
    """Return all that a clean sync determines: documents, who sees them, entities, links, groups, and nothing left to do."""
    await project.kb.ingestion.finish_jobs()
    queries = (
        """SELECT global_ref, source_url, title, acl_tags, content_hash, status, structure,
                  document_text(document_id, class_id), item_ref
           FROM source_documents WHERE project_id = %(p)s AND NOT is_deleted ORDER BY 1""",
        """SELECT entity_ref, mention.name, mention.names, is_own, global_ref
           FROM document_entity_mentions AS mention JOIN entities USING (entity_id)
           JOIN document_chunks USING (chunk_id) JOIN source_documents USING (document_id)
           WHERE entities.project_id = %(p)s ORDER BY 1, 5""",
        """SELECT one.entity_ref, link_type, other.entity_ref, status, evidence, tags
           FROM entity_links AS link JOIN entities AS one ON one.entity_id = from_ref
           JOIN entities AS other ON other.entity_id = to_ref JOIN access_classes USING (class_id)
           WHERE link.project_id = %(p)s ORDER BY 1, 3""",
        """SELECT display_name, entity_kind, mention_count, tags FROM profiles JOIN access_classes USING (class_id)
           WHERE project_id = %(p)s ORDER BY 1, 2, 4""",
        "SELECT name, acl_tags FROM directory_groups WHERE project_id = %(p)s ORDER BY 1",
        """SELECT item_ref FROM item_fetches JOIN sources USING (source_id) WHERE project_id = %(p)s""",
    )
    return [await project.database.rows(each, {"p": project.kb.project_id}) for each in queries]


async def clean_state(database: Database, system: MemorySystem) -> object:
    """Return the state of a project that has seen only the system as it is now."""
    system.before = lambda call: None
    project = await project_on(database, name="clean")
    source = await new_source(project)
    await sync(project, source, system)
    return await state(project)


@pytest.mark.parametrize("seed", range(2))
async def test_a_sync_that_is_killed_at_any_call_ends_as_a_clean_one(
    project: Project, seed: int
) -> None:
    """Each call of the system is once the last one of a process; between the tries records change."""
    chance, system = random.Random(seed), full()
    source = await new_source(project)
    for point in range(4, 16, 2):
        left = point

        def die(call: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise chance.choice((_Killed, SourceFailed))(call)

        system.before = die
        with pytest.raises((_Killed, SourceFailed)):
            await sync_forever(project, source, system)
        await project.database.execute("UPDATE sources SET leased_until = NULL", {})
        change_something(system, chance)
    expected = await clean_state(project.database, system)
    await sync(project, source, system)
    assert await state(project) == expected


def change_something(system: MemorySystem, chance: random.Random) -> None:
    """Delete, move, rename or rewrite a record, or add one."""
    name = chance.choice(sorted(system.records))
    record = system.records[name]
    match chance.randrange(5):
        case 0:
            system.delete(name)
        case 1:
            system.put(name, record.text, title=record.title, team="other", about=record.about)
        case 2:
            system.put(name, record.text, title=f"{record.title} again", about=record.about)
        case 3:
            system.put(name, f"{record.text} and more", title=record.title, about=record.about)
        case _:
            system.put(f"issue/{system.version}", "A new one.")


async def test_records_that_are_edited_while_they_are_paged_through_are_complete_after_the_next_sync(
    project: Project,
) -> None:
    system, chance = full(), random.Random(5)
    source = await new_source(project)
    left = 25

    def edit(call: str) -> None:
        nonlocal left
        if call != "directory" and left:
            left -= 1
            change_something(system, chance)

    system.before = edit
    await sync(project, source, system)
    expected = await clean_state(project.database, system)
    await sync(project, source, system)
    assert await state(project) == expected


async def test_duplicated_and_reordered_webhooks_end_as_a_clean_sync(project: Project) -> None:
    system, chance = full(), random.Random(7)
    source = await new_source(project)
    await sync(project, source, system)
    deliveries: list[tuple[dict[str, str], bytes]] = []
    for number in range(12):
        change_something(system, chance)
        deliveries.append(system.webhook(f"d{number}", sorted(system.records)[:4], moment=NOW))
    deliveries.append(system.webhook("last", [f"issue/{n}" for n in range(60)], moment=NOW))
    deliveries.append(system.webhook("notes", [f"note/{n}" for n in range(60)], moment=NOW))
    deliveries += deliveries[:5]
    chance.shuffle(deliveries)
    for headers, body in deliveries:
        webhook = Webhook(headers=headers, body=body, received_at=NOW)
        await take_webhook(project.database, open_memory(system), source.id, webhook)
    calls = len(system.calls)
    await sync(project, source, system, SyncRequest())
    assert set(system.calls[calls:]) == {"fetch"}
    assert await state(project) == await clean_state(project.database, system)


@pytest.mark.parametrize("skew", [timedelta(minutes=-5), timedelta(minutes=5)])
async def test_a_webhook_of_another_time_is_refused_and_the_poll_finds_the_change(
    project: Project, skew: timedelta
) -> None:
    system = full()
    source = await new_source(project)
    await sync(project, source, system)
    system.put("issue/1", "Changed.", title="Issue 1")
    headers, body = system.webhook("d1", ["issue/1"], moment=NOW + skew)
    webhook = Webhook(headers=headers, body=body, received_at=NOW)
    with pytest.raises(Refused):
        await take_webhook(project.database, open_memory(system), source.id, webhook)
    await sync(project, source, system)
    assert await state(project) == await clean_state(project.database, system)


@dataclass(frozen=True)
class Hooked(MemorySource):
    """A connector that calls `hook` before it asks the system, with the name of the call."""

    hook: Callable[[str], Awaitable[None]] = field(kw_only=True)

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        page = await super().fetch(refs)
        await self.hook("fetch")
        return page

    async def directory(self) -> SourceDirectory:
        await self.hook("directory")
        return await super().directory()

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        async for page in super().pull(stream, cursor):
            await self.hook("pull")
            yield page


async def sync_hooked(
    project: Project, source: Source, connector: Hooked, request: SyncRequest = SWEEP
) -> SyncReport | None:
    @asynccontextmanager
    async def open_hooked(source: Source) -> AsyncGenerator[Hooked]:
        del source
        yield connector

    return await sync_source(project.database, source.id, open_hooked, request)


async def test_a_request_that_comes_while_its_item_is_fetched_is_not_lost(project: Project) -> None:
    """The reply of the system is older than the second request, so the item is fetched again."""
    system = full()
    source = await new_source(project)
    await sync(project, source, system)

    async def hint(delivery: str) -> None:
        headers, body = system.webhook(delivery, ["issue/1"], moment=NOW)
        webhook = Webhook(headers=headers, body=body, received_at=NOW)
        await take_webhook(project.database, open_memory(system), source.id, webhook)

    async def change(call: str) -> None:
        if call == "fetch":
            system.put("issue/1", "Changed meanwhile.", title="Issue 1")
            await hint("second")

    await hint("first")
    await sync_hooked(project, source, Hooked(system, hook=change), SyncRequest())
    assert len(await sources.list_due(project.database, project.kb.project_id)) == 1
    await sync(project, source, system, SyncRequest())
    assert await state(project) == await clean_state(project.database, system)


async def test_one_process_at_a_time_syncs_a_source(project: Project) -> None:
    system = full()
    source = await new_source(project)
    seen: list[object] = []

    async def sync_again(call: str) -> None:
        if call == "directory":
            seen.append(await sync(project, source, system))
            seen.extend(await sources.list_due(project.database, project.kb.project_id))

    report = await sync_hooked(project, source, Hooked(system, hook=sync_again))
    assert report is not None
    assert seen == [None]


async def test_a_process_that_lost_its_lease_writes_nothing_more(project: Project) -> None:
    system = full()
    source = await new_source(project)

    async def lose(call: str) -> None:
        if call == "pull":
            taken = "UPDATE sources SET leased_by = 'another process'"
            await project.database.execute(taken, {})

    with pytest.raises(LeaseLost):
        await sync_hooked(project, source, Hooked(system, hook=lose))
    assert await project.database.rows("SELECT FROM source_documents", {}) == []
    assert await project.database.rows("SELECT FROM source_cursors", {}) == []
    holder = await project.database.rows("SELECT leased_by, last_error FROM sources", {})
    assert holder == [("another process", "")]


async def test_a_second_sync_of_many_items_makes_no_job_and_calls_no_model(
    project: Project,
) -> None:
    """The figures for 50,000 items are those of benchmarks/item_sync.py."""
    system = MemorySystem(page_size=50)
    for number in range(300):
        system.put(f"issue/{number}", f"Text {number} of the pump.", title=f"Issue {number}")
    source = await new_source(project)
    await sync(project, source, system)
    await project.kb.ingestion.finish_jobs()
    embedded = len(project.embedder.texts)
    await sources.forget_cursors(project.database, source.id)
    report = await sync(project, source, system)
    assert report is not None
    assert report.counts == SourceCounts(unchanged=300)
    assert await project.kb.ingestion.finish_jobs() == ()
    assert len(project.embedder.texts) == embedded


async def test_after_kill_9_another_process_takes_the_lease_over_and_completes_the_sync(
    database: Database, database_url: str
) -> None:
    project, system = await project_on(database, name="killed"), full()
    source = await new_source(project)
    for point in (3, 6):
        with running("tests.flow.syncing_process", database_url, "killed", str(point)) as process:
            await asyncio.to_thread(process.join, PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        assert await sync(project, source, system) is None, "the lease of the dead has not expired"
        await database.execute("UPDATE sources SET leased_until = now() - interval '1 second'", {})
    await sync(project, source, system)
    states = await database.rows(
        "SELECT status, error_summary FROM ingestion_runs ORDER BY run_id", {}
    )
    assert states == [("failed", "the process that synced ended")] * 2 + [("complete", "")]
    assert await state(project) == await clean_state(database, system)
