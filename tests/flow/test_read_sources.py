"""Sources that know nobody, in the real store: what they have is found by who has the tags that their options state, and goes as it goes there."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from lightwell.connectors.bucket import open_bucket
from lightwell.connectors.site.source import open_site
from lightwell.domain.business_systems import NewSource, Source, SourceChange
from lightwell.ingest.item_sync import SyncReport, SyncRequest, sync_source
from lightwell.ports import ItemSource
from lightwell.records import sources
from tests.connectors.test_exports import CONFLUENCE, confluence, pack, source
from tests.connectors.test_imap import in_memory, message, opened
from tests.connectors.test_site import FETCHER, Docs, serve

from .conftest import Project

Open = Callable[[Source], AbstractAsyncContextManager[ItemSource]]


@dataclass(frozen=True)
class Reading:
    """A project with one source, which is read as a worker reads it."""

    project: Project
    source: Source
    open: Open

    async def sync(self) -> SyncReport:
        request = SyncRequest(is_full=True, with_sweep=True)
        report = await sync_source(self.project.database, self.source.id, self.open, request)
        assert report is not None
        await self.project.kb.ingestion.finish_jobs()
        return report

    async def asked(self, question: str, tag: str) -> tuple[str, list[str | None]]:
        answer = await self.project.kb.questions.ask(question, await self.project.kb.reader([tag]))
        return answer.text, [citation.source_url for citation in answer.citations]

    async def urls(self, tag: str) -> list[str]:
        reader = await self.project.kb.reader([tag])
        return [each.url async for each in self.project.kb.documents.iterate(reader)]


async def reading(
    project: Project, system: str, options: Mapping[str, str], open_: Open
) -> Reading:
    new = NewSource(name=f"my-{system}", system=system, options=options)
    source = await sources.create(project.database, project.kb.project_id, new)
    made = Reading(project, source, open_)
    assert (await made.sync()).counts.unreadable == 0
    return made


@pytest.fixture
def docs() -> Iterator[Docs]:
    with serve() as made:
        made.put(
            "/",
            "<title>Pumps</title><h1>Pumps</h1><p>A Nordwind pump needs 12 bar.</p><a href='pay/a.html'>a</a>",
        )
        made.put(
            "/pay/a.html",
            "<title>Pay</title><h1>Pay</h1><p>Every salary rises by 4 percent in July.</p>",
        )
        yield made


async def test_a_site_answers_with_its_page_to_whom_it_is_for_and_forgets_what_is_gone(
    project: Project, docs: Docs
) -> None:
    options = {"urls": f"{docs.base}/", "acl_tags": "staff", "acl_tags/pay": "team:pay"}
    # Another site came first, so this one's own tags would have its name in them; stated ones stay as they are.
    other = NewSource(name="other", system="site", options=options)
    await sources.create(project.database, project.kb.project_id, other)
    site = await reading(project, "site", options, lambda it: open_site(it.options, FETCHER))
    text, cited = await site.asked("How many bar does a Nordwind pump need?", "staff")
    assert ("12 bar" in text, cited) == (True, [f"{docs.base}/"])
    assert await site.urls("staff") == [f"{docs.base}/"]
    assert await site.urls("team:pay") == [f"{docs.base}/pay/a.html"]
    text, cited = await site.asked("By how much does every salary rise in July?", "staff")
    assert ("4 percent" in text, cited) == (False, [])
    docs.put(
        "/",
        "<title>Pumps</title><h1>Pumps</h1><p>A Nordwind pump needs 16 bar.</p><a href='pay/a.html'>a</a>",
    )
    assert (await site.sync()).counts.updated == 1
    assert "16 bar" in (await site.asked("How many bar does a Nordwind pump need?", "staff"))[0]
    docs.fail("/pay/a.html", 404)
    assert (await site.sync()).counts.deleted == 1
    assert await site.urls("team:pay") == []


async def test_a_bucket_answers_with_its_object_to_whom_it_is_for_and_forgets_what_is_gone(
    project: Project,
) -> None:
    store = MemoryStore()
    await store.put_async("pumps.md", b"# Pumps\n\nA Nordwind pump needs 12 bar.")
    await store.put_async("pay/2026.md", b"# Pay\n\nEvery salary rises by 4 percent in July.")
    options = {"url": "s3://files", "acl_tags": "staff", "acl_tags/pay": "team:pay"}
    bucket = await reading(
        project, "bucket", options, lambda it: open_bucket(it.options, "", 10_000, store)
    )
    text, cited = await bucket.asked("How many bar does a Nordwind pump need?", "staff")
    assert ("12 bar" in text, cited) == (True, ["s3://files/pumps.md"])
    assert await bucket.urls("team:pay") == ["s3://files/pay/2026.md"]
    assert "4 percent" not in (await bucket.asked("By how much does a salary rise?", "staff"))[0]
    await store.put_async("pumps.md", b"# Pumps\n\nA Nordwind pump needs 16 bar.")
    assert (await bucket.sync()).counts.updated == 1
    assert "16 bar" in (await bucket.asked("How many bar does a Nordwind pump need?", "staff"))[0]
    await store.delete_async("pay/2026.md")
    assert (await bucket.sync()).counts.deleted == 1
    assert await bucket.urls("team:pay") == []
    reader = await project.kb.reader(["staff"])
    (document,) = [each async for each in project.kb.documents.iterate(reader)]
    assert (document.title, document.has_original) == ("Pumps", True)
    moved = replace(bucket.source, options={**options, "acl_tags": "team:new"})
    await sources.change(project.database, moved.id, SourceChange(options=moved.options))
    await bucket.sync()
    assert await bucket.urls("staff") == []
    assert await bucket.urls("team:new") == ["s3://files/pumps.md"]


async def test_a_mailbox_answers_with_its_thread_to_whom_it_is_for_and_forgets_what_is_gone(
    project: Project,
) -> None:
    held, _ = in_memory()
    options = {"acl_tags": "staff", "acl_tags/Löhne & mehr": "team:pay"}
    box = await reading(project, "imap", options, lambda _: nullcontext(opened(held)))
    text, cited = await box.asked("How many bar does the Nordwind pump hold again?", "staff")
    (thread,) = {each for each in await box.urls("staff") if each in cited}
    assert ("12 bar" in text, thread.startswith("imap://mail.example/ada%40")) == (True, True)
    assert len(await box.urls("staff")) == 3  # two threads, and a file
    assert (await box.asked("By how much do salaries rise?", "staff"))[1] == []
    assert len(await box.urls("team:pay")) == 1
    held.put("INBOX", message(9, "Re: Pump", "The Nordwind pump holds 16 bar now.", 1, 3))
    assert (await box.sync()).counts.updated == 1
    assert (
        "16 bar" in (await box.asked("How many bar does the Nordwind pump hold now?", "staff"))[0]
    )
    held.folders["Löhne & mehr"].clear()
    assert (await box.sync()).counts.deleted == 1
    assert await box.urls("team:pay") == []


async def test_an_export_answers_with_its_page_and_forgets_what_the_next_one_has_not(
    project: Project, tmp_path: Path
) -> None:
    path = tmp_path / "space.zip"
    path.write_bytes(pack(CONFLUENCE))
    kb = project.kb
    await kb.ingestion.ingest(source(path))
    answer = await kb.questions.ask("When do we deploy?", await kb.reader(["staff"]))
    (citation,) = answer.citations
    assert answer.text.startswith("Deploy on Mondays.")
    assert "›" not in answer.text  # where a page lies is no part of what it says
    assert citation.source_url == f"{path.as_uri()}/ENG/Deploy_7.html"
    assert (
        await kb.questions.ask("When do we deploy?", await kb.reader(["other"]))
    ).citations == ()
    (page, file) = [each async for each in kb.documents.iterate(await kb.reader(["staff"]))]
    assert [page.title, file.title] == ["Deploy & roll back", "Prüfung.txt"]
    assert page.has_original
    changed = confluence("Deploy &amp; roll back", "<p>Deploy on Fridays.</p>")
    path.write_bytes(
        pack({"ENG/index.html": CONFLUENCE["ENG/index.html"], "ENG/Deploy_7.html": changed})
    )
    await kb.ingestion.ingest(source(path))
    answer = await kb.questions.ask("When do we deploy?", await kb.reader(["staff"]))
    assert "Fridays" in answer.text
    assert len([each async for each in kb.documents.iterate(await kb.reader(["staff"]))]) == 1
