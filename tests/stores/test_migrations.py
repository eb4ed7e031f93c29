"""A store keeps what is in it when a later version adds to its schema, and one from before the first release is refused."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo, sql
from pydantic import SecretStr

from lightwell.domain.errors import StoreFailed
from lightwell.domain.ids import JobId, new_id
from lightwell.models.bge import SPACE
from lightwell.records import access_classes, database
from lightwell.records.database import (
    connect,
    list_migrations,
    list_pending_migrations,
    try_migrations,
)
from lightwell.records.documents import originals
from lightwell.settings import Settings
from lightwell.wiring.backups import back_up, restore
from lightwell.wiring.examination import examine

LATER = (
    "9999_colours",
    "ALTER TABLE projects ADD COLUMN colour text NOT NULL DEFAULT 'grey'; UPDATE projects SET colour = 'red' WHERE name = 'one'",
)
COLOURS = "SELECT name, colour FROM projects ORDER BY name"


@pytest.fixture
def store(server: str) -> Iterator[str]:
    """An empty database."""
    with psycopg.connect(server, autocommit=True) as connection:
        name = sql.Identifier("lightwell_migrated")
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        yield conninfo.make_conninfo(server, dbname="lightwell_migrated")
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_each_migration_has_the_next_number() -> None:
    numbers = [int(name.partition("_")[0]) for name, _ in list_migrations()]
    assert numbers == [*range(1, len(numbers) + 1)]


async def test_s0_12_a_later_version_adds_to_a_store_of_today(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(store) as today:
        for name in ("one", "two"):
            await access_classes.get_or_create_project(today, "tenant", name)
    migrations = [*list_migrations(), LATER]
    with monkeypatch.context() as patch:
        patch.setattr(database, "list_migrations", lambda: migrations)
        assert await list_pending_migrations(store) == ["9999_colours"]
        await try_migrations(store)
        assert await list_pending_migrations(store) == ["9999_colours"]
        for _ in range(2):
            async with connect(store) as later:
                assert await later.rows(COLOURS, {}) == [("one", "red"), ("two", "grey")]
        assert await list_pending_migrations(store) == []
    with pytest.raises(StoreFailed, match=r"newer Lightwell \(migration 9999_colours\)"):
        async with connect(store):
            pass


WAITING = """
INSERT INTO tenants (tenant_id, name) VALUES (%(id)s, 'tenant');
INSERT INTO projects (project_id, tenant_id, name) VALUES (%(id)s, %(id)s, 'one');
INSERT INTO source_documents (document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id,
                              source_url, format, content_hash, acl_tags, class_id)
VALUES (%(id)s, %(id)s, %(id)s, 'upload:document:1', 'upload', 'document', '1', 'upload:///1/a.txt', 'text', 'x', '{}', 0);
INSERT INTO ingestion_jobs (id, project_id, document_id, upload) VALUES (%(id)s, %(id)s, %(id)s, 'A note.');
"""


async def test_what_waits_to_be_read_is_read_by_a_later_version(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was uploaded stood in its job once."""
    waiting = JobId(new_id())
    first, *_ = list_migrations()
    with monkeypatch.context() as patch:
        patch.setattr(database, "list_migrations", lambda: [first])
        async with connect(store):
            pass
    async with await psycopg.AsyncConnection.connect(
        store, cursor_factory=psycopg.AsyncClientCursor
    ) as connection:
        await connection.execute(WAITING, {"id": waiting})
    async with connect(store) as later:
        assert await originals.read_staged(later, waiting) == b"A note."
        rows = await later.rows("SELECT place, byte_count FROM document_originals", {})
        assert rows == [("store", 7)]


EMBEDDED = """
INSERT INTO tenants (tenant_id, name) VALUES (%(id)s, 'tenant');
INSERT INTO projects (project_id, tenant_id, name) VALUES (%(id)s, %(id)s, 'one'), (%(other)s, %(id)s, 'two');
INSERT INTO access_classes (project_id, tags) VALUES (%(id)s, '{a}');
INSERT INTO embedding_spaces (project_id, model, dimension, status)
VALUES (%(id)s, 'all-MiniLM-L6-v2-int8', 384, 'active'), (%(id)s, 'bge-small-en-v1.5-int8', 384, 'building'), (%(other)s, 'served', 8, 'active');
INSERT INTO source_documents (document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id,
                              source_url, format, content_hash, acl_tags, class_id)
SELECT %(id)s, %(id)s, %(id)s, 'upload:document:1', 'upload', 'document', '1', 'upload:///1/a.txt', 'text', 'x', '{a}', class_id
FROM access_classes WHERE project_id = %(id)s;
INSERT INTO document_chunks (chunk_id, chunk_ref, document_id, class_id, chunk_index, chunk_text, chunk_hash, token_count, start_offset, end_offset, language)
SELECT gen_random_uuid(), 'upload:chunk:1', document_id, class_id, 0, 'A note.', '', 2, 0, 7, 'en' FROM source_documents;
INSERT INTO chunk_multi_vectors (chunk_id, model, text_hash, starts, ends, tokens, wholes, signs)
SELECT chunk_id, 'old', '', '{}', '{}', '{}', '', '' FROM document_chunks;
INSERT INTO described_profiles (subject_id, class_id, project_id, changed, text_hash)
SELECT %(id)s, class_id, %(id)s, false, 'x' FROM access_classes;
"""


async def test_what_a_network_that_went_had_read_is_noted_as_still_to_be_read(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [each for each in list_migrations() if each[0] < "0008"]
    with monkeypatch.context() as patch:
        patch.setattr(database, "list_migrations", lambda: before)
        async with connect(store):
            pass
    async with await psycopg.AsyncConnection.connect(
        store, cursor_factory=psycopg.AsyncClientCursor
    ) as connection:
        await connection.execute(EMBEDDED, {"id": new_id(), "other": new_id()})
    settings = Settings(database_url=SecretStr(store), tenant="tenant")
    doctor = {check.name: check for check in await examine(settings)}
    assert "migrations will be applied" in doctor["schema"].detail
    assert all(check.ok for check in doctor.values())  # that a model is gone is not known yet
    async with connect(store) as later:
        spaces = "SELECT model, status FROM embedding_spaces ORDER BY space_id"
        assert await later.rows(spaces, {}) == [
            ("all-MiniLM-L6-v2-int8", "retired"),
            ("bge-small-en-v1.5-int8", "dropping"),
            ("served", "active"),
            (SPACE, "active"),
        ]
        gaps = "SELECT model FROM chunk_gaps JOIN document_chunks USING (chunk_id) JOIN embedding_spaces USING (space_id)"
        assert await later.values(gaps, {}) == [SPACE]
        assert await later.values("SELECT count(*) FROM multi_vector_gaps", {}) == [1]
        assert await later.values("SELECT count(*) FROM chunk_multi_vectors", {}) == [0]
        changed = "SELECT changed, text_hash FROM described_profiles"
        assert await later.rows(changed, {}) == [(True, None)]


async def test_a_store_from_before_the_first_release_is_told_what_to_do_and_left_alone(
    store: str, tmp_path: Path
) -> None:
    with psycopg.connect(store) as connection:
        connection.execute("CREATE TABLE migrations (name text PRIMARY KEY)")
        connection.execute("INSERT INTO migrations VALUES ('0001_record'), ('0121_leases')")
    advice = r"before Lightwell's first release.*lightwell backup FILE.*ingest the documents again"
    with pytest.raises(StoreFailed, match=advice):
        async with connect(store):
            pass
    settings = Settings(database_url=SecretStr(store))
    (check,) = [check for check in await examine(settings) if check.name == "database"]
    assert not check.ok
    assert re.search(advice, check.fix)
    await back_up(settings, tmp_path / "store.backup")
    with pytest.raises(StoreFailed, match=advice):
        await restore(settings, tmp_path / "store.backup")
    with psycopg.connect(store) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert names.fetchall() == [("migrations",)]
