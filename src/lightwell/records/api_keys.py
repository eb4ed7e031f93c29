"""API keys in the database. Only an authenticated administrator lists or changes them; no reader does."""

from datetime import datetime, timedelta
from typing import Any, LiteralString

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import ApiKey, KeyId, Scope, Token, user_of_key
from lightwell.domain.business_systems import SourceId
from lightwell.domain.directory import PersonId, user_of_person
from lightwell.domain.ids import ProjectId
from lightwell.domain.principals import KEY, Principal, tags_of_key
from lightwell.records.database import Database
from lightwell.records.directory import CURRENT_TAGS
from lightwell.records.rows import make

_COLUMNS: LiteralString = """
key.key_id AS id, key.name, key.scopes, key.acl_tags, key.person_id AS person, key.source_id AS source, key.created_at, key.expires_at, key.last_used_at,
key.revoked_at
"""

_INSERT = f"""
INSERT INTO api_keys AS key (key_id, project_id, name, secret_hash, scopes, acl_tags, person_id, source_id, expires_at)
VALUES (%(key_id)s, %(project_id)s, %(name)s, %(secret_hash)s, %(scopes)s, %(acl_tags)s, %(person)s, %(source)s, %(expires_at)s)
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
SELECT key.secret_hash, CASE WHEN key.previous_until > now() THEN key.previous_hash END AS previous_hash, projects.project_id,
       projects.name AS project, CASE WHEN key.person_id IS NOT NULL THEN {CURRENT_TAGS} END AS person_tags, {_COLUMNS}
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
    source: SourceId | None,
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
        "source": source,
        "expires_at": expires_at,
    }
    return (await database.rows(_INSERT, row, into=ApiKey))[0]


async def find_principal(database: Database, tenant: str, token: Token) -> Principal | None:
    """Return for whom the key of the token speaks now, and note its use.

    None where the tenant has no such key, where the secret is wrong, where the key has expired or was revoked, and where
    the person whom it names is not active.
    """
    shown = {"key_id": token.key_id, "secret_hash": token.secret_hash, "tenant": tenant}
    row = await database.row(_USE, shown, into=dict[str, Any])
    if row is None:
        return None
    hashes = (row.pop("secret_hash"), row.pop("previous_hash"))
    if not any(token.matches(secret_hash) for secret_hash in hashes if secret_hash is not None):
        return None
    project_id, project, person_tags = (
        row.pop("project_id"),
        row.pop("project"),
        row.pop("person_tags"),
    )
    key = make(ApiKey, **row)
    return Principal(
        project_id=project_id,
        project=project,
        credential=f"{KEY}{key.id}",
        scopes=key.scopes,
        tags=tags_of_key(key.acl_tags, None if person_tags is None else frozenset(person_tags)),
        user=user_of_person(key.person) if key.person else user_of_key(key.id),
        person=key.person,
        name=key.name,
        source=key.source,
    )


async def find(database: Database, project_id: ProjectId, key_id: KeyId) -> ApiKey | None:
    """Return a key of the project, None where it has none with this id."""
    return await database.row(_GET, {"project_id": project_id, "key_id": key_id}, into=ApiKey)


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
    return await database.row(_ROTATE, fields, into=ApiKey)


async def list_keys(database: Database, project_id: ProjectId) -> list[ApiKey]:
    """Return all keys of a project, the oldest first, expired and revoked ones included."""
    return await database.rows(_LIST, {"project_id": project_id}, into=ApiKey)


async def revoke_all(database: Database) -> int:
    """Revoke the keys of all projects, and return how many that were."""
    return len(await database.rows(_REVOKE_ALL, {}))


async def revoke(database: Database, project_id: ProjectId, key_id: KeyId) -> bool:
    """Revoke a key at once; return whether the project has it."""
    return await database.execute(_REVOKE, {"key_id": key_id, "project_id": project_id}) > 0
