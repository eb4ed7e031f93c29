"""Buttons below messages of chats: what a press does. Only the account for which a button was made finds it, in its chat, until it expires."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader
from lightwell.domain.channels import Account, Chat, Platform
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records.database import Connection, Database

_INSERT = """
INSERT INTO channel_buttons (button_id, project_id, platform, account, chat, action, class_ids, expires_at)
SELECT button_id, %(project_id)s, %(platform)s, %(account)s, %(chat)s, action, class_ids(%(classes)s), now() + %(life)s
FROM unnest(%(ids)s::uuid[], %(actions)s::jsonb[]) AS made (button_id, action)
"""

_FIND = """
SELECT action FROM channel_buttons
WHERE button_id = %(button_id)s AND project_id = %(project_id)s AND platform = %(platform)s AND account = %(account)s
  AND chat = %(chat)s AND expires_at > now()
"""

# Both buttons of one decision say the same but for the answer: the first that is pressed takes the other along.
_USE_UP = """
DELETE FROM channel_buttons
WHERE project_id = %(project_id)s AND platform = %(platform)s AND account = %(account)s AND chat = %(chat)s
  AND action @> %(subject)s
"""

# Words of a question and references of entities; the others name numbers alone. Who never saw the documents keeps all.
_DELETE_NAMING = """
DELETE FROM channel_buttons
WHERE project_id = %(project_id)s AND action ->> 'kind' IN ('list', 'pick', 'review', 'link')
  AND class_ids && ARRAY(SELECT class_id FROM source_documents WHERE document_id = ANY(%(documents)s))
"""

_DELETE_EXPIRED = """
DELETE FROM channel_buttons WHERE project_id = %(project_id)s AND platform = %(platform)s AND expires_at <= now()
"""


async def insert(
    database: Database,
    reader: Reader,
    account: Account,
    chat: Chat,
    buttons: Sequence[tuple[UUID, Mapping[str, object]]],
    life: timedelta,
) -> None:
    """Store buttons below what the reader is shown, by their ids, each with what it does."""
    row = {
        **_whose(reader.project_id, account, chat),
        "classes": reader.classes,
        "ids": [button_id for button_id, _ in buttons],
        "actions": [Jsonb(dict(action)) for _, action in buttons],
        "life": life,
    }
    await database.execute(_INSERT, row)


async def find(
    database: Database, project_id: ProjectId, account: Account, chat: Chat, button: UUID
) -> Mapping[str, Any] | None:
    """Return what the button does, None for one of another account or chat, an expired one and one that never was."""
    return await database.value(_FIND, {**_whose(project_id, account, chat), "button_id": button})


async def use_up(
    database: Database,
    project_id: ProjectId,
    account: Account,
    chat: Chat,
    subject: Mapping[str, object],
) -> None:
    """Delete the account's buttons in a chat whose action has this subject."""
    keys = {**_whose(project_id, account, chat), "subject": Jsonb(dict(subject))}
    await database.execute(_USE_UP, keys)


async def delete_naming(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Delete the buttons that hold words, of readers who saw one of these documents."""
    facts = {"project_id": project_id, "documents": list(documents)}
    await connection.execute(_DELETE_NAMING, facts)


async def delete_expired(database: Database, project_id: ProjectId, platform: Platform) -> None:
    """Delete the buttons that nobody can press any more."""
    await database.execute(_DELETE_EXPIRED, {"project_id": project_id, "platform": platform})


def _whose(project_id: ProjectId, account: Account, chat: Chat) -> dict[str, object]:
    return {
        "project_id": project_id,
        "platform": account.platform,
        "account": account.id,
        "chat": chat.id,
    }
