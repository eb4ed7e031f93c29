"""Keyed hashes cannot be found by hashing guesses, and migrating an older store keeps its rows valid."""

import hashlib
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo, sql

from lightwell.domain.ids import ProjectId
from lightwell.records import access_classes
from lightwell.records.database import Database, connect, list_migrations


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def keyed(database: Database, project: ProjectId, text: str) -> str:
    return await _keyed(database, project, sha256(text))


async def _keyed(database: Database, project: ProjectId, digest: str) -> str:
    facts = {"project": project, "digest": digest}
    return str((await database.rows("SELECT keyed_hash(%(project)s, %(digest)s)", facts))[0][0])


async def test_each_project_has_a_key_of_its_own(database: Database) -> None:
    one, two = [
        await access_classes.get_or_create_project(database, "tenant", name)
        for name in ("one", "two")
    ]
    hashes = [await keyed(database, one, "x"), await keyed(database, two, "x"), sha256("x")]
    assert len(set(hashes)) == 3
    assert await keyed(database, one, "x") == hashes[0]
    rows = await database.rows("SELECT length(hash_key) FROM projects", {})
    assert rows == [(32,), (32,)]


@pytest.fixture
def old_store(server: str) -> Iterator[str]:
    """A database as it was before hashes had a key."""
    name = f"lightwell_old_{uuid4().hex[:8]}"
    url = conninfo.make_conninfo(server, dbname=name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        with psycopg.connect(url) as old:
            old.execute(
                "CREATE TABLE migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
            )
            for each, statements in list_migrations():
                if each < "0016":
                    old.execute(statements.encode())
                    old.execute("INSERT INTO migrations (name) VALUES (%s)", [each])
        yield url
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def test_what_was_hashed_without_a_key_is_found_again(old_store: str) -> None:
    project = ProjectId(uuid4())
    pairs = [sorted(map(sha256, (f"kg:entity:{n}", f"kg:entity:{n + 1}"))) for n in range(8)]
    with psycopg.connect(old_store) as old:
        old.execute("INSERT INTO tenants (tenant_id, name) VALUES (%s, 't')", [project])
        old.execute(
            "INSERT INTO projects (project_id, tenant_id, name) VALUES (%s, %s, 'p')",
            [project, project],
        )
        for one, other in pairs:
            old.execute(
                "INSERT INTO rejected_merges (project_id, one, other, rejected_by, one_classes, other_classes)"
                " VALUES (%s, %s, %s, '{}', '{1}', '{2}')",
                [project, one, other],
            )
        old.execute(
            "INSERT INTO conversations (conversation_id, project_id, owner) VALUES (%s, %s, %s)",
            [uuid4(), project, sha256("me")],
        )
    async with connect(old_store) as database:
        owners = await database.rows("SELECT owner FROM conversations", {})
        assert owners == [(await keyed(database, project, "me"),)]
        found = await database.rows(
            "SELECT one, one_classes, other, other_classes FROM rejected_merges", {}
        )
        expected = set[tuple[tuple[str, int], ...]]()
        for one, other in pairs:
            sides = [
                (await _keyed(database, project, one), 1),
                (await _keyed(database, project, other), 2),
            ]
            expected.add(tuple(sorted(sides)))
        assert {((row[0], row[1][0]), (row[2], row[3][0])) for row in found} == expected
