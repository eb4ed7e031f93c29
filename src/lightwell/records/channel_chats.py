"""Which conversation an account has in a chat, and what it means there by names. Only the account's own updates read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader
from lightwell.domain.channels import Account, Chat
from lightwell.domain.ids import ConversationId, DocumentId, ProjectId
from lightwell.records.database import Connection, Database

_FIND = """
SELECT conversation_id AS conversation, picks FROM channel_chats
WHERE project_id = %(project_id)s AND platform = %(platform)s AND chat = %(chat)s AND account = %(account)s
"""

_GO_ON = """
INSERT INTO channel_chats (project_id, platform, chat, account, conversation_id)
VALUES (%(project_id)s, %(platform)s, %(chat)s, %(account)s, %(conversation)s)
ON CONFLICT (project_id, platform, chat, account) DO UPDATE
SET conversation_id = EXCLUDED.conversation_id
"""

_PICK = """
INSERT INTO channel_chats AS own (project_id, platform, chat, account, picks, class_ids)
VALUES (%(project_id)s, %(platform)s, %(chat)s, %(account)s, %(picks)s, class_ids(%(classes)s))
ON CONFLICT (project_id, platform, chat, account) DO UPDATE
SET picks = own.picks || EXCLUDED.picks,
    class_ids = ARRAY(SELECT DISTINCT class_id FROM unnest(own.class_ids || EXCLUDED.class_ids) AS class_id)
"""

# Who never saw the documents keeps what was picked: that it is gone would tell of them.
_FORGET_PICKS = """
UPDATE channel_chats SET picks = '{}', class_ids = '{}'
WHERE project_id = %(project_id)s
  AND class_ids && ARRAY(SELECT class_id FROM source_documents WHERE document_id = ANY(%(documents)s))
"""

_BEGIN_ANEW = """
DELETE FROM channel_chats
WHERE project_id = %(project_id)s AND platform = %(platform)s AND chat = %(chat)s AND account = %(account)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatState:
    """The conversation that an account has in a chat, None for a new one; `picks` are references of entities by the names that mean them."""

    conversation: ConversationId | None = None
    picks: Mapping[str, str] = field(default_factory=dict[str, str])


async def find(
    database: Database, project_id: ProjectId, account: Account, chat: Chat
) -> ChatState:
    """Return what an account has in a chat, or in a thread of it."""
    row = await database.row(_FIND, _whose(project_id, account, chat), into=ChatState)
    return row or ChatState()


async def go_on(
    database: Database,
    project_id: ProjectId,
    account: Account,
    chat: Chat,
    conversation: ConversationId,
) -> None:
    """Have the account's next question in the chat belong to this conversation."""
    keys = {**_whose(project_id, account, chat), "conversation": conversation}
    await database.execute(_GO_ON, keys)


async def pick(
    database: Database, reader: Reader, account: Account, chat: Chat, picks: Mapping[str, str]
) -> None:
    """Remember what names mean in the account's chat, beside what is remembered already."""
    whose = _whose(reader.project_id, account, chat)
    keys = {**whose, "picks": Jsonb(dict(picks)), "classes": reader.classes}
    await database.execute(_PICK, keys)


async def forget_picks(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Delete what names mean, of readers who saw one of these documents."""
    facts = {"project_id": project_id, "documents": list(documents)}
    await connection.execute(_FORGET_PICKS, facts)


async def begin_anew(
    database: Database, project_id: ProjectId, account: Account, chat: Chat
) -> None:
    """Have the account's next question in the chat begin a conversation, in which nothing is picked yet."""
    await database.execute(_BEGIN_ANEW, _whose(project_id, account, chat))


def _whose(project_id: ProjectId, account: Account, chat: Chat) -> dict[str, object]:
    return {
        "project_id": project_id,
        "platform": account.platform,
        "account": account.id,
        "chat": f"{chat.id} {chat.thread}".rstrip(),
    }
