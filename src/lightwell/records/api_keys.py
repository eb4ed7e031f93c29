"""API keys in the database. Only an authenticated administrator lists or changes them; no reader does."""

from datetime import datetime

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import ApiKey, KeyId, Scope, Token
from lightwell.domain.ids import ProjectId
from lightwell.records.database import Database, Row

_COLUMNS = (
    "key_id, name, scopes, acl_tags, user_id, created_at, expires_at, last_used_at, revoked_at"
)

_INSERT = f"""
INSERT INTO api_keys (key_id, project_id, name, secret_hash, scopes, acl_tags, user_id, expires_at)
VALUES (%(key_id)s, %(project_id)s, %(name)s, %(secret_hash)s, %(scopes)s, %(acl_tags)s, %(user)s, %(expires_at)s)
RETURNING {_COLUMNS}
"""  # noqa: S608 - only our own words

_LIST = f"""
SELECT {_COLUMNS} FROM api_keys WHERE project_id = %(project_id)s ORDER BY created_at, key_id
"""  # noqa: S608 - only our own words

# The last use is written once a minute, so that questions do not wait for one another's updates.
_USE = f"""
WITH used AS (
    UPDATE api_keys SET last_used_at = now()
    WHERE key_id = %(key_id)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      AND secret_hash = %(secret_hash)s
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
)
SELECT api_keys.secret_hash, projects.name AS project, {", ".join(f"api_keys.{each}" for each in _COLUMNS.split(", "))}
FROM api_keys JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
WHERE api_keys.key_id = %(key_id)s AND api_keys.revoked_at IS NULL
  AND (api_keys.expires_at IS NULL OR api_keys.expires_at > now()) AND tenants.name = %(tenant)s
"""  # noqa: S608 - only our own words

_REVOKE = """
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE key_id = %(key_id)s AND project_id = %(project_id)s
"""


async def insert(  # noqa: PLR0913 - the columns of one row
    database: Database,
    project_id: ProjectId,
    token: Token,
    *,
    name: str,
    scopes: frozenset[Scope],
    acl_tags: Tags,
    user: str,
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
        "user": user,
        "expires_at": expires_at,
    }
    return _key((await database.rows(_INSERT, row))[0])


async def authenticate(database: Database, tenant: str, token: Token) -> tuple[ApiKey, str] | None:
    """Return the key of the token with its project's name, and note its use.

    None where the tenant has no such key, where the secret is wrong, and where the key has expired or was revoked.
    """
    shown = {"key_id": token.key_id, "secret_hash": token.secret_hash, "tenant": tenant}
    found = await database.rows(_USE, shown)
    if not found or not token.matches(bytes(found[0][0])):
        return None
    return _key(found[0][2:]), found[0][1]


async def list_keys(database: Database, project_id: ProjectId) -> list[ApiKey]:
    """Return all keys of a project, the oldest first, expired and revoked ones included."""
    return [_key(row) for row in await database.rows(_LIST, {"project_id": project_id})]


async def revoke(database: Database, project_id: ProjectId, key_id: KeyId) -> bool:
    """Revoke a key at once; return whether the project has it."""
    return await database.execute(_REVOKE, {"key_id": key_id, "project_id": project_id}) > 0


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=KeyId(row[0]),
        name=row[1],
        scopes=frozenset(Scope(word) for word in row[2]),
        acl_tags=frozenset(row[3]),
        user=row[4],
        created_at=row[5],
        expires_at=row[6],
        last_used_at=row[7],
        revoked_at=row[8],
    )
