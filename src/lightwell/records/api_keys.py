"""API keys in the database. Only an authenticated administrator lists or changes them; no reader does."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, LiteralString

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import ApiKey, KeyId, Scope, Token, user_of_key
from lightwell.domain.directory import PersonId, user_of_person
from lightwell.domain.ids import ProjectId
from lightwell.domain.principals import Principal, tags_of_key
from lightwell.records.database import Database
from lightwell.records.directory import CURRENT_TAGS

_COLUMNS: LiteralString = """
key.key_id, key.name, key.scopes, key.acl_tags, key.person_id, key.created_at, key.expires_at, key.last_used_at,
key.revoked_at
"""

_INSERT = f"""
INSERT INTO api_keys AS key (key_id, project_id, name, secret_hash, scopes, acl_tags, person_id, expires_at)
VALUES (%(key_id)s, %(project_id)s, %(name)s, %(secret_hash)s, %(scopes)s, %(acl_tags)s, %(person)s, %(expires_at)s)
RETURNING {_COLUMNS}
"""  # noqa: S608 - only our own words

_LIST = f"""
SELECT {_COLUMNS} FROM api_keys AS key WHERE key.project_id = %(project_id)s ORDER BY key.created_at, key.key_id
"""  # noqa: S608 - only our own words

_GET = f"""
SELECT {_COLUMNS} FROM api_keys AS key WHERE key.project_id = %(project_id)s AND key.key_id = %(key_id)s
"""  # noqa: S608 - only our own words

# The last use is written once a minute, so that questions do not wait for one another's updates.
_USE = f"""
WITH used AS (
    UPDATE api_keys SET last_used_at = now()
    WHERE key_id = %(key_id)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      AND (secret_hash = %(secret_hash)s OR previous_hash = %(secret_hash)s AND previous_until > now())
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
)
SELECT key.secret_hash, CASE WHEN key.previous_until > now() THEN key.previous_hash END, projects.project_id,
       projects.name, CASE WHEN key.person_id IS NOT NULL THEN {CURRENT_TAGS} END, {_COLUMNS}
FROM api_keys AS key JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
LEFT JOIN people AS person USING (person_id)
WHERE key.key_id = %(key_id)s AND key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > now())
  AND tenants.name = %(tenant)s AND coalesce(person.is_active, true)
"""  # noqa: S608 - only our own words

_ROTATE = f"""
UPDATE api_keys AS key
SET secret_hash = %(secret_hash)s, previous_hash = key.secret_hash, previous_until = now() + %(grace)s
WHERE key.key_id = %(key_id)s AND key.project_id = %(project_id)s AND key.revoked_at IS NULL
  AND (key.expires_at IS NULL OR key.expires_at > now())
RETURNING {_COLUMNS}
"""  # noqa: S608 - only our own words

_REVOKE = """
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE key_id = %(key_id)s AND project_id = %(project_id)s
"""

_REVOKE_ALL = "UPDATE api_keys SET revoked_at = now() WHERE revoked_at IS NULL RETURNING key_id"


async def insert(  # noqa: PLR0913 - the columns of one row
    database: Database,
    project_id: ProjectId,
    token: Token,
    *,
    name: str,
    scopes: frozenset[Scope],
    acl_tags: Tags,
    person: PersonId | None,
    expires_at: datetime | None,
) -> ApiKey:
    """Store a new key and return it."""
    row = {
        "key_id": token.key_id,
        "project_id": project_id,
        "name": name,
        "secret_hash": token.secret_hash,
        "scopes": sorted(scopes),
        "acl_tags": sorted(acl_tags),
        "person": person,
        "expires_at": expires_at,
    }
    return _key((await database.rows(_INSERT, row))[0])


async def find_principal(database: Database, tenant: str, token: Token) -> Principal | None:
    """Return for whom the key of the token speaks now, and note its use.

    None where the tenant has no such key, where the secret is wrong, where the key has expired or was revoked, and where
    the person whom it names is not active.
    """
    shown = {"key_id": token.key_id, "secret_hash": token.secret_hash, "tenant": tenant}
    found = await database.rows(_USE, shown)
    if not found:
        return None
    current, previous, project_id, project, person_tags, *columns = found[0]
    if not any(token.matches(bytes(each)) for each in (current, previous) if each is not None):
        return None
    key = _key(columns)
    return Principal(
        project_id=ProjectId(project_id),
        project=project,
        credential=f"key:{key.id}",
        scopes=key.scopes,
        tags=tags_of_key(key, None if person_tags is None else frozenset(person_tags)),
        user=user_of_person(key.person) if key.person else user_of_key(key.id),
        person=key.person,
    )


async def find(database: Database, project_id: ProjectId, key_id: KeyId) -> ApiKey | None:
    """Return a key of the project, None where it has none with this id."""
    rows = await database.rows(_GET, {"project_id": project_id, "key_id": key_id})
    return _key(rows[0]) if rows else None


async def rotate(
    database: Database, project_id: ProjectId, token: Token, grace: timedelta
) -> ApiKey | None:
    """Give the key of the token the token's secret; the old one stays valid for `grace`.

    Return the key, None where the project has no such key that is valid.
    """
    fields = {
        "key_id": token.key_id,
        "project_id": project_id,
        "secret_hash": token.secret_hash,
        "grace": grace,
    }
    rows = await database.rows(_ROTATE, fields)
    return _key(rows[0]) if rows else None


async def list_keys(database: Database, project_id: ProjectId) -> list[ApiKey]:
    """Return all keys of a project, the oldest first, expired and revoked ones included."""
    return [_key(row) for row in await database.rows(_LIST, {"project_id": project_id})]


async def revoke_all(database: Database) -> int:
    """Revoke the keys of all projects, and return how many that were."""
    return len(await database.rows(_REVOKE_ALL, {}))


async def revoke(database: Database, project_id: ProjectId, key_id: KeyId) -> bool:
    """Revoke a key at once; return whether the project has it."""
    return await database.execute(_REVOKE, {"key_id": key_id, "project_id": project_id}) > 0


def _key(row: Sequence[Any]) -> ApiKey:
    return ApiKey(
        id=KeyId(row[0]),
        name=row[1],
        scopes=frozenset(Scope(word) for word in row[2]),
        acl_tags=frozenset(row[3]),
        person=PersonId(row[4]) if row[4] else None,
        created_at=row[5],
        expires_at=row[6],
        last_used_at=row[7],
        revoked_at=row[8],
    )
