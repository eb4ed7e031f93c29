"""Keyed hashes cannot be found by hashing guesses."""

import hashlib

from lightwell.domain.ids import ProjectId
from lightwell.records import access_classes
from lightwell.records.database import Database


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def keyed(database: Database, project: ProjectId, text: str) -> str:
    facts = {"project": project, "digest": sha256(text)}
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
