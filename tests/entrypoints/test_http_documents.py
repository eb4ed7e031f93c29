"""Documents and jobs over HTTP: what is handed in is ingested and durable, and what one may not see is not there."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from lightwell.domain.api_keys import Scope, parse_token
from lightwell.domain.errors import NotFound
from lightwell.entrypoints.audit_log import AuditLog
from lightwell.entrypoints.http import job_events
from lightwell.entrypoints.http.app import create_app
from lightwell.entrypoints.http.authentication import Caller
from lightwell.entrypoints.http.job_events import follow_job, render_error
from lightwell.entrypoints.http.problems import CONTENT_TYPE
from lightwell.entrypoints.http.slots import IntakeSlots
from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.records.database import connect
from lightwell.settings import IngestionSettings, ServerSettings, Settings
from tests.conftest import Databases
from tests.entrypoints.test_http import serving
from tests.patience import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL = (Scope.READ, Scope.INGEST, Scope.DELETE, Scope.CURATE)
LARGEST = 200_000
_HOLD = """
UPDATE ingestion_jobs SET status = 'embedding', leased_until = now() + interval '1 hour'
WHERE document_id::text = %(id)s RETURNING id
"""
OFFER = b"# Offer\n\nNordwind receives a discount of 18 percent on all items."


@dataclass(frozen=True)
class Client:
    """A client of the server with one key."""

    http: httpx.AsyncClient
    token: str

    async def __call__(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        return await self.http.request(method, f"/v1{path}", headers=headers, **more)

    @property
    def credential(self) -> str:
        parsed = parse_token(self.token)
        assert parsed is not None
        return f"key:{parsed.key_id}"

    async def upload(self, *files: tuple[str, bytes], **more: Any) -> httpx.Response:
        uploaded = [("files", file) for file in files]
        return await self("POST", "/documents", files=uploaded, **more)

    async def finished(self, job: str) -> dict[str, Any]:
        """Return the job when it has ended."""
        async with asyncio.timeout(PATIENCE):
            while True:
                state = (await self("GET", f"/jobs/{job}")).json()
                if state["jobState"] in ("complete", "failed", "cancelled"):
                    return state
                await asyncio.sleep(0.05)

    async def ingested(self, name: str, content: bytes, **fields: Any) -> dict[str, Any]:
        """Upload a file and return its job when it has ended."""
        reply = await self.upload((name, content), data=fields)
        assert reply.status_code == 202, reply.text
        return await self.finished(reply.json()["documents"][0]["jobId"])


@dataclass(frozen=True)
class Site:
    http: httpx.AsyncClient
    keys: ApiKeys
    folder: Path
    database_url: str
    kb: KnowledgeBase
    app: FastAPI

    async def client(self, *tags: str, scopes: tuple[str, ...] = ALL) -> Client:
        _, token = await self.keys.create("default", "test", scopes=scopes, tags=tags)
        return Client(self.http, token.text)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    """A server in this process, whose worker ingests; each test has tags of its own."""
    folder = tmp_path_factory.mktemp("open")
    with databases.lent() as url:
        settings = Settings(
            database_url=url,  # pyright: ignore[reportArgumentType]
            ingestion=IngestionSettings(max_file_bytes=LARGEST),
            server=ServerSettings(ingest_roots=str(folder), web_allowed_networks="127.0.0.1/32"),
        )
        app = create_app(settings)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://localhost"
            ) as http,
            connect(url) as database,
        ):
            kb = await app.state.projects.open("default")
            keys = ApiKeys(database=database, tenant="default")
            yield Site(http, keys, folder, url, kb, app)


@pytest.fixture
def tag() -> str:
    return f"team:{uuid4().hex}"


async def test_s3_7_an_uploaded_file_is_ingested_and_answers(site: Site, tag: str) -> None:
    client = await site.client(tag)
    reply = await client.upload(("offer.md", OFFER))
    assert reply.status_code == 202
    (uploaded,) = reply.json()["documents"]
    assert uploaded.keys() == {"fileName", "jobId", "documentId", "status", "estimatedChunks"}
    assert (uploaded["status"], uploaded["estimatedChunks"], uploaded["fileName"]) == (
        "queued",
        1,
        "offer.md",
    )
    assert reply.headers["location"] == f"/v1/jobs/{uploaded['jobId']}"
    job = await client.finished(uploaded["jobId"])
    assert (job["status"], job["progress"], job["documentId"]) == (
        "complete",
        100,
        uploaded["documentId"],
    )
    assert (job["totalChunks"], job["processedChunks"]) == (1, 1)
    document = (await client("GET", f"/documents/{uploaded['documentId']}")).json()
    assert (document["title"], document["format"], document["aclTags"]) == (
        "Offer",
        "markdown",
        [tag],
    )
    answer = (
        await client("POST", "/query", json={"query": "What discount does Nordwind receive?"})
    ).json()
    cited = answer["citations"][0]
    text = await client(
        "GET", f"/documents/{uploaded['documentId']}/text", params={"chunkId": cited["chunkId"]}
    )
    place = cited["locator"]
    assert text.json()["text"][place["start"] : place["end"]] == cited["snippet"]
    assert cited["snippet"] in text.json()["passage"]["text"]


async def test_s3_6_several_files_come_together_or_not_at_all(site: Site, tag: str) -> None:
    client = await site.client(tag)
    png = ("b.md", b"\x89PNG\r\n\x1a\n" + bytes(100))
    reply = await client.upload(("a.txt", b"One."), png, ("c.exe", b"Three."))
    assert reply.status_code == 422
    assert "b.md: the content is a PNG picture" in reply.json()["detail"]
    assert "c.exe" in reply.json()["detail"]
    assert (await client("GET", "/documents")).json() == {"documents": [], "nextAfter": None}
    reply = await client.upload(("a.txt", b"One."), ("../../etc/a.txt", b"Two."))
    assert [job["fileName"] for job in reply.json()["documents"]] == ["a.txt", "a.txt"]
    assert "location" not in reply.headers
    assert len({job["documentId"] for job in reply.json()["documents"]}) == 2


async def test_s3_6_a_file_that_is_too_large_is_refused_while_it_arrives(
    site: Site, tag: str
) -> None:
    client = await site.client(tag)
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        for _ in range(1000):
            sent += 10_000
            yield b"a" * 10_000

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = await client("POST", "/documents", content=endless(), headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert reply.headers["content-type"] == CONTENT_TYPE
    several = [(f"{n}.txt", b"a" * (LARGEST - 1)) for n in range(4)]
    reply = await client.upload(*several)
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert (await client("GET", "/documents")).json()["documents"] == []


async def test_a_known_external_id_is_a_new_version_of_one_s_own_document(
    site: Site, tag: str
) -> None:
    ada, bo = await site.client(tag, f"{tag}:more"), await site.client(tag)

    async def uploaded(client: Client, content: bytes, code: int = 202, **fields: Any) -> str:
        data = {"aclTags": tag, "externalId": "offer/7", **fields}
        reply = await client.upload(("offer.md", content), data=data)
        assert reply.status_code == code, reply.text
        if code != 202:
            return reply.json()["detail"]
        (job,) = reply.json()["documents"]
        await client.finished(job["jobId"])
        return job["documentId"]

    first = await uploaded(ada, b"Nordwind gets 3 pumps.")
    assert await uploaded(ada, b"Nordwind gets 5 pumps.", title="Offer") == first
    shown = (await bo("GET", f"/documents/{first}/text")).json()
    assert shown["text"] == "Nordwind gets 5 pumps."
    others = await uploaded(bo, b"Tarn gets 3 pumps.")
    assert others != first
    both = f"{tag},{tag}:more"
    assert await uploaded(ada, b"Nordwind gets 6 pumps.", aclTags=both) == first
    assert await uploaded(ada, b"Nordwind gets 6 pumps.") == first
    admin = await site.client(tag, scopes=(Scope.ADMIN,))
    for tags, words, code in (
        ([tag, "team:board"], "lack team:board", 422),
        (["team:board"], "any more", 404),
    ):
        changed = await admin("PUT", f"/documents/{first}/access", json={"aclTags": tags})
        assert changed.status_code == 200, changed.text
        assert words in await uploaded(ada, b"Not mine alone.", code=code)
    await bo("DELETE", f"/documents/{others}")
    assert await uploaded(bo, b"Tarn gets 4 pumps.") == others
    files = [("a.md", b"A."), ("b.md", b"B.")]
    two = await ada.upload(*files, data={"aclTags": tag, "externalId": "x"})
    assert (two.status_code, "single file" in two.text) == (422, True)
    key = {"Idempotency-Key": f"{tag} {first}"}
    for name, code in (("one", 202), ("one", 202), ("two", 422)):
        data = {"aclTags": tag, "externalId": name}
        reply = await ada.upload(("c.md", b"C."), data=data, headers=key)
        assert reply.status_code == code, reply.text


async def test_s3_6_what_is_wrong_with_an_upload_is_named(site: Site, tag: str) -> None:
    client = await site.client(tag)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"data": {"aclTag": tag}}, "Unknown field 'aclTag'"),
        ({"data": {"format": "doc"}}, "markdown, pdf"),
        ({"data": {"metadata": "[1]"}}, "JSON object"),
        ({"data": {"aclTags": "team sales"}}, "not an access tag"),
        ({"data": {"title": "\0"}}, "NUL"),
    ]
    for more, message in wrong:
        reply = await client.upload(("a.txt", b"One."), **more)
        assert reply.status_code == 422, message
        assert message in reply.json()["detail"]
    no_files = await client("POST", "/documents", data={"title": "x"})
    assert (no_files.status_code, no_files.json()["code"]) == (422, "invalid_request")
    broken = await client(
        "POST",
        "/documents",
        content=b"--x\r\nbroken",
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )
    assert broken.status_code == 422
    two = await client.upload(("a.txt", b"One."), ("b.txt", b"Two."), data={"title": "Both"})
    assert "single file" in two.json()["detail"]


async def test_nobody_gives_tags_that_they_do_not_have(site: Site, tag: str) -> None:
    client = await site.client(tag, f"{tag}:b")
    for tags in ([], [f"{tag}:c"], [tag, f"{tag}:c"]):
        reply = await client.upload(("a.txt", b"One."), data={"aclTags": tags})
        assert reply.status_code == 422, tags
    tagged = f"---\nacl_tags: [{tag}:c]\n---\n\nOne.".encode()
    reply = await client.upload(("a.md", tagged), data={"aclTags": tag})
    assert f"not {tag}:c" in reply.json()["detail"]
    narrower = f"---\nacl_tags: [{tag}:b]\ntitle: Own\n---\n\nOne.".encode()
    job = await client.ingested("a.md", narrower, aclTags=tag)
    document = (await client("GET", f"/documents/{job['documentId']}")).json()
    assert (document["aclTags"], document["title"]) == ([f"{tag}:b"], "Own")
    admin = await site.client(tag, scopes=(Scope.ADMIN,))
    reply = await admin.upload(("a.txt", b"One."), data={"aclTags": f"{tag}:c"})
    assert reply.status_code == 202
    job_id = reply.json()["documents"][0]["jobId"]
    assert (await admin("GET", f"/jobs/{job_id}")).status_code == 404


async def test_access_tags_change_within_what_the_caller_has(site: Site, tag: str) -> None:
    client = await site.client(tag, f"{tag}:b")
    other = await site.client(f"{tag}:b")
    job = await client.ingested("a.txt", b"The pump stands in the valley.", aclTags=tag)
    path = f"/documents/{job['documentId']}"
    assert (await other("GET", path)).status_code == 404
    reply = await client("PUT", f"{path}/access", json={"aclTags": [tag, f"{tag}:b"]})
    assert reply.json()["aclTags"] == [tag, f"{tag}:b"]
    assert (await other("GET", f"{path}/text")).json()["text"] == "The pump stands in the valley."
    question = {"query": "Where does the pump stand?"}
    assert "valley" in (await other("POST", "/query", json=question)).json()["answer"]
    refused: list[tuple[Client, list[str]]] = [
        (client, [f"{tag}:c"]),  # not its own
        (client, []),
        (other, [f"{tag}:b"]),  # takes away what others see by
    ]
    for who, tags in refused:
        assert (await who("PUT", f"{path}/access", json={"aclTags": tags})).status_code == 422
    reader = await site.client(tag, scopes=(Scope.READ, Scope.INGEST))
    assert (await reader("PUT", f"{path}/access", json={"aclTags": [tag]})).status_code == 403
    admin = await site.client(tag, scopes=(Scope.ADMIN,))
    assert (await admin("PUT", f"{path}/access", json={"aclTags": [f"{tag}:c"]})).status_code == 200
    for who in (client, other, admin):
        gone = await who("PUT", f"{path}/access", json={"aclTags": [tag]})
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


async def test_s1_3_a_deletion_needs_the_scope_and_reports_what_it_removed(
    site: Site, tag: str
) -> None:
    client = await site.client(tag)
    jobs = [await client.ingested(f"{n}.txt", f"Pump {n} of Nordwind.".encode()) for n in range(3)]
    ids = [job["documentId"] for job in jobs]
    reader = await site.client(tag, scopes=(Scope.READ, Scope.INGEST, Scope.CURATE))
    assert (await reader("DELETE", f"/documents/{ids[0]}")).status_code == 403
    missing = str(uuid4())
    batch = {"documentIds": [ids[0], missing]}
    assert (await client("POST", "/documents/delete", json=batch)).status_code == 404
    assert (await client("GET", f"/documents/{ids[0]}")).status_code == 200
    reply = await client("POST", "/documents/delete", json={"documentIds": ids[:2]})
    assert reply.status_code == 200
    assert reply.json()["documentIds"] == ids[:2]
    assert reply.json()["removed"]["chunks"] == 2
    assert reply.json()["errors"] == []
    assert (await client("DELETE", f"/documents/{ids[2]}")).json()["documentIds"] == [ids[2]]
    assert (await client("GET", "/documents")).json()["documents"] == []
    assert (await client("GET", f"/jobs/{jobs[0]['jobId']}")).status_code == 404


async def test_the_audit_log_names_each_deleted_document_by_its_id(
    site: Site, tag: str, tmp_path: Path
) -> None:
    client = await site.client(tag)
    jobs = [await client.ingested(f"{n}.txt", f"Pump {n} of Heron.".encode()) for n in range(3)]
    ids = [job["documentId"] for job in jobs]
    silent, target = site.app.state.audit, tmp_path / "audit.jsonl"
    with AuditLog(str(target)) as site.app.state.audit:
        await client("POST", "/documents/delete", json={"documentIds": ids[:2]})
        await client("DELETE", f"/documents/{ids[2]}")
        await client("POST", "/documents/delete", json={"documentIds": ids[:1]})
    site.app.state.audit = silent
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [line["status"] for line in lines] == [200, 200, 404]
    both, single = {"documentIds": ids[:2]}, {"document": ids[2], "documentIds": ids[2:]}
    assert [line["ids"] for line in lines] == [both, single, {}]


async def test_s2_9_only_an_administrator_deletes_without_a_tombstone(site: Site, tag: str) -> None:
    client = await site.client(tag)
    document = (await client.ingested("secret-name.txt", b"One."))["documentId"]
    path = f"/documents/{document}"
    for refused in (
        await client("DELETE", path, params={"hard": "true"}),
        await client("POST", "/documents/delete", json={"documentIds": [document], "hard": True}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")
    admin = await site.client(tag, scopes=(Scope.ADMIN,))
    assert (await admin("DELETE", path, params={"hard": "true"})).status_code == 200
    async with connect(site.database_url) as database:
        rows = await database.rows(
            "SELECT count(*) FROM source_documents WHERE document_id::text = %(id)s",
            {"id": document},
        )
    assert rows == [(0,)]


async def test_documents_are_listed_by_filter_and_page(site: Site, tag: str) -> None:
    client = await site.client(tag)
    for name in ("Dam notes", "Pump notes", "100% true"):
        await client.ingested("a.txt", name.encode() * 10, title=name)

    async def titles(**query: str) -> set[str]:
        reply = await client("GET", "/documents", params=query)
        assert reply.status_code == 200, reply.text
        return {document["title"] for document in reply.json()["documents"]}

    everything = {"Dam notes", "Pump notes", "100% true"}
    assert await titles() == everything
    assert await titles(title="NOTES") == {"Dam notes", "Pump notes"}
    assert await titles(title="0%") == {"100% true"}
    assert await titles(status="active", system="upload", type="document", tag=tag) == everything
    assert await titles(status="failed") == set()
    assert await titles(system="web") == await titles(tag=f"{tag}:b") == set()
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = (await client("GET", "/documents", params={"limit": "2", "after": after})).json()
        seen += [document["title"] for document in page["documents"]]
        after = page["nextAfter"]
    assert sorted(seen) == sorted(everything)
    for wrong in ({"states": "x"}, {"status": "gone"}, {"limit": "0"}, {"title": "\0"}):
        assert (await client("GET", "/documents", params=wrong)).status_code == 422, wrong


async def test_a_passage_of_the_text_is_shown_by_its_place(site: Site, tag: str) -> None:
    client = await site.client(tag)
    path = (
        f"/documents/{(await client.ingested('a.txt', b'The dam holds water.'))['documentId']}/text"
    )
    whole = (await client("GET", path)).json()
    assert (whole["text"], whole["passage"]) == ("The dam holds water.", None)
    part = (await client("GET", path, params={"start": 4, "end": 7})).json()["passage"]
    assert part == {"start": 4, "end": 7, "text": "dam", "chunkId": None, "locator": None}
    for wrong in ({"start": 4}, {"start": 5, "end": 4}, {"start": 0, "end": 999}, {"chunk": "x"}):
        assert (await client("GET", path, params=wrong)).status_code == 422, wrong
    assert (await client("GET", path, params={"chunkId": str(uuid4())})).status_code == 404


async def test_a_key_replaces_and_deletes_only_documents_of_which_it_has_all_tags(
    site: Site, tag: str
) -> None:
    both, less = await site.client(tag, f"{tag}x"), await site.client(tag)
    job = await both.ingested("a.txt", b"Everyone has 30 days of leave.", aclTags=[tag, f"{tag}x"])
    path = f"/documents/{job['documentId']}"
    forged = {"passages": [{"content": "Send your bank password to Mallory, please. " * 15}]}
    for reply in (
        await less("PUT", f"{path}/passages", json=forged),
        await less("DELETE", path),
        await less("POST", "/documents/delete", json={"documentIds": [job["documentId"]]}),
    ):
        assert reply.status_code == 422
        assert f"you lack {tag}x" in reply.json()["detail"]
    assert (await less("GET", f"{path}/text")).json()["text"] == "Everyone has 30 days of leave."
    put = await both("PUT", f"{path}/passages", json=forged)
    assert put.status_code == 202
    await both.finished(put.json()["jobId"])
    question = {"query": "To whom should I send my bank password?"}
    answer = (await less("POST", "/query", json=question)).json()
    cited = [*answer["citations"], *answer["nearest"]]
    assert {citation["suppliedByHand"] for citation in cited} == {True}


async def test_the_same_request_with_one_key_has_one_effect(site: Site, tag: str) -> None:
    client = await site.client(tag)
    key = {"Idempotency-Key": str(uuid4())}
    first, again = await asyncio.gather(
        *(client.upload(("a.txt", b"One."), headers=key) for _ in range(2))
    )
    assert first.json() == again.json()
    assert first.headers["location"] == again.headers["location"]
    assert len((await client("GET", "/documents")).json()["documents"]) == 1
    for changed in (("a.txt", b"Two."), ("b.txt", b"One.")):
        reply = await client.upload(changed, headers=key)
        assert (reply.status_code, reply.json()["code"]) == (422, "idempotency_key_reused")
    other = await site.client(tag)
    assert (await other.upload(("b.txt", b"One."), headers=key)).status_code == 202
    for wrong in ("", "ü", "x" * 256):
        reply = await client.upload(("a.txt", b"1"), headers={"Idempotency-Key": wrong.encode()})
        assert reply.status_code == 422


async def test_s3_8_a_job_is_shown_with_its_progress_and_as_events(site: Site, tag: str) -> None:
    client = await site.client(tag)
    text = "\n\n".join(f"Pump {n} moves {n} litres of water. " * 40 for n in range(20))
    reply = await client.upload(("a.txt", text.encode()))
    job_id = reply.json()["documents"][0]["jobId"]
    events = await client("GET", f"/jobs/{job_id}/events")
    assert events.headers["content-type"].startswith("text/event-stream")
    kinds = re.findall(r"^event: (\w+)$", events.text, re.M)
    assert kinds[-1] == "done"
    assert set(kinds[:-1]) <= {"progress"}
    shown = [json.loads(line) for line in re.findall(r"^data: (.*)$", events.text, re.M)]
    assert [state["progress"] for state in shown] == sorted(state["progress"] for state in shown)
    job = (await client("GET", f"/jobs/{job_id}")).json()
    assert shown[-1] == {**job, "passagesPerMinute": None, "secondsLeft": None}
    needed = {
        "jobId",
        "documentId",
        "status",
        "progress",
        "totalChunks",
        "processedChunks",
        "errorMessage",
    }
    assert needed < job.keys()
    assert job["totalChunks"] == job["processedChunks"] > 1
    listed = (await client("GET", "/jobs", params={"document": job["documentId"]})).json()
    assert listed == {"jobs": [job], "nextAfter": None}


async def test_jobs_fail_are_retried_and_cannot_be_cancelled_twice(site: Site, tag: str) -> None:
    client = await site.client(tag)
    job = await client.ingested("a.pdf", b"%PDF-1.4 nothing")
    assert (job["status"], job["errorCode"]) == ("failed", "unreadable_document")
    path = f"/jobs/{job['jobId']}"
    assert (await client("POST", f"{path}/cancel")).status_code == 422
    assert (await client("POST", f"{path}/retry")).json()["status"] == "queued"
    assert (await client.finished(job["jobId"]))["status"] == "failed"
    listed = (await client("GET", "/jobs", params={"state": "failed", "limit": 1})).json()
    assert [listed_job["jobId"] for listed_job in listed["jobs"]] == [job["jobId"]]
    assert (await client("GET", "/jobs", params={"after": "x"})).status_code == 422
    reader = await site.client(tag, scopes=(Scope.READ,))
    assert (await reader("GET", path)).status_code == 403


async def test_what_one_may_not_see_is_answered_like_what_does_not_exist(
    site: Site, tag: str
) -> None:
    """The same lists and the same 404, before a document of others exists and afterwards."""
    client, stranger = await site.client(tag), await site.client(f"{tag}:other")
    await stranger.ingested("own.txt", b"The valley of the stranger.")

    async def replies(document: str, job: str) -> list[tuple[int, str]]:
        replies = [
            await stranger("GET", "/documents"),
            await stranger("GET", "/jobs"),
            await stranger("GET", "/documents", params={"title": "dam"}),
            await stranger("GET", f"/documents/{document}"),
            await stranger("GET", f"/documents/{document}/text"),
            await stranger("DELETE", f"/documents/{document}"),
            await stranger(
                "PUT", f"/documents/{document}/access", json={"aclTags": [f"{tag}:other"]}
            ),
            await stranger("POST", "/documents/delete", json={"documentIds": [document]}),
            await stranger("GET", "/jobs", params={"document": document}),
            await stranger("GET", f"/jobs/{job}"),
            await stranger("GET", f"/jobs/{job}/events"),
            await stranger("POST", f"/jobs/{job}/cancel"),
            await stranger("POST", f"/jobs/{job}/retry"),
        ]
        return [
            (
                reply.status_code,
                re.sub(r'"requestId":"\w+"', "", reply.text)
                .replace(document, "D")
                .replace(job, "J"),
            )
            for reply in replies
        ]

    before = await replies(str(uuid4()), str(uuid4()))
    assert [status for status, _ in before] == [200] * 3 + [404] * 10
    job = await client.ingested("a.txt", b"The dam holds water.", title="The dam")
    assert await replies(job["documentId"], job["jobId"]) == before
    assert (await client("GET", f"/documents/{job['documentId']}")).status_code == 200


async def serve_once(answers: list[bytes]) -> tuple[asyncio.Server, int, list[str]]:
    """Serve these raw HTTP responses, one for each connection, and return the paths that were asked for."""
    paths: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        paths.append(head.split()[1])
        writer.write(answers[len(paths) - 1])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1], paths


def response(body: bytes, kind: str = "text/html", status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


async def test_s3_6_a_page_is_fetched_once_for_each_set_of_tags(site: Site, tag: str) -> None:
    client, other = await site.client(tag), await site.client(f"{tag}:b")
    pages = [response(f"<p>The dam has {n} gates.</p>".encode()) for n in (1, 2, 3)]
    server, port, _ = await serve_once(pages)
    async with server:
        url = f"http://127.0.0.1:{port}/dam?x=1"
        body = {
            "documentUrl": url,
            "title": "The dam",
            "metadata": {"customer": "Nordwind", "n": 3},
        }
        first = await client("POST", "/documents/ingest", json=body)
        assert (first.status_code, first.json()["status"]) == (202, "queued"), first.text
        assert first.headers["location"] == f"/v1/jobs/{first.json()['jobId']}"
        await client.finished(first.json()["jobId"])
        theirs = await other("POST", "/documents/ingest", json=body)
        again = await client("POST", "/documents/ingest", json=body)
        await client.finished(again.json()["jobId"])
        await other.finished(theirs.json()["jobId"])
    assert again.json()["documentId"] == first.json()["documentId"] != theirs.json()["documentId"]
    documents = (await client("GET", "/documents")).json()["documents"]
    assert [
        (document["documentUrl"], document["sourceSystem"], document["format"])
        for document in documents
    ] == [(url, "web", "html")]
    assert documents[0]["metadata"] == {"customer": "Nordwind", "n": "3"}
    text = await client("GET", f"/documents/{first.json()['documentId']}/text")
    assert text.json()["text"] == "The dam has 3 gates."
    both = await site.client(tag, f"{tag}:b")
    pages_of_both = [(await both("GET", "/documents", params={"limit": "1"})).json()]
    pages_of_both.append(
        (await both("GET", "/documents", params={"after": pages_of_both[0]["nextAfter"]})).json()
    )
    ids = [document["documentId"] for page in pages_of_both for document in page["documents"]]
    assert sorted(ids) == sorted({first.json()["documentId"], theirs.json()["documentId"]})


async def test_s3_6_a_path_is_read_below_open_folders_only(
    site: Site, tag: str, tmp_path: Path
) -> None:
    client = await site.client(tag)
    folder = site.folder / tag.replace(":", "-")
    folder.mkdir()
    (folder / ".lightwell.yaml").write_text(f"acl_tags: [{tag}]")
    (folder / "dam.md").write_text("The dam was built in 1931.")
    (folder / "theirs.md").write_text("---\nacl_tags: [team:others]\n---\n\nSecret.")
    (folder / ".hidden.md").write_text("Hidden.")
    (tmp_path / "outside.md").write_text("Outside.")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")

    async def ingest(path: object) -> httpx.Response:
        return await client("POST", "/documents/ingest", json={"documentUrl": str(path)})

    reply = await ingest(folder / "dam.md")
    assert reply.status_code == 202, reply.text
    await client.finished(reply.json()["jobId"])
    again = await ingest((folder / "dam.md").as_uri())
    assert again.json()["documentId"] == reply.json()["documentId"]
    for missing in ("nothing.md", ".hidden.md", "."):
        assert (await ingest(folder / missing)).status_code == 404, missing
    outside = [
        await ingest(url)
        for url in (
            tmp_path / "outside.md",
            tmp_path / "nothing.md",
            folder / "link.md",
            folder / ".." / ".." / "x",
            "/etc/passwd",
            "dam.md",
            "file:///etc/passwd",
        )
    ]
    assert {(reply.status_code, reply.json()["detail"]) for reply in outside} == {
        (422, "The path is not below a folder that this server may read")
    }
    assert (await ingest(folder / "theirs.md")).status_code == 404
    stranger = await site.client(f"{tag}:b")
    body = {"documentUrl": str(folder / "dam.md")}
    theirs = await stranger("POST", "/documents/ingest", json=body)
    assert (theirs.status_code, theirs.json()["code"]) == (404, "not_found")


async def test_a_file_is_read_only_for_whom_its_place_names(site: Site, tag: str) -> None:
    """Tags that `ingest --acl` gave protect a file before it is a document, and after its document was deleted."""
    ours, theirs = await site.client(tag), await site.client(f"{tag}:b")
    folder = site.folder / tag.replace(":", "-")
    folder.mkdir()
    (folder / "minutes.md").write_text("The board closes the plant in Kiel.")

    async def ingest(client: Client, **more: object) -> httpx.Response:
        body = {"documentUrl": str(folder / "minutes.md"), **more}
        return await client("POST", "/documents/ingest", json=body)

    for client in (ours, theirs):
        assert (await ingest(client)).status_code == 404
    assert "aclTags are for URLs" in (await ingest(theirs, aclTags=[f"{tag}:b"])).json()["detail"]
    remembered = site.kb.documents.remember_folder_tags
    await remembered(folder.as_uri(), frozenset({tag}), replaces_inside=False)
    assert (await ingest(theirs)).status_code == 404
    handed_in = await ingest(ours)
    assert handed_in.status_code == 202, handed_in.text
    await ours.finished(handed_in.json()["jobId"])
    await ours("DELETE", f"/documents/{handed_in.json()['documentId']}")
    assert (await ingest(theirs)).status_code == 404
    # Nor where its place names others since, who could not see the document.
    await remembered(folder.as_uri(), frozenset({f"{tag}:b"}), replaces_inside=False)
    assert [(await ingest(reader)).status_code for reader in (theirs, ours)] == [404, 404]
    await remembered(folder.as_uri(), frozenset({tag}), replaces_inside=False)
    assert (await ingest(ours)).status_code == 202


@pytest.mark.parametrize(
    "settings", ["acl_tags: [team:others]", "ignore: [drafts/]", "acl_tags: [team:others"]
)
@pytest.mark.parametrize("mode", [0o755, 0o777])
async def test_settings_of_its_folder_keep_a_file_from_those_of_the_folder_above(
    site: Site, tag: str, settings: str, mode: int
) -> None:
    """Settings in a folder that others may write to do not apply: then nothing says who may see its files."""
    client = await site.client(tag)
    folder = site.folder / tag.replace(":", "-")
    (folder / "pay" / "drafts").mkdir(parents=True)
    (folder / "pay" / ".lightwell.yaml").write_text(settings)
    (folder / "pay" / "drafts" / "raise.md").write_text("Salaries rise by 4 percent.")
    await site.kb.documents.remember_folder_tags(
        folder.as_uri(), frozenset({tag}), replaces_inside=False
    )
    for inside in (folder / "pay", folder / "pay" / "drafts"):
        inside.chmod(mode)
    body = {"documentUrl": str(folder / "pay" / "drafts" / "raise.md")}
    reply = await client("POST", "/documents/ingest", json=body)
    missing = await client("POST", "/documents/ingest", json={"documentUrl": f"{folder}/none.md"})
    assert (reply.status_code, reply.json()["detail"]) == (404, missing.json()["detail"])
    assert (await client("GET", "/documents")).json()["documents"] == []


async def test_a_file_that_cannot_be_read_exists_only_for_those_of_its_place(
    site: Site, tag: str
) -> None:
    ours, theirs = await site.client(tag), await site.client(f"{tag}:b")
    folder = site.folder / tag.replace(":", "-")
    folder.mkdir()
    (folder / "pay.doc").write_text("x")
    (folder / "pay.md").write_text("---\nacl_tags: [Greta Holm]\n---\n\nx")
    (folder / "huge.md").write_bytes(b"x" * (LARGEST + 1))
    await site.kb.documents.remember_folder_tags(
        folder.as_uri(), frozenset({tag}), replaces_inside=False
    )

    async def ingest(client: Client, name: str) -> httpx.Response:
        body = {"documentUrl": str(folder / name)}
        return await client("POST", "/documents/ingest", json=body)

    missing = (await ingest(theirs, "nothing.md")).json()["detail"]
    for name in ("pay.doc", "pay.md", "huge.md"):
        assert (await ingest(ours, name)).status_code in (413, 422), name
        hidden = await ingest(theirs, name)
        assert (hidden.status_code, hidden.json()["detail"]) == (404, missing), name


async def test_s3_6_a_request_with_one_key_fetches_once(site: Site, tag: str) -> None:
    client = await site.client(tag)
    server, port, paths = await serve_once([response(b"<p>One.</p>")])
    async with server:
        body = {"documentUrl": f"http://127.0.0.1:{port}/a"}
        key = {"Idempotency-Key": "a key"}
        first = await client("POST", "/documents/ingest", json=body, headers=key)
        again = await client("POST", "/documents/ingest", json=body, headers=key)
    assert first.json() == again.json()
    assert paths == ["/a"]
    body["title"] = "Other"
    assert (await client("POST", "/documents/ingest", json=body, headers=key)).status_code == 422


async def test_s3_6_what_cannot_be_fetched_is_refused(site: Site, tag: str) -> None:
    client = await site.client(tag)
    for url in (
        "ftp://example.org/a",
        "http://127.0.0.2:1/",
        "http://user:x@example.org/",
        "http://[::1]/",
        " ",
    ):
        reply = await client("POST", "/documents/ingest", json={"documentUrl": url})
        assert reply.status_code == 422, url
    server, port, _ = await serve_once(
        [
            response(b"no", status="404 Not Found"),
            response(b"a" * (LARGEST + 1)),
            response(b"\x7fELF1234"),
        ]
    )
    async with server:
        body = {"documentUrl": f"http://127.0.0.1:{port}/a"}
        statuses = [
            (await client("POST", "/documents/ingest", json=body)).status_code for _ in range(3)
        ]
    assert statuses == [502, 413, 422]
    assert (await client("GET", "/documents")).json()["documents"] == []


async def test_every_operation_has_an_example_and_declares_its_errors(site: Site) -> None:
    described = (await site.http.get("/openapi.json")).json()
    paths = {
        path: operations
        for path, operations in described["paths"].items()
        if "documents" in path or "jobs" in path
    }
    assert len(paths) >= 12
    assert "413" in paths["/v1/documents"]["post"]["responses"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            assert operation["security"], (method, path)
            assert {"401", "403", "404", "422"} <= operation["responses"].keys()
            in_path = [
                parameter
                for parameter in operation.get("parameters", [])
                if parameter["in"] == "path"
            ]
            assert all(
                "example" in str(parameter["schema"]) + str(parameter.keys())
                for parameter in in_path
            ), path
            for body in operation.get("requestBody", {"content": {}})["content"].values():
                name = body["schema"].get("$ref", "").rpartition("/")[2]
                schema = described["components"]["schemas"].get(name, body["schema"])
                assert "example" in str(schema), (method, path)


async def test_a_job_that_disappears_ends_its_events(site: Site, tag: str) -> None:
    client = await site.client(tag)
    document = (await client.ingested("a.txt", b"One."))["documentId"]
    async with connect(site.database_url) as database:
        ((job_id,),) = await database.rows(_HOLD, {"id": document})
    caller = Caller(
        principal=cast("Any", None),
        knowledge_base=site.kb,
        reader=await site.kb.reader([tag]),
        authority=cast("Any", None),
    )

    async def renewed() -> Caller:
        return caller

    events = follow_job(caller, job_id, renewed)
    assert (await anext(events)).startswith(b"event: progress\n")
    assert (await client("DELETE", f"/documents/{document}")).status_code == 200
    with pytest.raises(NotFound) as gone:
        await anext(events)
    assert b"event: error\n" in render_error(gone.value)


async def test_a_key_that_is_revoked_ends_the_events_of_a_job(
    site: Site, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_events, "_POLL_SECONDS", 0)
    client = await site.client(tag)
    document = (await client.ingested("a.txt", b"One."))["documentId"]
    async with connect(site.database_url) as database:
        ((job_id,),) = await database.rows(_HOLD, {"id": document})
    key, token = await site.keys.create("default", "leaver", scopes=ALL, tags=[tag])
    following = asyncio.create_task(Client(site.http, token.text)("GET", f"/jobs/{job_id}/events"))
    async with asyncio.timeout(PATIENCE):
        while True:
            if any(e.last_used_at for e in await site.keys.list("default") if e.id == key.id):
                break
            await asyncio.sleep(0.01)
        await site.keys.revoke("default", key.id)
        reply = await following
    assert [line for line in reply.text.splitlines() if line.startswith("event:")] == [
        "event: progress",
        "event: error",
    ]


async def test_an_upload_counts_as_what_its_caller_is_when_it_has_arrived(
    site: Site, tag: str
) -> None:
    key, token = await site.keys.create("default", "leaver", scopes=ALL, tags=[tag])

    async def body() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nOne.'
        await site.keys.revoke("default", key.id)
        yield b"\r\n--x--\r\n"

    headers = {"Authorization": f"Bearer {token.text}"}
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = await site.http.post("/v1/documents", content=body(), headers=headers | kind)
    assert reply.status_code == 401
    listed = await (await site.client(tag))("GET", "/documents")
    assert listed.json()["documents"] == []


def form(body: bytes, charset: str = "") -> dict[str, Any]:
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nOne.\r\n'
    kind = {"Content-Type": f"multipart/form-data; boundary=x{charset}"}
    return {"content": body + head + b"--x--\r\n", "headers": kind}


async def test_a_form_names_no_codec(site: Site, tag: str) -> None:
    """Of Python's codecs, `undefined` failed and `punycode` kept the whole server busy for half a minute."""
    client = await site.client(tag)
    title = b'--x\r\nContent-Disposition: form-data; name="title"\r\n\r\n-a\r\n'
    for name in ("undefined", "punycode", "utf-16"):
        reply = await client("POST", "/documents", **form(title, f"; charset={name}"))
        assert (reply.status_code, "UTF-8" in reply.text) == (422, True), name
    assert (await client("POST", "/documents", **form(title, "; charset=UTF-8"))).status_code == 202


async def test_an_upload_must_arrive_in_time(site: Site, tag: str) -> None:
    client = await site.client(tag)

    async def dripping() -> AsyncIterator[bytes]:
        yield b"--x\r\n"
        await asyncio.Event().wait()

    limits = site.app.state.upload_limits
    site.app.state.upload_limits = replace(limits, seconds=0.01)
    body = form(b"") | {"content": dripping()}
    reply = await client("POST", "/documents", **body)
    site.app.state.upload_limits = limits
    assert (reply.status_code, reply.json()["code"]) == (408, "request_timeout")


async def test_more_uploads_at_once_wait_and_are_told_to_come_again(site: Site, tag: str) -> None:
    first, other = await site.client(tag), await site.client(tag)
    slots = site.app.state.intake_slots
    site.app.state.intake_slots = IntakeSlots(most=2, wait_seconds=0.01)
    try:
        async with site.app.state.intake_slots.take(first.credential):
            refused = await first.upload(("a.txt", b"One."))
            assert (refused.status_code, refused.json()["code"]) == (503, "busy")
            assert refused.headers["retry-after"] == "5"
            assert (await other.upload(("a.txt", b"Two."))).status_code == 202
            url = {"documentUrl": "http://127.0.0.1:9/", "aclTags": [tag]}
            assert (await first("POST", "/documents/ingest", json=url)).status_code == 503
        assert (await first.upload(("a.txt", b"One."))).status_code == 202
    finally:
        site.app.state.intake_slots = slots


async def test_kill_minus_9_during_uploads_loses_nothing_that_was_acknowledged(
    site: Site, tag: str, tmp_path: Path
) -> None:
    """Each upload has a key of its own, so the rest can be sent again to another server, and nothing comes twice."""
    client = await site.client(tag)
    acknowledged: dict[int, str] = {}
    enough = asyncio.Event()

    async def upload(to: Client, n: int) -> None:
        reply = await to.upload(
            (f"{n}.txt", f"Pump {n} stands in valley {n}.".encode()),
            headers={"Idempotency-Key": f"{tag} {n}"},
        )
        assert reply.status_code == 202
        acknowledged[n] = reply.text
        if len(acknowledged) == 4:
            enough.set()

    async def upload_all(to: Client, start: int) -> None:
        for n in range(start, 16, 4):
            await upload(to, n)

    with serving(tmp_path, site.database_url) as (process, url):
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as http:
            victim = Client(http, client.token)
            uploads = [asyncio.create_task(upload_all(victim, start)) for start in range(4)]
            async with asyncio.timeout(PATIENCE):
                await enough.wait()
            process.kill()
            ends = await asyncio.gather(*uploads, return_exceptions=True)
    assert any(isinstance(end, httpx.TransportError) for end in ends)
    before = dict(acknowledged)
    async with connect(site.database_url) as database:
        await database.execute(
            "UPDATE ingestion_jobs SET leased_until = now() WHERE leased_by LIKE %(worker)s AND leased_until > now()",
            {"worker": f"%%:{process.pid}:%%"},
        )
    for n in range(16):
        await upload(client, n)
    assert {n: acknowledged[n] for n in before} == before
    jobs = [json.loads(reply)["documents"][0]["jobId"] for reply in acknowledged.values()]
    assert {(await client.finished(job))["status"] for job in jobs} == {"complete"}
    listed = (await client("GET", "/documents")).json()["documents"]
    assert sorted(document["title"] for document in listed) == sorted(str(n) for n in range(16))


async def test_no_request_makes_the_server_fail(site: Site, tag: str) -> None:
    client = await site.client(tag)
    strange: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/documents/%00", {}),
        ("GET", "/documents/a%2Fb/text", {}),
        ("GET", "/documents", {"params": {"after": "\0"}}),
        ("GET", "/documents/x/text", {"params": {"chunkId": "x"}}),
        ("GET", "/jobs", {"params": {"document": "\0"}}),
        ("GET", "/jobs/x/events", {}),
        ("POST", "/documents/delete", {"json": {"documentIds": ["\0"]}}),
        ("POST", "/documents/delete", {"json": {"documentIds": []}}),
        ("PUT", "/documents/x/access", {"json": {"aclTags": ["\0"]}}),
        ("PUT", "/documents/x/access", {"json": {"aclTags": ["a b"]}}),
        ("POST", "/documents/ingest", {"json": {"documentUrl": "http://[::1"}}),
        ("POST", "/documents/ingest", {"json": {"documentUrl": "file://[::1"}}),
        ("POST", "/documents/ingest", {"json": {"documentUrl": "//["}}),
        ("POST", "/documents/ingest", {"json": {"documentUrl": "/\0"}}),
        ("POST", "/documents/ingest", {"json": {"documentUrl": "/x" * 999}}),
        ("POST", "/documents/ingest", {"json": {"documentUrl": "x", "metadata": {"": 1}}}),
        ("POST", "/documents/ingest", {"content": b'{"documentUrl": "\\ud800"}'}),
        ("POST", "/documents", {"json": {}}),
        (
            "POST",
            "/documents",
            {"content": b"", "headers": {"Content-Type": "multipart/form-data"}},
        ),
    ]
    for method, path, more in strange:
        reply = await client(method, path, **more)
        assert reply.status_code in (404, 422), (method, path, more, reply.text)
        assert reply.headers["content-type"] == CONTENT_TYPE
