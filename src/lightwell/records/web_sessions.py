"""Sessions of browsers and sign-in links in the database. A secret finds its own row; an administrator lists and ends them; no reader does."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from lightwell.domain.api_keys import KeyId, Token, user_of_key
from lightwell.domain.directory import PersonId, user_of_person
from lightwell.domain.ids import ProjectId, new_id
from lightwell.domain.principals import SESSION, Principal, tags_of_key
from lightwell.domain.scopes import Scope
from lightwell.domain.web_sessions import (
    LONGEST_PAUSE,
    LONGEST_SESSION,
    LinkId,
    Secret,
    SignInLink,
    WebSession,
)
from lightwell.records.database import Database
from lightwell.records.directory import CURRENT_TAGS, END_SESSIONS

_HAS_ENDED: LiteralString = "(expires_at <= now() OR last_used_at <= now() - %(pause)s)"

SESSION_SPEAKS: LiteralString = """
session.expires_at > now() AND session.last_used_at > now() - %(pause)s
  AND (session.key_id IS NULL
       OR key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > now())
          AND (key.secret_hash = session.key_hash OR key.previous_hash = session.key_hash AND key.previous_until > now()))
"""
"""Whether `session`, of `key` if it is one's, has not ended."""

_DELETE_ENDED = f"DELETE FROM web_sessions WHERE {_HAS_ENDED}"  # noqa: S608 - only our own words

_INSERT = """
INSERT INTO web_sessions (session_id, project_id, secret_hash, person_id, key_id, key_hash, identity, browser, expires_at)
VALUES (%(session_id)s, %(project_id)s, %(secret_hash)s, %(person_id)s, %(key_id)s, %(key_hash)s, %(identity)s, %(browser)s,
        now() + %(longest)s)
"""

# The last use is written once a minute, so that questions do not wait for one another's updates.
_USE = f"""
WITH used AS (
    UPDATE web_sessions SET last_used_at = now()
    WHERE secret_hash = %(secret_hash)s AND last_used_at < now() - interval '1 minute' AND NOT {_HAS_ENDED}
)
SELECT session.session_id, projects.project_id, projects.name AS project, session.identity, key.key_id,
       coalesce(key.name, '') AS name,
       CASE WHEN key.key_id IS NULL THEN person.scopes ELSE key.scopes END AS scopes, coalesce(key.acl_tags, '{{}}') AS key_tags,
       person.person_id, CASE WHEN person.person_id IS NOT NULL THEN {CURRENT_TAGS} END AS person_tags
FROM web_sessions AS session JOIN projects USING (project_id) JOIN tenants USING (tenant_id)
LEFT JOIN api_keys AS key USING (key_id)
LEFT JOIN people AS person ON person.person_id = coalesce(session.person_id, key.person_id)
WHERE session.secret_hash = %(secret_hash)s AND tenants.name = %(tenant)s AND coalesce(person.is_active, true)
  AND {SESSION_SPEAKS}
"""  # noqa: S608 - only our own words

_END = "DELETE FROM web_sessions WHERE secret_hash = %(secret_hash)s"

# Those of the same person, also by the person's keys; of the same key; or of the same subject of an issuer.
_END_ALL = """
DELETE FROM web_sessions AS ended
USING web_sessions AS shown LEFT JOIN api_keys AS key USING (key_id)
WHERE shown.secret_hash = %(secret_hash)s AND ended.project_id = shown.project_id
  AND (ended.person_id = coalesce(shown.person_id, key.person_id)
       OR ended.key_id IN (SELECT other.key_id FROM api_keys AS other
                           WHERE other.person_id = coalesce(shown.person_id, key.person_id))
       OR ended.key_id = shown.key_id
       OR ended.identity ->> 'subject' = shown.identity ->> 'subject'
          AND ended.identity ->> 'issuer' = shown.identity ->> 'issuer')
"""

_LIST = f"""
SELECT session_id AS id, browser, created_at, last_used_at, expires_at FROM web_sessions
WHERE project_id = %(project_id)s AND NOT {_HAS_ENDED}
  AND (person_id = %(person_id)s OR key_id IN (SELECT key_id FROM api_keys WHERE person_id = %(person_id)s))
ORDER BY last_used_at DESC, session_id
"""  # noqa: S608 - only our own words

_END_EVERY = "DELETE FROM web_sessions"

_INSERT_LINK = """
WITH made AS (
    INSERT INTO sign_in_links (link_id, project_id, secret_hash, person_id, expires_at)
    VALUES (%(link_id)s, %(project_id)s, %(secret_hash)s, %(person_id)s, now() + %(valid)s)
    RETURNING link_id, person_id, created_at, expires_at
)
SELECT made.link_id AS id, person_id AS person, person.email, person.display_name, made.created_at, made.expires_at
FROM made JOIN people AS person USING (person_id)
"""

# Of two requests with the same link at the same time, one deletes it, and the other finds none.
_REDEEM_LINK = """
WITH used AS (
    DELETE FROM sign_in_links AS link USING people AS person, projects, tenants
    WHERE link.secret_hash = %(link_hash)s AND link.expires_at > now()
      AND person.person_id = link.person_id AND person.is_active
      AND projects.project_id = link.project_id AND tenants.tenant_id = projects.tenant_id AND tenants.name = %(tenant)s
    RETURNING link.project_id, link.person_id
)
INSERT INTO web_sessions (session_id, project_id, secret_hash, person_id, browser, expires_at)
SELECT %(session_id)s, project_id, %(secret_hash)s, person_id, %(browser)s, now() + %(longest)s FROM used
RETURNING person_id
"""

_LINKS = """
SELECT link.link_id AS id, link.person_id AS person, person.email, person.display_name, link.created_at, link.expires_at
FROM sign_in_links AS link JOIN people AS person USING (person_id)
WHERE link.project_id = %(project_id)s AND link.expires_at > now() ORDER BY link.created_at, link.link_id
"""

_DELETE_LINK = (
    "DELETE FROM sign_in_links WHERE project_id = %(project_id)s AND link_id = %(link_id)s"
)

_DELETE_OLD_LINKS = "DELETE FROM sign_in_links WHERE expires_at <= now()"

_DELETE_LINKS = "DELETE FROM sign_in_links"

_DELETE_CODES = "DELETE FROM channel_codes"


async def insert(  # noqa: PLR0913 - the columns of one row
    database: Database,
    project_id: ProjectId,
    secret: Secret,
    *,
    longest: timedelta,
    browser: str,
    person: PersonId | None = None,
    key: Token | None = None,
    identity: Mapping[str, object] | None = None,
) -> None:
    """Store a session of a person, of the key that was shown, or of an identity; it ends after `longest` at the latest.

    What has ended is deleted meanwhile.
    """
    row = {
        "session_id": new_id(),
        "project_id": project_id,
        "secret_hash": secret.hash,
        "person_id": person,
        "key_id": key and key.key_id,
        "key_hash": key and key.secret_hash,
        "identity": None if identity is None else Jsonb(dict(identity)),
        "browser": browser,
        "longest": longest,
        "pause": LONGEST_PAUSE,
    }
    await database.execute(_DELETE_ENDED, row)
    await database.execute(_INSERT, row)


async def find_principal(
    database: Database, tenant: str, secret: Secret
) -> tuple[Principal, Mapping[str, Any] | None] | None:
    """Return for whom a session speaks now, and the identity that it has instead of a person or a key; note its use.

    None where the tenant has no such session, where it has ended, and where its key or its person gives no access any more.
    """
    shown = {"secret_hash": secret.hash, "tenant": tenant, "pause": LONGEST_PAUSE}
    row = await database.row(_USE, shown, into=dict[str, Any])
    if row is None:
        return None
    person_tags = None if row["person_tags"] is None else frozenset(row["person_tags"])
    person, key = row["person_id"], row["key_id"]
    user = user_of_person(person) if person else user_of_key(KeyId(key)) if key else ""
    principal = Principal(
        project_id=row["project_id"],
        project=row["project"],
        credential=f"{SESSION}{row['session_id']}",
        scopes=frozenset(map(Scope, row["scopes"] or ())),
        tags=tags_of_key(frozenset(row["key_tags"]), person_tags),
        user=user,
        person=person,
        name=row["name"],
    )
    return principal, row["identity"]


async def end(database: Database, secret: Secret) -> None:
    """End a session."""
    await database.execute(_END, {"secret_hash": secret.hash})


async def end_all(database: Database, secret: Secret) -> None:
    """End all sessions of whoever has this one."""
    await database.execute(_END_ALL, {"secret_hash": secret.hash})


async def list_of_person(
    database: Database, project_id: ProjectId, person: PersonId
) -> list[WebSession]:
    """Return the sessions of a person, the one used last first."""
    whose = {"project_id": project_id, "person_id": person, "pause": LONGEST_PAUSE}
    return await database.rows(_LIST, whose, into=WebSession)


async def end_of_person(database: Database, person: PersonId) -> None:
    """End all sessions of a person, and delete the links that would sign the person in."""
    await database.execute(END_SESSIONS, {"person_id": person})


async def end_every(database: Database) -> None:
    """End the sessions of all projects, and delete their sign-in links and the codes that link accounts."""
    for statement in (_END_EVERY, _DELETE_LINKS, _DELETE_CODES):
        await database.execute(statement, {})


async def insert_link(
    database: Database, project_id: ProjectId, secret: Secret, person: PersonId, valid: timedelta
) -> SignInLink:
    """Store a link that signs a person in once, and return it; delete those that have expired."""
    row = {
        "link_id": new_id(),
        "project_id": project_id,
        "secret_hash": secret.hash,
        "person_id": person,
        "valid": valid,
    }
    await database.execute(_DELETE_OLD_LINKS, {})
    return (await database.rows(_INSERT_LINK, row, into=SignInLink))[0]


async def redeem_link(
    database: Database, tenant: str, link: Secret, secret: Secret, *, browser: str
) -> PersonId | None:
    """Use a link: delete it, store a session of its person with this secret, and return the person.

    None where there is no such link of somebody active.
    """
    row = {
        "link_hash": link.hash,
        "tenant": tenant,
        "session_id": new_id(),
        "secret_hash": secret.hash,
        "browser": browser,
        "longest": LONGEST_SESSION,
    }
    return await database.value(_REDEEM_LINK, row)


async def list_links(database: Database, project_id: ProjectId) -> list[SignInLink]:
    """Return the links of a project that can still be used, the oldest first."""
    return await database.rows(_LINKS, {"project_id": project_id}, into=SignInLink)


async def delete_link(database: Database, project_id: ProjectId, link: LinkId) -> bool:
    """Delete a link; return whether the project has it."""
    return await database.execute(_DELETE_LINK, {"project_id": project_id, "link_id": link}) > 0
