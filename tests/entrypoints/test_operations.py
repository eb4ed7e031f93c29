"""Operating a server: metrics, readiness, request ids in the log, backups."""

import io
import re
import stat
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psycopg
import pytest
import pytest_asyncio
import structlog
from fastapi import FastAPI
from psycopg import conninfo
from pydantic import SecretStr

from lightwell.domain.access import TagAuthority
from lightwell.domain.api_keys import Scope
from lightwell.domain.channels import Account, Bot, Chat, Platform, Text, Update
from lightwell.domain.directory import PersonChange
from lightwell.domain.documents import UPLOAD
from lightwell.domain.errors import Invalid, ModelFailed, StoreFailed
from lightwell.entrypoints.http.app import create_app
from lightwell.entrypoints.http.health import ReadinessCheck
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.knowledge_base.channel_accounts import OwnAccounts, note_bot
from lightwell.knowledge_base.directory import Directory
from lightwell.knowledge_base.invitations import SignInLinks
from lightwell.knowledge_base.principals import Principals
from lightwell.knowledge_base.web_sessions import WebSessions
from lightwell.logs import logger
from lightwell.records import channel_updates
from lightwell.records.database import connect, has_schema, try_migrations
from lightwell.settings import ChatSettings, ServerSettings, Settings
from lightwell.testing.endpoint import FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from lightwell.wiring.backups import back_up, restore
from tests.conftest import Databases

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISCOUNT = "Nordwind receives a discount of 18 percent on all items."
QUESTION = {"query": "What discount does Nordwind receive?"}
TOKEN = "monitoring-token"  # noqa: S105


@dataclass(frozen=True)
class Site:
    app: FastAPI
    url: str
    client: httpx.AsyncClient

    async def headers(self, scope: Scope, project: str = "default") -> dict[str, str]:
        keys = self.app.state.projects.keys
        _, token = await keys.create(project, "test", scopes=(scope,), tags=("team:sales",))
        return {"Authorization": f"Bearer {token.text}"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    model = FakeEndpoint()
    with databases.lent() as url, model.running() as endpoint:
        settings = Settings(
            database_url=url,  # pyright: ignore[reportArgumentType]
            server=ServerSettings(metrics_token=SecretStr(TOKEN)),
            chat=ChatSettings(url=endpoint.base_url, model="fake"),
        )
        app = create_app(settings)
        contract = make_document("contract.md", DISCOUNT, ["team:sales"])
        source = InMemorySource(documents=(replace(contract, system=UPLOAD),))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000"
            ) as client,
        ):
            await (await app.state.projects.open("default")).ingestion.ingest(source)
            yield Site(app=app, url=url, client=client)


async def test_metrics_count_and_name_nothing(site: Site) -> None:
    reading = await site.headers(Scope.READ)
    assert (await site.client.post("/v1/query", json=QUESTION, headers=reading)).status_code == 200
    reply = await site.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert reply.headers["content-type"].startswith("text/plain")
    figures = dict(re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", reply.text, re.M))
    assert float(figures['lightwell_recent_questions{outcome="cited"}']) == 1
    assert float(figures['lightwell_recent_question_seconds{step="total"}']) > 0
    assert float(figures['lightwell_model_calls_total{operation="QUERY"}']) >= 1
    assert float(figures['lightwell_jobs{state="complete"}']) == 1
    assert float(figures["lightwell_queue_age_seconds"]) == 0
    assert float(figures['lightwell_database_connections{state="idle"}']) >= 1
    assert not re.search("Nordwind|sales|contract|default|test", reply.text)


async def test_metrics_are_for_administrators_of_the_server_and_its_monitoring(site: Site) -> None:
    cases: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        (await site.headers(Scope.READ), 403),
        (await site.headers(Scope.ADMIN, "other"), 403),
        (await site.headers(Scope.ADMIN), 200),
    ]
    for headers, status in cases:
        assert (await site.client.get("/metrics", headers=headers)).status_code == status


async def test_readiness_names_the_component_that_fails(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = {"database": "ok", "migrations": "ok", "embedder": "ok", "disk": "ok"}
    reply = await site.client.get("/health/ready")
    assert (reply.status_code, reply.json()["components"]) == (200, works)
    check: ReadinessCheck = site.app.state.readiness

    async def refuse(_embedder: object, _text: str) -> None:
        raise ModelFailed("no")

    monkeypatch.setattr(type(check.resources.embedder), "embed_query", refuse)
    monkeypatch.setattr(check, "checked_at", float("-inf"))
    with psycopg.connect(site.url, autocommit=True) as connection:
        connection.execute("UPDATE migrations SET name = 'x' WHERE name = '0001_schema'")
        reply = await site.client.get("/health/ready")
        connection.execute("UPDATE migrations SET name = '0001_schema' WHERE name = 'x'")
    monkeypatch.setattr(check, "embedder", "ok")
    assert reply.status_code == 503
    assert reply.json()["components"] == works | {"migrations": "1 pending", "embedder": "failed"}


async def test_a_server_older_than_its_database_is_not_ready_and_does_not_start(site: Site) -> None:
    with psycopg.connect(site.url, autocommit=True) as connection:
        connection.execute("INSERT INTO migrations (name) VALUES ('9999_of_tomorrow')")
        reply = await site.client.get("/health/ready")
        try:
            with pytest.raises(StoreFailed, match=r"newer Lightwell \(migration 9999_of_tomorrow"):
                async with connect(site.url):
                    pass
        finally:
            connection.execute("DELETE FROM migrations WHERE name = '9999_of_tomorrow'")
    assert (reply.status_code, reply.json()["components"]["migrations"]) == (503, "database newer")


async def test_every_log_line_of_a_request_has_its_id(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(written))

    async def noting(_principals: object, _text: str) -> None:
        logger("test").warning("noted")

    monkeypatch.setattr(Principals, "of_key", noting)
    headers = {"Authorization": "Bearer lw_x"}
    replies = [await site.client.get("/v1/models", headers=headers) for _ in range(2)]
    ids = [reply.headers["x-request-id"] for reply in replies]
    lines = written.getvalue().splitlines()
    assert len(set(ids)) == len(lines) == 2
    assert all(request_id in line for request_id, line in zip(ids, lines, strict=True))


async def test_a_backup_becomes_the_same_store_elsewhere_and_overwrites_nothing(
    site: Site, server: str, tmp_path: Path
) -> None:
    file = tmp_path / "store.backup"
    await back_up(Settings(database_url=SecretStr(site.url)), file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    with pytest.raises(Invalid, match="exists already"):
        await back_up(Settings(database_url=SecretStr(site.url)), file)
    assert file.read_bytes() == before
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE lightwell_restored TEMPLATE template0")
        try:
            url = conninfo.make_conninfo(server, dbname="lightwell_restored")
            elsewhere = Settings(database_url=SecretStr(url))
            (tmp_path / "other").write_text("no backup")
            with pytest.raises(Invalid, match="not a backup"):
                await restore(elsewhere, tmp_path / "other")
            await restore(elsewhere, file)
            async with open_knowledge_base(elsewhere) as kb:
                answer = await kb.questions.ask(QUESTION["query"], await kb.reader(["team:sales"]))
                assert DISCOUNT in answer.text
                reader = await kb.reader(["team:sales"])
                original = await kb.originals.get(reader, "file:///shelf/contract.md")
                parts = [part async for part in kb.originals.parts(reader, original)]
                assert b"".join(parts) == DISCOUNT.encode()
            with pytest.raises(Invalid, match="store already"):
                await restore(elsewhere, file)
        finally:
            connection.execute("DROP DATABASE lightwell_restored WITH (FORCE)")


async def test_migrations_are_tried_and_rolled_back(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE lightwell_tried TEMPLATE template0")
        try:
            url = conninfo.make_conninfo(server, dbname="lightwell_tried")
            await try_migrations(url)
            assert not await has_schema(url)
        finally:
            connection.execute("DROP DATABASE lightwell_tried WITH (FORCE)")


BOTH, OWN = ("team:us", "team:them"), ("team:us",)
WITHDRAWN = {
    "erased.md": "Ulrich Tannhauser had malaria in 2024.",
    "deleted.md": "The Oslo shuttle leaves from pier 19.",
    "narrowed.md": "The vault of the Bergen branch is painted green.",
    "again.md": "The canteen of Kiel opens at eleven.",
    "kept.md": "Nordwind receives a discount of 18 percent.",
}


async def back_up_and_withdraw(settings: Settings, backup: Path) -> None:
    """Ingest these documents, back up, and then do to them what their names say. There is a key, too."""
    made = tuple(make_document(name, text, BOTH) for name, text in WITHDRAWN.items())
    source = InMemorySource(documents=made)
    url = {name: f"file:///shelf/{name}" for name in WITHDRAWN}
    async with open_knowledge_base(settings) as kb:
        keys = ApiKeys(database=kb.documents.context.database, tenant="default")
        await keys.create("default", "test", scopes=(Scope.READ,), tags=OWN)
        directory = Directory(database=keys.database, project_id=kb.project_id)
        links = SignInLinks(directory=directory)
        _, link = await links.invite("a@halden.example", PersonChange(), (), timedelta(1))
        await links.create("a@halden.example", timedelta(1))  # which nobody uses
        await WebSessions(database=keys.database, tenant="default").redeem(link.text, "")
        await note_bot(keys.database, kb.project_id, Bot(platform=Platform.TELEGRAM, name="bot"))
        person = (await directory.get_person("a@halden.example")).id
        accounts = OwnAccounts(database=keys.database, project_id=kb.project_id, person=person)
        await accounts.make_code(Platform.TELEGRAM)
        await channel_updates.insert(keys.database, kb.project_id, waiting_update())
        await kb.ingestion.ingest(source)
        us = await kb.reader(OWN)
        await kb.documents.delete(us, [url["again.md"]])
        await kb.ingestion.ingest(
            source
        )  # it is there rightly: the deletion is older than the document
        await back_up(settings, backup)
        await kb.documents.erase(us, [url["erased.md"]])
        await kb.documents.delete(us, [url["deleted.md"]])
        anything = TagAuthority(tags=frozenset(), is_unlimited=True)
        await kb.documents.change_access(us, anything, url["narrowed.md"], frozenset(OWN))


def waiting_update() -> Update:
    """Return what somebody wrote to a bot and was answered after the backup."""
    return Update(
        key="1",
        account=Account(platform=Platform.TELEGRAM, id="1"),
        chat=Chat(platform=Platform.TELEGRAM, id="1", is_private=True),
        at=datetime.now(UTC),
        content=Text(text="What was paid?"),
    )


@pytest.fixture
def empty_database(server: str) -> Iterator[str]:
    """A database without the schema."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE lightwell_withdrawn TEMPLATE template0")
        yield conninfo.make_conninfo(server, dbname="lightwell_withdrawn")
        connection.execute("DROP DATABASE lightwell_withdrawn WITH (FORCE)")


async def test_nobody_uses_a_backup_before_what_was_withdrawn_is_withdrawn_again(
    databases: Databases, empty_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, noted = tmp_path / "a.backup", tmp_path / "old" / "withdrawals.jsonl"
    with databases.lent() as url:
        await back_up_and_withdraw(Settings(database_url=SecretStr(url), data=noted.parent), backup)
    elsewhere = Settings(database_url=SecretStr(empty_database), data=tmp_path / "new")

    class Killed(BaseException):
        pass

    async def kill(*_: object) -> int:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("lightwell.wiring.backups.withdraw_again", kill)
        with pytest.raises(Killed):
            await restore(elsewhere, backup, lists=[noted])
    with pytest.raises(StoreFailed, match=r"a\.backup .* is not finished"):
        async with open_knowledge_base(elsewhere):
            pass
    other = tmp_path / "b.backup"
    other.write_bytes(backup.read_bytes())
    with pytest.raises(Invalid, match=r"another backup, a\.backup"):
        await restore(elsewhere, other, lists=[noted])
    assert (await restore(elsewhere, backup, lists=[noted])).documents == 3
    async with open_knowledge_base(elsewhere) as kb:
        assert (
            await kb.documents.context.database.rows(
                "SELECT FROM api_keys WHERE revoked_at IS NULL"
                " UNION ALL SELECT FROM web_sessions UNION ALL SELECT FROM sign_in_links"
                " UNION ALL SELECT FROM channel_codes UNION ALL SELECT FROM channel_updates",
                {},
            )
            == []
        )


async def test_a_backup_that_cannot_be_loaded_leaves_an_empty_database(
    databases: Databases, empty_database: str, tmp_path: Path
) -> None:
    backup = tmp_path / "a.backup"
    with databases.lent() as url:
        await back_up(Settings(database_url=SecretStr(url)), backup)
    elsewhere = Settings(database_url=SecretStr(empty_database), data=tmp_path / "new")
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE projects ()")
        with pytest.raises(StoreFailed, match="pg_restore failed"):
            await restore(elsewhere, backup)
        connection.execute("DROP TABLE projects")
    async with open_knowledge_base(elsewhere) as kb:
        assert await kb.owner_tags() == frozenset()


async def test_a_restored_backup_shows_nothing_that_was_withdrawn_since(
    databases: Databases, empty_database: str, tmp_path: Path
) -> None:
    backup, noted = tmp_path / "a.backup", tmp_path / "old" / "withdrawals.jsonl"
    with databases.lent() as url:
        settings = Settings(database_url=SecretStr(url), data=noted.parent)
        await back_up_and_withdraw(settings, backup)
    assert noted.stat().st_mode & 0o777 == 0o600
    assert not any(word in noted.read_text() for word in ("Tannhauser", "shelf", "team:"))
    elsewhere = Settings(database_url=SecretStr(empty_database), data=tmp_path / "new")
    (tmp_path / "torn").write_text(noted.read_text()[:-9])
    with pytest.raises(Invalid, match="line 4"):
        await restore(elsewhere, backup, lists=[tmp_path / "torn"])
    done = await restore(elsewhere, backup, lists=[noted])
    assert (done.keys, done.documents, done.lists) == (1, 3, (noted,))
    assert (tmp_path / "new" / noted.name).read_text() == noted.read_text()
    async with open_knowledge_base(elsewhere) as kb:
        shown = {
            tag: {
                document.url.rpartition("/")[2]
                async for document in kb.documents.iterate(await kb.reader([tag]))
            }
            for tag in BOTH
        }
        database = kb.documents.context.database
        stored = await database.rows("SELECT source_id FROM source_documents", {})
        keys = await database.rows("SELECT FROM api_keys WHERE revoked_at IS NULL", {})
    assert keys == []
    left = {"again.md", "kept.md"}
    assert shown == {"team:us": left | {"narrowed.md"}, "team:them": left}
    assert {row[0] for row in stored} == left | {"narrowed.md", "deleted.md"}
