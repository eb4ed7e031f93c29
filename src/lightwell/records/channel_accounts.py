"""Accounts of chat platforms in the database: the codes that link them, and whose they are. Whoever calls says for whom."""

from datetime import datetime

from lightwell.domain.channels import LINK_CODE_LIFE, Account, CodeMaker, Platform
from lightwell.domain.directory import Person, PersonId, PersonName
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ProjectId
from lightwell.domain.web_sessions import LONGEST_PAUSE, Secret
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.directory import DIRECTORY_LOCK, GET_PERSON, by_name
from lightwell.records.rows import fetch, fetch_values
from lightwell.records.web_sessions import SESSION_SPEAKS

_DELETE_OLD = "DELETE FROM channel_codes WHERE expires_at <= now()"

_INSERT = """
INSERT INTO channel_codes (code_hash, project_id, person_id, platform, session_id, key_id, expires_at)
VALUES (%(code_hash)s, %(project_id)s, %(person_id)s, %(platform)s, %(session_id)s, %(key_id)s, now() + %(life)s)
RETURNING expires_at
"""

# A code is valid as long as what made it. Of two transactions with the same code, one deletes it, and the other finds none.
_USE = f"""
DELETE FROM channel_codes WHERE code_hash = (
    SELECT code.code_hash FROM channel_codes AS code JOIN people AS person USING (person_id)
    LEFT JOIN web_sessions AS session USING (session_id)
    LEFT JOIN api_keys AS key ON key.key_id = coalesce(code.key_id, session.key_id)
    WHERE code.code_hash = %(code_hash)s AND code.project_id = %(project_id)s AND code.platform = %(platform)s
      AND code.expires_at > now() AND person.is_active
      AND (code.session_id IS NULL OR {SESSION_SPEAKS})
      AND (code.key_id IS NULL OR key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > now())))
RETURNING person_id
"""  # noqa: S608 - only our own words

# Of somebody who is not active an account is free: nobody is there to unlink it.
_OWNER = """
SELECT held.person_id FROM person_external_ids AS held JOIN people AS person USING (person_id)
WHERE held.project_id = %(project_id)s AND held.system = %(platform)s AND held.external_id = %(account)s AND person.is_active
"""

# What somebody else, whose account it was, picked and could press goes with it, by a trigger.
_FREE = """
DELETE FROM person_external_ids
WHERE project_id = %(project_id)s AND system = %(platform)s AND external_id = %(account)s AND person_id <> %(person_id)s
"""

# Whoever is active, has this address, and no account of this platform; and an account that was never linked.
_BY_EMAIL = """
SELECT person_id FROM people
WHERE project_id = %(project_id)s AND email = %(email)s AND email <> '' AND is_active
  AND NOT EXISTS (SELECT FROM person_external_ids AS other WHERE other.person_id = people.person_id AND other.system = %(platform)s)
  AND NOT EXISTS (SELECT FROM person_external_ids AS other WHERE other.project_id = %(project_id)s
                  AND other.system = %(platform)s AND other.external_id = %(account)s)
  AND NOT EXISTS (SELECT FROM channel_accounts AS before WHERE before.project_id = %(project_id)s
                  AND before.platform = %(platform)s AND before.account = %(account)s)
"""

_LINK = """
WITH unused AS (
    DELETE FROM channel_codes WHERE person_id = %(person_id)s AND platform = %(platform)s
), linked AS (
    INSERT INTO person_external_ids (project_id, system, external_id, person_id)
    VALUES (%(project_id)s, %(platform)s, %(account)s, %(person_id)s) ON CONFLICT DO NOTHING
)
INSERT INTO channel_accounts (project_id, platform, account, person_id, name)
VALUES (%(project_id)s, %(platform)s, %(account)s, %(person_id)s, %(name)s)
ON CONFLICT (project_id, platform, account) DO UPDATE SET person_id = EXCLUDED.person_id, name = EXCLUDED.name
"""

# The account, or all of the person's but the one that stays. What was picked and can be pressed in its chats goes with it, by a trigger.
_UNLINK = """
WITH unlinked AS (
    DELETE FROM person_external_ids
    WHERE project_id = %(project_id)s AND system = %(platform)s
      AND (external_id = %(account)s OR person_id = %(person_id)s AND external_id <> %(stays)s)
    RETURNING external_id, person_id
), noted AS (
    INSERT INTO channel_accounts (project_id, platform, account, person_id, name)
    SELECT %(project_id)s, %(platform)s, external_id, person_id, '' FROM unlinked
    ON CONFLICT (project_id, platform, account) DO UPDATE SET person_id = EXCLUDED.person_id, name = ''
)
SELECT person_id FROM unlinked
"""

_LIST = """
SELECT held.system AS platform, held.external_id AS id, coalesce(account.name, '') AS name
FROM person_external_ids AS held LEFT JOIN channel_accounts AS account
    ON account.project_id = held.project_id AND account.platform = held.system AND account.account = held.external_id
       AND account.person_id = held.person_id
WHERE held.person_id = %(person_id)s AND held.system = ANY(%(platforms)s) ORDER BY held.system
"""

_COUNT = """
SELECT system, count(*) FROM person_external_ids
WHERE project_id = %(project_id)s AND system = ANY(%(platforms)s) GROUP BY system
"""


async def insert_code(
    database: Database,
    project_id: ProjectId,
    code: Secret,
    person: PersonId,
    platform: Platform,
    maker: CodeMaker,
) -> datetime:
    """Store a code that links an account of the platform to a person, and return when it expires; delete those that have expired.

    It ends with its `maker`.
    """
    row = {
        "code_hash": code.hash,
        "project_id": project_id,
        "person_id": person,
        "platform": platform,
        "session_id": maker.session,
        "key_id": maker.key,
        "life": LINK_CODE_LIFE,
    }
    await database.execute(_DELETE_OLD, {})
    return await database.value(_INSERT, row)


@repeatable
async def redeem_code(
    database: Database, project_id: ProjectId, account: Account, code: Secret
) -> Person | None:
    """Use a code: delete it, and note that the account is its person's; that person's other account of the platform is unlinked.

    None where no code of somebody active is valid. Raises `Invalid`, and uses nothing, where the account is somebody else's.
    """
    fields = _fields(project_id, account) | {"code_hash": code.hash, "pause": LONGEST_PAUSE}
    async with database.transaction() as connection:
        await connection.execute(DIRECTORY_LOCK, fields)
        people = await fetch_values(connection, _USE, fields)
        if not people:
            return None
        if await fetch_values(connection, _OWNER, fields) not in ([], people):
            raise Invalid(
                "This account is linked to another person. Send /unlink first, then the code again"
            )
        return await _link(connection, project_id, account, people[0])


@repeatable
async def link_by_email(
    database: Database, project_id: ProjectId, account: Account, email: str
) -> Person | None:
    """Note that the account is that of the one active person with this address who has none of the platform.

    None where there is nobody, and where the account is linked, or was unlinked.
    """
    fields = _fields(project_id, account) | {"email": email}
    async with database.transaction() as connection:
        await connection.execute(DIRECTORY_LOCK, fields)
        people = await fetch_values(connection, _BY_EMAIL, fields)
        return await _link(connection, project_id, account, people[0]) if people else None


async def unlink(database: Database, project_id: ProjectId, account: Account) -> PersonId | None:
    """Unlink an account, and return whose it was, None for nobody's."""
    fields = _fields(project_id, account) | {"person_id": None, "stays": ""}
    return await database.value(_UNLINK, fields)


async def unlink_person(
    database: Database, project_id: ProjectId, person: PersonId, platform: Platform
) -> bool:
    """Unlink the person's account of a platform; return whether there was one."""
    fields = _fields(project_id, Account(platform=platform, id=""))
    whose = {"person_id": person, "stays": ""}
    return await database.value(_UNLINK, fields | whose) is not None


async def list_accounts(database: Database, person: PersonId) -> list[Account]:
    """Return the accounts of a person by platform; the name of one that an administrator linked is ""."""
    whose = {"person_id": person, "platforms": list(Platform)}
    return await database.rows(_LIST, whose, into=Account)


async def count_accounts(database: Database, project_id: ProjectId) -> dict[Platform, int]:
    """Return how many accounts are linked, by platform."""
    counted = {"project_id": project_id, "platforms": list(Platform)}
    return {Platform(system): count for system, count in await database.rows(_COUNT, counted)}


async def _link(
    connection: Connection, project_id: ProjectId, account: Account, person_id: PersonId
) -> Person:
    whose = _fields(project_id, account) | {"person_id": person_id}
    await connection.execute(_UNLINK, whose | {"account": "", "stays": account.id})
    await connection.execute(_FREE, whose)
    await connection.execute(_LINK, whose)
    by_id = by_name(project_id, PersonName(person_id))
    (person,) = await fetch(connection, GET_PERSON, by_id, into=Person)
    return person


def _fields(project_id: ProjectId, account: Account) -> dict[str, object]:
    return {
        "project_id": project_id,
        "platform": account.platform,
        "account": account.id,
        "name": account.name,
    }
