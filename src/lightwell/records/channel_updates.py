"""What accounts of chat platforms did, until it is answered. The server reads them for nobody: each is answered as the person whose account did it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from lightwell.domain.channels import Platform, Update
from lightwell.domain.errors import LeaseLost
from lightwell.domain.ids import ProjectId, new_id
from lightwell.domain.texts import keep_text
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch_values

_UPDATE_JSON = TypeAdapter(Update)

_INSERT = """
INSERT INTO channel_updates (update_id, project_id, platform, key, chat, account, content)
VALUES (%(update_id)s, %(project_id)s, %(platform)s, %(key)s, %(chat)s, %(account)s, %(content)s)
ON CONFLICT (project_id, platform, key) DO NOTHING
"""

# The oldest of each account in each chat, unless somebody answers it: what comes after it waits.
_TAKE = """
UPDATE channel_updates AS taken
SET attempts = attempts + 1, leased_until = now() + %(lease)s
WHERE update_id = (
    SELECT update_id FROM (
        SELECT DISTINCT ON (chat, account) update_id, leased_until FROM channel_updates
        WHERE project_id = %(project_id)s AND platform = %(platform)s AND answered_at IS NULL
        ORDER BY chat, account, update_id
    ) AS oldest
    WHERE leased_until IS NULL OR leased_until <= now() ORDER BY update_id LIMIT 1
) AND answered_at IS NULL AND (leased_until IS NULL OR leased_until <= now())
RETURNING update_id AS id, content, sent, is_said, attempts, received_at
"""

_RENEW = """
UPDATE channel_updates SET leased_until = now() + %(lease)s
WHERE update_id = %(update_id)s AND attempts = %(attempts)s AND answered_at IS NULL
"""

_NOTE_SENT = """
UPDATE channel_updates SET sent = %(sent)s
WHERE update_id = %(update_id)s AND attempts = %(attempts)s AND answered_at IS NULL
"""

_NOTE_SAID = """
UPDATE channel_updates SET is_said = true
WHERE update_id = %(update_id)s AND attempts = %(attempts)s AND answered_at IS NULL
"""

_CLOSE = """
UPDATE channel_updates SET answered_at = now(), content = NULL, sent = '', leased_until = NULL
WHERE update_id = %(update_id)s AND attempts = %(attempts)s AND answered_at IS NULL
"""

_FORGET = """
DELETE FROM channel_updates
WHERE project_id = %(project_id)s AND platform = %(platform)s AND answered_at < now() - %(kept)s
"""

_CLOSE_EVERY = "DELETE FROM channel_updates WHERE answered_at IS NULL"

_COUNT_WAITING = """
SELECT platform, count(*) FROM channel_updates
WHERE project_id = %(project_id)s AND answered_at IS NULL GROUP BY platform
"""

_LOCK = """
SELECT pg_try_advisory_lock(hashtextextended('channel ' || %(platform)s || ' ' || %(project_id)s::text, 0))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenUpdate:
    """An update that is answered under a lease; `attempts` is how often it was taken, by which whoever was overtaken is refused.

    `sent` is the message that an earlier attempt sent for the answer, `is_said` whether one said, or was about to say, what cannot be written into a message.
    """

    id: UUID
    update: Update
    sent: str
    is_said: bool
    attempts: int
    received_at: datetime

    @property
    def keys(self) -> dict[str, object]:
        return {"update_id": self.id, "attempts": self.attempts}


async def count_waiting(database: Database, project_id: ProjectId) -> dict[Platform, int]:
    """Return how many updates are not answered yet, by platform."""
    rows = await database.rows(_COUNT_WAITING, {"project_id": project_id})
    return {Platform(platform): count for platform, count in rows}


async def lock(connection: Connection, project_id: ProjectId, platform: Platform) -> bool:
    """Return whether this session is the one now that receives and answers, until it ends."""
    keys = {"project_id": project_id, "platform": platform}
    (is_locked,) = await fetch_values(connection, _LOCK, keys)
    return bool(is_locked)


async def insert(database: Database, project_id: ProjectId, update: Update) -> bool:
    """Store an update durably; return whether it is new. The same key again changes nothing."""
    row = {
        "update_id": new_id(),
        "project_id": project_id,
        "platform": update.account.platform,
        "key": update.key,
        "chat": update.chat.id,
        "account": update.account.id,
        "content": Jsonb(keep_text(_UPDATE_JSON.dump_python(update, mode="json"))),
    }
    return await database.execute(_INSERT, row) > 0


async def take(
    database: Database, project_id: ProjectId, platform: Platform, lease: timedelta
) -> TakenUpdate | None:
    """Take the oldest update that may be answered now, for as long as the lease; None without one."""
    keys = {"project_id": project_id, "platform": platform, "lease": lease}
    return await database.row(_TAKE, keys, into=_taken)


async def renew(database: Database, taken: TakenUpdate, lease: timedelta) -> None:
    """Hold the update for as long as the lease from now on; raise `LeaseLost` where somebody else has taken it."""
    await _write(database, _RENEW, {**taken.keys, "lease": lease})


async def note_sent(database: Database, taken: TakenUpdate, sent: str) -> None:
    """Note the message that the answer is written into; raise `LeaseLost`."""
    await _write(database, _NOTE_SENT, {**taken.keys, "sent": sent})


async def note_said(database: Database, taken: TakenUpdate) -> None:
    """Note, before it is said, that something is said which cannot be taken back; raise `LeaseLost`."""
    await _write(database, _NOTE_SAID, taken.keys)


async def close(database: Database, taken: TakenUpdate) -> None:
    """Note that the update is answered, and delete what it says; raise `LeaseLost`."""
    await _write(database, _CLOSE, taken.keys)


async def forget(
    database: Database, project_id: ProjectId, platform: Platform, kept: timedelta
) -> None:
    """Delete the keys of what was answered so long ago that the platform will not repeat it."""
    keys = {"project_id": project_id, "platform": platform, "kept": kept}
    await database.execute(_FORGET, keys)


async def delete_waiting(database: Database) -> None:
    """Delete what is not answered, in all projects: it was, after the backup that has it was made."""
    await database.execute(_CLOSE_EVERY, {})


async def _write(database: Database, statement: LiteralString, keys: Mapping[str, object]) -> None:
    if not await database.execute(statement, keys):
        raise LeaseLost("Another process answers this")


def _taken(*, content: object, **columns: Any) -> TakenUpdate:
    return TakenUpdate(update=_UPDATE_JSON.validate_python(content), **columns)
