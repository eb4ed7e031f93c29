"""What programs push: who sees it, when it is gone, and what a line that fails costs. One server for all."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, cast

import httpx
import pytest
import pytest_asyncio

from lightwell.domain.access import Reader
from lightwell.domain.api_keys import Scope
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import Invalid, StoreFailed
from lightwell.domain.pushes import PushBatch, PushResult
from lightwell.domain.withdrawals import Act, Withdrawal
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.push import push_items
from lightwell.entrypoints.client import push_calls
from lightwell.entrypoints.client.clients import AsyncClient
from lightwell.entrypoints.http.lines import read_lines
from lightwell.entrypoints.http.push_lines import LineReader
from lightwell.entrypoints.http.pushes import BATCH_LINES
from lightwell.entrypoints.operations.pushes import PushReport
from lightwell.ingest import pushing
from lightwell.ingest.item_sync import SyncRequest
from lightwell.ingest.pushing import Push
from lightwell.knowledge_base.directory import Directory
from lightwell.knowledge_base.pushes import Pushes
from lightwell.records import operations, sources
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADMIN = (Scope.ADMIN,)
NUMBERS = count()


@dataclass(frozen=True)
class Wiki:
    """A push source of its own, with its key."""

    site: Site
    name: str
    key: str

    async def send(self, body: bytes | AsyncIterator[bytes], **query: object) -> httpx.Response:
        return await self.site.client.put(
            f"/v1/sources/{self.name}/items",
            content=body,
            params={name: str(value) for name, value in query.items()},
            headers={"Authorization": f"Bearer {self.key}"},
        )

    async def push(self, *lines: Mapping[str, object], **query: object) -> dict[str, Any]:
        reply = await self.send(ndjson(lines), **query)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def titles(self, person: str) -> list[str]:
        """Return the titles of what a person sees of this source."""
        key = await self.site.key(person=person)
        reply = await self.site.client.get(
            "/v1/documents", headers={"Authorization": f"Bearer {key}"}, params={"limit": 1000}
        )
        assert reply.status_code == 200, reply.text
        return sorted(
            each["title"]
            for each in reply.json()["documents"]
            if each["documentUrl"].startswith(f"push:///{self.name}/")
        )


def ndjson(lines: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def item(id_: str, text: str = "Two pumps.", **more: object) -> dict[str, object]:
    return {"id": id_, "title": id_, "content": text, "allow": {"everyone": True}, **more}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url, {"http.worker": False}) as opened:
            directory = Directory(database=opened.keys.database, project_id=opened.kb.project_id)
            for name in ("ada@halden.example", "bo@halden.example", "cy@tern.example"):
                await directory.create_person(PersonChange(email=name))
            yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def wiki(site: Site) -> Wiki:
    return await new_source(site)


async def new_source(site: Site) -> Wiki:
    name = f"wiki-{next(NUMBERS)}"
    body = {"name": name, "system": "push"}
    made = await site.request("POST", "/v1/sources", scopes=ADMIN, json=body)
    assert made.status_code == 201, made.text
    _, token = await site.keys.create("default", "wiki", scopes=["push"], tags=[], source=name)
    return Wiki(site=site, name=name, key=token.text)


async def test_an_item_is_seen_by_whom_it_allows_until_it_is_deleted(wiki: Wiki) -> None:
    allow = {"people": ["Ada@Halden.example"]}
    report = await wiki.push(item("offer/7", allow=allow, url="https://wiki.example/7"))
    assert (report["inserted"], report["failed"], report["lines"]) == (1, 0, 1)
    await wiki.site.kb.ingestion.finish_jobs()
    assert await wiki.titles("ada@halden.example") == ["offer/7"]
    assert await wiki.titles("bo@halden.example") == []
    report = await wiki.push({"kind": "delete", "id": "offer/7"})
    assert report["deleted"] == 1
    assert await wiki.titles("ada@halden.example") == []


PEOPLE = ("ada@halden.example", "bo@halden.example", "cy@tern.example")


async def who_sees(wiki: Wiki, title: str) -> list[str]:
    return [person for person in PEOPLE if title in await wiki.titles(person)]


async def test_people_groups_domains_and_everyone_are_allowed_and_else_nobody(wiki: Wiki) -> None:
    ada, bo, cy = PEOPLE
    allowed: dict[str, tuple[dict[str, object], list[str]]] = {
        "people": ({"people": [ada, cy]}, [ada, cy]),
        "domain": ({"domains": ["HALDEN.example"]}, [ada, bo]),
        "everyone": ({"everyone": True}, [ada, bo, cy]),
        "group": ({"groups": ["Sales, north: 1"]}, [bo]),
        "two": ({"groups": ["sales"], "people": [ada]}, [ada, cy]),
        "nobody": ({}, []),
        "empty group": ({"groups": ["unknown"]}, []),
    }
    await wiki.push(
        {"kind": "group", "id": "Sales, north: 1", "members": [bo]},
        {"kind": "group", "id": "sales", "members": [cy, "nobody.here@halden.example"]},
        *(item(name, allow=allow) for name, (allow, _) in allowed.items()),
    )
    for name, (_, people) in allowed.items():
        assert await who_sees(wiki, name) == people, name


async def test_a_change_of_members_or_of_the_directory_holds_at_once(wiki: Wiki) -> None:
    ada, bo, cy = PEOPLE
    await wiki.push(
        item("a", allow={"groups": ["team"]}), {"kind": "group", "id": "team", "members": [ada, bo]}
    )
    assert await who_sees(wiki, "a") == [ada, bo]
    assert (await wiki.push({"kind": "group", "id": "team", "members": [cy]}))["groups"] == 1
    assert await who_sees(wiki, "a") == [cy]
    await wiki.push({"kind": "group", "id": "team", "version": 2, "members": [bo]})
    late = await wiki.push({"kind": "group", "id": "team", "version": 1, "members": [ada]})
    assert (late["outdated"], late["groups"]) == (1, 0)
    assert await who_sees(wiki, "a") == [bo]
    await wiki.push({"kind": "group", "id": "team", "version": 3, "members": []})
    assert await who_sees(wiki, "a") == []
    await wiki.push(
        item("b", allow={"domains": ["late.example"]}),
        item("c", allow={"people": ["dee@late.example"]}),
    )
    site = wiki.site
    directory = Directory(database=site.keys.database, project_id=site.kb.project_id)
    dee = await directory.create_person(PersonChange(email="dee@late.example"))
    assert await wiki.titles(f"{dee.id}") == ["b", "c"]
    await directory.change_person(str(dee.id), PersonChange(email="dee@elsewhere.example"))
    assert await wiki.titles(f"{dee.id}") == []


async def test_access_follows_each_push_though_the_text_is_the_same(wiki: Wiki) -> None:
    ada, bo, _ = PEOPLE
    await wiki.push(item("a", allow={"people": [ada]}, version=1))
    changed = await wiki.push(item("a", allow={"people": [bo]}, version=1))
    assert (changed["updated"], changed["unchanged"]) == (1, 0)
    assert await who_sees(wiki, "a") == [bo]
    await wiki.push(item("a", allow={}, version=2))
    assert await who_sees(wiki, "a") == []


async def test_a_source_that_is_pushed_into_is_never_read(site: Site, wiki: Wiki) -> None:
    database, project_id = site.keys.database, site.kb.project_id
    assert wiki.name not in [source.name for source in await sources.list_due(database, project_id)]
    await database.execute("UPDATE sources SET next_sync_at = now() - interval '1 day'", {})
    assert (await operations.sources(database)).overdue_seconds == 0
    for act in (
        site.kb.sources.request_sync(wiki.name),
        site.kb.sources.sync(wiki.name, SyncRequest()),
    ):
        with pytest.raises(Invalid, match="nothing to read"):
            await act
    await site.kb.sources.pause(wiki.name)
    assert "paused" in (await wiki.send(ndjson([item("a")]))).json()["detail"]
    await site.kb.sources.resume(wiki.name)
    assert (await wiki.push(item("a")))["inserted"] == 1


async def test_what_was_stored_before_a_break_stays(wiki: Wiki) -> None:
    """A connection that ends in the middle of a line stores whole batches; all again adds the rest."""
    lines = [ndjson([item(f"{number}")]) for number in range(150)]

    async def broken() -> AsyncIterator[bytes]:
        for line in lines[:-1]:
            yield line
        yield lines[-1][:10]
        raise ConnectionError

    assert (await wiki.send(broken())).status_code == 500  # which nobody is there to read
    (run,) = (await wiki.site.kb.sources.show(wiki.name)).runs
    assert (run.error, run.counts.inserted) == ("the push was broken off", 100)
    report = (await wiki.send(b"".join(lines))).json()
    assert (report["unchanged"], report["inserted"]) == (100, 50)


async def test_pushes_into_one_source_take_turns(wiki: Wiki) -> None:
    """Two at once store all that they bring, whatever the order of their batches."""
    lines = [[item(f"{half} {number}") for number in range(150)] for half in "ab"]
    reports = await asyncio.gather(*(wiki.push(*half) for half in lines))
    assert [report["inserted"] for report in reports] == [150, 150]
    shown = await wiki.site.kb.sources.show(wiki.name)
    assert [(run.state, run.error, run.counts.inserted) for run in shown.runs] == [
        ("complete", "", 150)
    ] * 2


async def test_what_a_push_takes_from_readers_outlives_a_restored_backup(wiki: Wiki) -> None:
    ada, bo, _ = PEOPLE
    await wiki.push(item("a"), item("b", allow={"people": [ada, bo]}), item("c"), item("d"))
    noted: list[Withdrawal] = []
    context = wiki.site.kb.pushes.context
    pushes = Pushes(context=replace(context, note_withdrawals=noted.extend))
    source = await pushes.find_source(wiki.name)
    reader = LineReader(source_name=wiki.name, max_bytes=1000)
    changed = (
        {"kind": "delete", "id": "a"},
        item("b", allow={"people": [ada]}),
        item("c", "Three pumps.", allow={}),
        item("d", "Four pumps."),
    )
    lines = [reader.read(1, json.dumps(line).encode()) for line in changed]
    async with pushes.open(source) as push:
        await pushes.store(push, PushBatch(lines=cast("Any", tuple(lines))))
    acts = sorted((withdrawal.act, len(withdrawal.tag_hashes)) for withdrawal in noted)
    assert acts == [(Act.DELETED, 0), (Act.RETAGGED, 0), (Act.RETAGGED, 1)]


async def test_the_key_of_a_source_pushes_there_and_does_nothing_else(
    site: Site, wiki: Wiki
) -> None:
    other = await new_source(site)
    await other.push(item("x", allow={}))
    line = ndjson([item("y")])
    own = {"Authorization": f"Bearer {wiki.key}"}
    refusals = [
        await site.client.put(f"/v1/sources/{name}/items", content=line, headers=own)
        for name in (other.name, "never-was", "3f0f6b7e-0000-7000-8000-000000000000")
    ]
    assert {reply.status_code for reply in refusals} == {404}
    assert len({reply.json()["detail"] for reply in refusals}) == 1
    for method, path in (
        ("GET", "/v1/documents"),
        ("POST", "/v1/search"),
        ("POST", "/v1/query"),
        ("POST", "/v1/documents"),
        ("GET", "/v1/sources"),
        ("GET", f"/v1/sources/{wiki.name}"),
        ("GET", "/v1/admin/keys"),
        ("GET", "/v1/graph/entities"),
    ):
        body = {"query": "pumps?"} if method == "POST" else None
        reply = await site.client.request(method, path, json=body, headers=own)
        assert reply.status_code == 403, (method, path, reply.text)
    reader = await site.request("PUT", f"/v1/sources/{wiki.name}/items", "team:a", content=line)
    assert reader.status_code == 403
    admin = await site.request("PUT", f"/v1/sources/{wiki.name}/items", scopes=ADMIN, content=line)
    assert admin.json()["inserted"] == 1
    removed = await site.request("DELETE", f"/v1/sources/{wiki.name}", scopes=ADMIN)
    assert removed.status_code == 204, removed.text
    assert (await wiki.send(line)).status_code == 401


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"scopes": ["push"]}, "name it"),
        ({"scopes": ["push", "read"], "source": "SOURCE"}, "nothing else"),
        ({"scopes": ["push"], "source": "SOURCE", "aclTags": ["team:a"]}, "nothing else"),
        ({"scopes": ["push"], "source": "SOURCE", "person": PEOPLE[0]}, "nothing else"),
        ({"scopes": ["push"], "source": "never-was"}, "no source"),
    ],
)
async def test_no_key_pushes_and_does_more(
    wiki: Wiki, body: dict[str, object], message: str
) -> None:
    filled = {"name": "key", **body} | ({"source": wiki.name} if "SOURCE" in body.values() else {})
    reply = await wiki.site.request("POST", "/v1/admin/keys", scopes=ADMIN, json=filled)
    assert reply.status_code in (404, 422)
    assert message in reply.json()["detail"]


async def test_again_or_late_changes_nothing(wiki: Wiki) -> None:
    lines = [item("a", "One.", version=7), item("b", "Two.")]
    assert (await wiki.push(*lines))["inserted"] == 2
    assert (await wiki.push(*lines))["unchanged"] == 2
    late = await wiki.push(
        item("a", "Older.", version=6), {"kind": "delete", "id": "a", "version": 3}
    )
    assert (late["outdated"], late["updated"], late["deleted"]) == (2, 0, 0)
    assert (await wiki.push(item("a", "Newer.", version=8)))["updated"] == 1
    gone = await wiki.push({"kind": "delete", "id": "a", "version": 9})
    assert gone["deleted"] == 1
    assert (await wiki.push(item("a", "Newer.", version=8)))["outdated"] == 1
    before = await wiki.push({"kind": "delete", "id": "c", "version": 4}, item("c", version=3))
    assert (before["outdated"], before["inserted"], before["deleted"]) == (1, 0, 0)
    assert await wiki.titles(PEOPLE[0]) == ["b"]


async def test_a_sync_of_everything_removes_what_it_does_not_name(wiki: Wiki) -> None:
    complete = {"kind": "complete"}
    everything = [item(f"{number:02}") for number in range(60)]
    await wiki.push(*everything)
    first = await wiki.push(*everything[:20], sync="monday")
    assert first["deleted"] == 0
    await wiki.push(item("meanwhile"))  # by somebody else, after the listing was made
    bad = {"id": "59", "title": 5}
    last = await wiki.push(*everything[20:55], bad, complete, sync="monday")
    assert (last["deleted"], last["failed"], last["warning"]) == (4, 1, "")
    titles = await wiki.titles(PEOPLE[0])
    assert titles == [*(f"{number:02}" for number in range(55)), "59", "meanwhile"]
    again = await wiki.push(complete, sync="monday")
    assert again["deleted"] == 0
    assert "ended before" in again["warning"]
    unread = await wiki.send(
        ndjson(everything[:54]) + b"{nothing\n" + ndjson([complete]), sync="tuesday"
    )
    assert "could not be read" in unread.json()["warning"]
    assert len(await wiki.titles(PEOPLE[0])) == 57
    refused = await wiki.push(*everything[:3], complete, sync="wednesday")
    assert refused["deleted"] == 0
    assert "54 of 57 items" in refused["warning"]
    allowed = await wiki.push(complete, sync="wednesday", allowMassDeletion=True)
    assert (allowed["deleted"], allowed["warning"]) == (54, "")
    assert await wiki.titles(PEOPLE[0]) == ["00", "01", "02"]
    nameless = await wiki.push(complete)
    assert (nameless["deleted"], nameless["failures"][0]["line"]) == (0, 1)


HOSTILE: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xfe{}", "JSON"),
    (b'{"id": "a", "content": "\xc3("}', "JSON"),
    (b"[" * 100_000, "JSON"),
    (b"[1, 2]", "the line: it is no object of the kind item, "),
    (b'"id"', "the line"),
    (b'{"content": "x"}', "id"),
    (b'{"id": 5, "content": "x"}', "id"),
    (b'{"id": "", "content": "x"}', "id"),
    (b'{"id": "a\\u0000b", "content": "x"}', "id"),
    (b'{"id": "a\\nb", "content": "x"}', "id"),
    (b'{"id": "\\ud800", "content": "x"}', ""),
    (b'{"id": "' + b"a" * 5000 + b'", "content": "x"}', "id"),
    (b'{"id": "a", "content": ["x"]}', "content"),
    (b'{"id": "a"}', "content or file"),
    (b'{"id": "a", "content": "x", "file": "eA=="}', "content or file"),
    (b'{"id": "a", "file": "no base64!"}', "Base64"),
    (b'{"id": "a", "file": "AAAA", "fileName": "a.png"}', ""),
    (b'{"id": "a", "content": "x", "version": -1}', "version"),
    (b'{"id": "a", "content": "x", "version": 1e400}', ""),
    (b'{"id": "a", "content": "x", "version": ' + b"9" * 400 + b"}", "version"),
    (b'{"id": "a", "content": "x", "version": "new"}', "version"),
    (b'{"id": "a", "content": "x", "allow": "everyone"}', "allow"),
    (b'{"id": "a", "content": "x", "allow": {"people": ["nobody"]}}', "e-mail"),
    (
        b'{"id": "a", "content": "x", "allow": {"people": ["\xd0\xb0da@halden.example", ""]}}',
        "e-mail",
    ),
    (b'{"id": "a", "content": "x", "allow": {"domains": ["*"]}}', "domain"),
    (b'{"id": "a", "content": "x", "allow": {"tags": ["team:board"]}}', "allow.tags"),
    (b'{"id": "a", "content": "x", "aclTags": ["team:board"]}', "aclTags"),
    (b'{"id": "a", "content": "x", "url": "javascript:alert(1)"}', "url"),
    (b'{"id": "a", "content": "x", "url": "https://u:p@x.example/"}', "url"),
    (b'{"id": "a", "content": "x", "createdAt": "soon"}', "createdAt"),
    (b'{"id": "a", "content": "x", "metadata": {"k": "' + b"v" * 3000 + b'"}}', "metadata"),
    (b'{"id": "a", "content": "x", "metadata": {"k": "\\u0000"}}', "metadata"),
    (b'{"id": "a", "content": "x", "kind": "person"}', ""),
    (b'{"id": "a", "content": "x", "kind": ["item"]}', "kind item, "),
    (b'{"id": "a", "kind": "' + b"k" * 5000 + b'"}', "kind item, "),
    (b'{"id": "a", "content": "x", "' + b"k" * 5000 + b'": 1}', "no such field"),
    (b'{"id": "a", "content": "x", "allow": {"' + b"k" * 5000 + b'": 1}}', "allow.kkk"),
    (b'{"id": "a", "content": "x", "author": {"email": "\\u0000"}}', "author"),
    (b'{"id": "a", "content": "x", "title": "\\u0000"}', "title"),
    (b'{"kind": "keep", "id": ""}', "id"),
    (b'{"kind": "group", "id": "g", "members": [5]}', "members"),
    (b'{"kind": "group", "id": "' + b"g" * 300 + b'"}', "150"),
)


async def test_a_hostile_line_fails_alone_with_its_number(wiki: Wiki) -> None:
    good = [item(f"good {number}") for number in range(len(HOSTILE) + 1)]
    body = ndjson(good[:1]) + b"".join(
        line + b"\n\n" + ndjson([after]) for (line, _), after in zip(HOSTILE, good[1:], strict=True)
    )
    report = (await wiki.send(body)).json()
    assert (report["inserted"], report["failed"]) == (len(good), len(HOSTILE))
    for number, (failure, (line, message)) in enumerate(
        zip(report["failures"], HOSTILE, strict=True)
    ):
        assert failure["line"] == 2 + 3 * number, (line[:60], failure)
        assert message.lower() in failure["message"].lower(), (line[:60], failure)
        assert len(failure["message"]) < 500
    assert len(await wiki.titles(PEOPLE[0])) == len(good)


async def test_who_sees_an_item_does_not_learn_the_addresses_of_others(wiki: Wiki) -> None:
    await wiki.push(item("shared", allow={"people": PEOPLE[:2]}))
    key = await wiki.site.key(person=PEOPLE[0])
    shown = {"Authorization": f"Bearer {key}"}
    listed = await wiki.site.client.get("/v1/documents", headers=shown, params={"limit": 1000})
    (shared,) = (
        each
        for each in listed.json()["documents"]
        if each["documentUrl"] == f"push:///{wiki.name}/shared"
    )
    path = f"/v1/documents/{shared['documentId']}/audience"
    audience = await wiki.site.client.get(path, headers=shown)
    assert (audience.status_code, audience.json()["people"]) == (200, 2)
    assert PEOPLE[1] not in listed.text + audience.text


async def test_a_date_at_the_end_of_the_calendar_is_none_and_breaks_no_push(wiki: Wiki) -> None:
    early, late = "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"
    report = await wiki.push(item("a", createdAt=early, updatedAt=late), item("b"))
    assert (report["inserted"], report["failed"]) == (2, 0)


async def test_a_document_s_own_front_matter_lets_nobody_in(wiki: Wiki) -> None:
    text = "---\nacl_tags: [push:everyone]\ntitle: Board\n---\nSecret pumps.\n"
    report = await wiki.push({"id": "a", "content": text, "allow": {"people": [PEOPLE[0]]}})
    assert report["inserted"] == 1
    assert await who_sees(wiki, "Board") == [PEOPLE[0]]


async def test_a_body_is_stored_as_it_arrives(wiki: Wiki, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is, no more of it is in memory than one batch and the part that just came."""
    sent = stored = most = 0
    line = ndjson([item("a", "x" * 20_000)])

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent, most
        for _ in range(1000):
            sent += len(line)
            most = max(most, sent - stored)
            yield line

    async def store(self: Pushes, push: Push, batch: PushBatch) -> PushResult:
        nonlocal stored
        stored += len(batch.lines) * len(line)
        return PushResult()

    monkeypatch.setattr(Pushes, "store", store)
    report = (await wiki.send(body())).json()
    assert (report["lines"], stored) == (1000, 1000 * len(line))
    assert most <= BATCH_LINES * len(line)


async def test_a_long_line_is_thrown_away_as_it_arrives() -> None:
    async def body() -> AsyncIterator[bytes]:
        for part in (b"{}\n[", *[b"x" * 10] * 50, b"]\n{}"):
            yield part

    lines = [line async for line in read_lines(body(), max_bytes=100)]
    assert lines == [(1, b"{}"), (2, None), (3, b"{}")]


async def test_what_is_pushed_tells_nothing_of_what_others_have(site: Site, wiki: Wiki) -> None:
    """The same push into a project with a document of the same id, address and title gets the same reply."""
    line = item("page", "Two pumps.", url="https://wiki.example/page")
    other = await new_source(site)
    alone = await wiki.push(line, {"kind": "delete", "id": "gone"})
    assert await other.push(line, {"kind": "delete", "id": "gone"}) == alone


async def test_nothing_is_left_of_the_id_of_an_erased_item(site: Site, wiki: Wiki) -> None:
    await wiki.push(item("Project Falcon", version=3))
    await site.kb.ingestion.finish_jobs()
    reader = await site_reader(site, PEOPLE[0])
    await site.kb.documents.erase(reader, [f"push:item:{wiki.name}/Project Falcon"])
    for table in ("pushed_items", "source_documents", "item_fetches"):
        rows = await site.keys.database.rows(f"SELECT {table}::text FROM {table}", {})
        assert not [row for (row,) in rows if "Falcon" in row], table


async def test_what_is_kept_is_not_removed_and_not_sent_again(wiki: Wiki) -> None:
    await wiki.push(item("a"), item("b"), item("c"))
    kept = {"kind": "keep", "id": "a"}
    report = await wiki.push(kept, item("b"), {"kind": "complete"}, sync="monday")
    assert (report["lines"], report["unchanged"], report["deleted"]) == (2, 1, 1)
    assert await wiki.titles(PEOPLE[0]) == ["a", "b"]


@pytest.fixture
def here(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients of this process reach the site."""
    make = httpx.AsyncClient

    def open_here(**more: Any) -> httpx.AsyncClient:
        return make(transport=httpx.ASGITransport(site.app), **more)

    monkeypatch.setattr(httpx, "AsyncClient", open_here)


@pytest.mark.usefixtures("here")
async def test_a_client_pushes_in_parts_and_counts_lines_through(
    wiki: Wiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_calls, "_PART_LINES", 10)
    lines: list[Mapping[str, object]] = [item(f"{number:02}") for number in range(25)]
    lines[17] = {"id": "17", "title": 17}
    seen: list[int] = []
    async with AsyncClient("http://localhost", api_key=wiki.key) as client:
        report = await client.push(
            wiki.name, lines, everything=True, progress=lambda report: seen.append(report.lines)
        )
        assert (report.lines, report.inserted, seen) == (25, 24, [10, 20, 25])
        assert [(failure.line, failure.id) for failure in report.failures] == [(18, "17")]

        async def later() -> AsyncIterator[str]:
            for line in lines[:20]:
                yield json.dumps(line)

        again = await client.push(wiki.name, later(), everything=True)
        assert (again.unchanged, again.deleted, again.warning) == (19, 5, "")
        none = await client.push(wiki.name, [])
    assert none == push_calls.NOTHING_PUSHED


@pytest.mark.usefixtures("here")
async def test_a_folder_is_pushed_from_a_shell(
    wiki: Wiki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTWELL_API_KEY", wiki.key)
    (tmp_path / "pumps").mkdir()
    (tmp_path / "pumps" / "a b.md").write_text("# Pumps\n\nNordwind ordered two pumps.\n")
    (tmp_path / "note.txt").write_text("Bo paints boats.")
    monkeypatch.setattr("lightwell.entrypoints.cli.push._LARGEST_IN_LINE", 30)
    (tmp_path / "kept.md").write_text("This was read once.")

    async def push(path: Path, code: Exit, **options: Any) -> PushReport:
        work = push_items(str(path), source=wiki.name, server="http://localhost", **options)
        report = await work
        assert report.code is code
        assert isinstance(report.document, PushReport)
        return report.document

    whole: dict[str, Any] = {"allow": ["@halden.example"], "everything": True}
    first = await push(tmp_path, Exit.FINE, **whole)
    assert (first.inserted, first.failed) == (3, 0)
    reader = await site_reader(wiki.site, PEOPLE[0])
    named = f"push:item:{wiki.name}/pumps/a b.md"
    await wiki.site.kb.ingestion.finish_jobs()
    assert (await wiki.site.kb.documents.get(reader, named)).title == "Pumps"
    (tmp_path / "note.txt").unlink()
    (tmp_path / "kept.md").write_text("---\nacl_tags: 5\n---\nWhat cannot be read is not removed.")
    again = await push(tmp_path, Exit.FINE, **whole)
    assert (again.unchanged, again.deleted) == (1, 1)
    (tmp_path / "pumps" / ".lightwell.yaml").write_text("acl_tags: 5")
    (tmp_path / "kept.md").unlink()
    broken = await push(tmp_path, Exit.INCOMPLETE, **whole)
    assert broken.deleted == 0
    assert broken.warning.startswith("pumps cannot be read, so nothing was removed")
    lines = tmp_path / "items.ndjson"
    lines.write_bytes(b"\n" + ndjson([item("x"), item("y")]) + b"nothing")
    report = await push(lines, Exit.INCOMPLETE, skip=1)
    assert (report.inserted, report.failures[0].line) == (1, 2)
    # Lines that a program writes end where it breaks off, too.
    with pytest.raises(Invalid, match="let it write a file"):
        await push(Path("-"), Exit.FINE, everything=True)


async def site_reader(site: Site, person: str) -> Reader:
    directory = Directory(database=site.keys.database, project_id=site.kb.project_id)
    return await site.kb.reader((await directory.get_person(person)).tags)


async def test_an_item_comes_with_its_file(wiki: Wiki) -> None:
    async def put(item: object, *files: bytes) -> httpx.Response:
        return await wiki.site.client.put(
            f"/v1/sources/{wiki.name}/items/file",
            data={"item": json.dumps(item)},
            files=[("files", ("osprey.txt", content)) for content in files] or {"x": b"x"},
            headers={"Authorization": f"Bearer {wiki.key}"},
        )

    line = {"id": "osprey", "title": "Osprey", "allow": {"everyone": True}}
    stored = await put(line, b"Osprey Plant has 24 pumps.")
    assert stored.json()["inserted"] == 1
    assert (await put(line, b"Osprey Plant has 24 pumps.")).json()["unchanged"] == 1
    assert await who_sees(wiki, "Osprey") == [*PEOPLE]
    for wrong, files in (
        (line, ()),
        (line, (b"x", b"y")),
        ({**line, "content": "x"}, (b"x",)),
        ({"id": 5}, (b"x",)),
        ({**line, "allow": {"people": ["x"]}}, (b"x",)),
        ({**line, "fileName": "osprey.png"}, (b"x",)),
    ):
        assert (await put(wrong, *files)).status_code == 422, wrong
    other = await new_source(wiki.site)
    reply = await wiki.site.client.put(
        f"/v1/sources/{other.name}/items/file",
        data={"item": json.dumps(line)},
        files=[("files", ("osprey.txt", b"x"))],
        headers={"Authorization": f"Bearer {wiki.key}"},
    )
    assert reply.status_code == 404


STATE = """
SELECT source_id, content_hash, acl_tags, is_deleted FROM source_documents
WHERE source_key = %(source)s AND NOT is_deleted ORDER BY 1
"""
MEMBERS = """
SELECT acl_tags[1], ARRAY(SELECT address FROM group_addresses WHERE group_id = of_group.group_id ORDER BY 1)
FROM directory_groups AS of_group WHERE source_key = %(source)s AND acl_tags[1] LIKE '%%:group:%%' ORDER BY 1
"""


async def state_of(wiki: Wiki) -> object:
    """Return what is stored of a source, without its name."""
    database = wiki.site.keys.database
    source = await wiki.site.kb.sources.get(wiki.name)
    rows = [await database.rows(query, {"source": source.id}) for query in (STATE, MEMBERS)]
    return json.loads(json.dumps(rows).replace(wiki.name, "NAME"))


def random_line(random: Random, name: str) -> dict[str, object]:
    """Return a state of an item or of a group."""
    members = random.sample(PEOPLE, random.randint(0, 3))
    if name.startswith("group"):
        return {"kind": "group", "id": name, "members": members}
    if random.random() < 0.3:
        return {"kind": "delete", "id": name}
    allow = {
        "people": members,
        "groups": random.sample(["group 1", "group 2"], random.randint(0, 2)),
    }
    return item(name, random.choice(["One.", "Two."]), allow=allow)


async def deliver(
    wiki: Wiki, random: Random, lines: list[dict[str, object]], patch: pytest.MonkeyPatch
) -> None:
    """Push the lines in batches; some batches break off before or behind their transactions, and are repeated later."""
    pushes, store = wiki.site.kb.pushes, pushing.store_page
    reader = LineReader(source_name=wiki.name, max_bytes=1000)
    source = await pushes.find_source(wiki.name)
    waiting = [*lines]
    while waiting:
        size = random.randint(1, 8)
        batch, waiting = waiting[:size], waiting[size:]
        parsed = [reader.read(1, json.dumps(line).encode()) for line in batch]
        breaks = random.choice(["", "", "before", "behind"])

        async def broken(*arguments: Any, way: str = breaks) -> Any:
            if way == "before":
                raise StoreFailed("broken")
            stored = await store(*arguments)
            if way == "behind":
                raise StoreFailed("broken")
            return stored

        patch.setattr(pushing, "store_page", broken)
        try:
            async with pushes.open(source) as push:
                await pushes.store(push, PushBatch(lines=cast("Any", tuple(parsed))))
        except StoreFailed:
            waiting = [*batch, *waiting]  # it was not acknowledged
            if all("version" in line for line in lines):
                random.shuffle(waiting)
    patch.setattr(pushing, "store_page", store)


@pytest.mark.parametrize("seed", range(6))
async def test_any_order_repetition_and_break_ends_as_the_last_versions_alone(
    site: Site, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    names = ["a", "b/c", "d e", "f", "group 1", "group 2"]
    histories = {name: [random_line(random, name) for _ in range(4)] for name in names}
    last = [history[-1] for history in histories.values()]
    alone, late, in_order = [await new_source(site) for _ in range(3)]
    await alone.push(*last)
    versioned = [
        {**line, "version": version}
        for history in histories.values()
        for version, line in enumerate(history)
    ]
    repeated = [*versioned, *random.choices(versioned, k=10)]
    random.shuffle(repeated)
    await deliver(late, random, repeated, monkeypatch)
    assert await state_of(late) == await state_of(alone)
    rounds = [history[version] for version in range(4) for history in histories.values()]
    await deliver(in_order, random, [*rounds[: random.randint(0, 24)], *rounds], monkeypatch)
    assert await state_of(in_order) == await state_of(alone)
