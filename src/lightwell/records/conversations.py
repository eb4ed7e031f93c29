"""Conversations. A conversation returns only turns that its owner may still see.

It belongs to the person whom a credential names, whatever tags that person has later, else to the API key, and without a
credential to exactly the tags that began it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from lightwell.domain.access import Reader
from lightwell.domain.answers import StoredExchange
from lightwell.domain.chat import (
    ChatMessage,
    Conversation,
    ConversationTurn,
    Exchange,
    Role,
    ShownAnswer,
    Thread,
    parse_conversation_cursor,
)
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ConversationId, DocumentId, ProjectId, new_id
from lightwell.domain.questions import CitedPlace
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch, fetch_values

MAX_MESSAGES = 20
MAX_TURNS = 50
_MAX_TITLE_LENGTH = 80

_ANSWER_JSON: TypeAdapter[ShownAnswer] = TypeAdapter(ShownAnswer)

_BEGIN = """
INSERT INTO conversations (conversation_id, project_id, owner) VALUES (%(conversation)s, %(project_id)s, keyed_hash(%(project_id)s, %(owner)s))
"""

_OWN = """
SELECT FROM conversations
WHERE conversation_id = %(conversation)s AND project_id = %(project_id)s AND owner = keyed_hash(%(project_id)s, %(owner)s)
"""

_SAYS = """
(told.text IN (profile.display_name, profile.entity_kind) OR strpos(profile.description, told.text) > 0
 OR strpos(profile.comparison, told.text) > 0 OR strpos(profile.use_case, told.text) > 0)
"""

# The profile of an entity merged into the subject contains the text, or the model's summary of the merge does.
_SAID_OF_MERGED = f"""
(EXISTS (SELECT FROM profiles AS profile
         WHERE profile.subject_id = ANY(with_merged(ARRAY[told.subject_id], %(classes)s)
                                        || with_merged_relations(ARRAY[told.subject_id], %(classes)s))
           AND sees(%(classes)s, profile.class_id) AND {_SAYS})
 OR EXISTS (SELECT FROM merge_summaries AS kept
            WHERE kept.members && with_merged(ARRAY[told.subject_id], %(classes)s)
              AND sees(%(classes)s, kept.class_id) AND strpos(kept.summary, told.text) > 0))
"""  # noqa: S608 - only our own words

_SAID_OF_MERGED_BY_ANYBODY = (
    _SAID_OF_MERGED.replace("sees(%(classes)s, profile.class_id)", "true")
    .replace("sees(%(classes)s, kept.class_id)", "true")
    .replace("%(classes)s", "NULL::integer[]")
)

_READABLE = f"""
NOT EXISTS (
    SELECT FROM unnest(turn.document_ids) AS cited (document_id)
    WHERE NOT EXISTS (SELECT FROM source_documents AS document
                      WHERE document.document_id = cited.document_id AND sees(%(classes)s, document.class_id)
                        AND NOT document.is_deleted))
AND NOT EXISTS (
    SELECT FROM unnest(turn.subject_ids, turn.sayings) AS told (subject_id, text)
    WHERE NOT EXISTS (SELECT FROM profiles AS profile
                      WHERE profile.subject_id = told.subject_id AND sees(%(classes)s, profile.class_id)
                        AND {_SAYS})
      AND NOT {_SAID_OF_MERGED})
"""  # noqa: S608 - only our own words

_TURNS = f"""
SELECT role, content, cited, starts FROM (
    SELECT turn.place, turn.role, turn.content, jsonb_path_query_array(turn.answer, '$.citations[*].document_id') AS cited,
           jsonb_path_query_array(turn.answer, '$.citations[*].locator.start') AS starts
    FROM conversation_turns AS turn
    WHERE turn.conversation_id = %(conversation)s AND (%(before)s::integer IS NULL OR turn.place < %(before)s) AND {_READABLE}
    ORDER BY turn.place DESC LIMIT %(most)s
) AS latest ORDER BY place
"""  # noqa: S608 - only our own words

# `standing` has the title of the document of each citation that its document still says, by the citation's number.
_SHOWN = f"""
SELECT asked.place, asked.content AS question, asked.created_at AS asked_at, turn.content AS text, turn.answer, (
    SELECT coalesce(jsonb_object_agg(cited.quote ->> 'id', document.title), '{{}}')
    FROM jsonb_array_elements(turn.answer -> 'citations') AS cited (quote)
    JOIN source_documents AS document ON document.global_ref = cited.quote ->> 'document_ref'
    WHERE document.project_id = %(project_id)s AND sees(%(classes)s, document.class_id) AND NOT document.is_deleted
      AND (document_text(document.document_id, document.class_id, (cited.quote #>> '{{locator,start}}')::integer,
                         (cited.quote #>> '{{locator,start}}')::integer + length(cited.quote ->> 'snippet'))
               = cited.quote ->> 'snippet'
           OR (cited.quote ->> 'is_supplied')::boolean AND EXISTS (
               SELECT FROM document_chunks AS chunk
               WHERE chunk.chunk_id::text = cited.quote ->> 'chunk_id' AND sees(%(classes)s, chunk.class_id)
                 AND strpos(chunk.chunk_text, cited.quote ->> 'snippet') > 0))
) AS standing
FROM conversation_turns AS turn
JOIN conversation_turns AS asked ON asked.conversation_id = turn.conversation_id AND asked.place = turn.place - 1
WHERE turn.conversation_id = %(conversation)s AND turn.role = 'assistant' AND asked.role = 'user' AND {_READABLE}
ORDER BY turn.place DESC LIMIT %(most)s
"""  # noqa: S608 - only our own words

_TITLE_READABLE = """
NOT EXISTS (
    SELECT FROM unnest(own.document_ids) AS cited (document_id)
    WHERE NOT EXISTS (SELECT FROM source_documents AS document
                      WHERE document.document_id = cited.document_id AND sees(%(classes)s, document.class_id)
                        AND NOT document.is_deleted))
"""

_LIST = f"""
SELECT conversation.conversation_id AS id, coalesce(own.title, readable.title, '') AS title, readable.messages,
       conversation.created_at, conversation.updated_at
FROM conversations AS conversation
LEFT JOIN conversation_titles AS own ON own.conversation_id = conversation.conversation_id AND {_TITLE_READABLE}
CROSS JOIN LATERAL (
    SELECT count(*) AS messages, (array_agg(turn.content ORDER BY turn.place))[1] AS title
    FROM conversation_turns AS turn
    WHERE turn.conversation_id = conversation.conversation_id AND {_READABLE}
) AS readable
WHERE conversation.project_id = %(project_id)s AND conversation.owner = keyed_hash(%(project_id)s, %(owner)s)
  AND (%(conversation)s::uuid IS NULL OR conversation.conversation_id = %(conversation)s)
  AND (%(title)s = '' OR strpos(lower(coalesce(own.title, readable.title, '')), lower(%(title)s)) > 0)
  AND (%(after_time)s::timestamptz IS NULL
       OR (conversation.updated_at, conversation.conversation_id) < (%(after_time)s, %(after_id)s::uuid))
ORDER BY conversation.updated_at DESC, conversation.conversation_id DESC LIMIT %(most)s
"""  # noqa: S608 - only our own words

_LOCK_VISIBLE_DOCUMENTS = """
SELECT document_id FROM source_documents
WHERE document_id = ANY(%(documents)s) AND sees(%(classes)s, class_id) AND NOT is_deleted
ORDER BY document_id FOR SHARE
"""

_SUPPORTED_CLAIMS = f"""
SELECT FROM unnest(%(subjects)s::uuid[], %(sayings)s::text[]) AS told (subject_id, text)
WHERE EXISTS (SELECT FROM profiles AS profile
              WHERE profile.subject_id = told.subject_id AND sees(%(classes)s, profile.class_id)
                AND {_SAYS})
   OR {_SAID_OF_MERGED}
"""  # noqa: S608 - only our own words

_APPEND_TURN = """
INSERT INTO conversation_turns (
    conversation_id, place, role, content, document_ids, subject_ids, sayings, class_ids, answer)
SELECT %(conversation)s, coalesce(max(place) + 1, 0), %(role)s, %(content)s, %(documents)s, %(subjects)s, %(sayings)s,
       class_ids(%(classes)s), %(answer)s
FROM conversation_turns WHERE conversation_id = %(conversation)s
RETURNING place
"""

_DELETE_FROM = """
DELETE FROM conversation_turns WHERE conversation_id = %(conversation)s AND place >= %(replaces)s
"""

# A title may tell what the answers say: it has the documents of all of them.
_NAME = """
INSERT INTO conversation_titles (conversation_id, title, document_ids, class_ids)
SELECT %(conversation)s, %(title)s,
       ARRAY(SELECT DISTINCT cited FROM conversation_turns AS turn CROSS JOIN LATERAL unnest(turn.document_ids) AS cited
             WHERE turn.conversation_id = %(conversation)s),
       class_ids(%(classes)s)
ON CONFLICT (conversation_id) DO UPDATE
SET title = EXCLUDED.title, document_ids = EXCLUDED.document_ids, class_ids = EXCLUDED.class_ids
"""

_TOUCH = "UPDATE conversations SET updated_at = now() WHERE conversation_id = %(conversation)s"

_DELETE = """
DELETE FROM conversations
WHERE conversation_id = %(conversation)s AND project_id = %(project_id)s AND owner = keyed_hash(%(project_id)s, %(owner)s)
"""

_DELETE_UNSUPPORTED = f"""
DELETE FROM conversation_turns AS turn USING conversations AS conversation
WHERE conversation.conversation_id = turn.conversation_id AND conversation.project_id = %(project_id)s
  AND turn.sayings <> '{{}}'
  AND EXISTS (
    SELECT FROM unnest(turn.subject_ids, turn.sayings) AS told (subject_id, text)
    WHERE NOT EXISTS (SELECT FROM profiles AS profile
                      WHERE profile.subject_id = told.subject_id
                        AND {_SAYS})
      AND NOT {_SAID_OF_MERGED_BY_ANYBODY})
"""  # noqa: S608 - only our own words

_DELETE_CITING = "DELETE FROM conversation_turns WHERE document_ids && %(documents)s::uuid[]"

_DELETE_TITLES_CITING = (
    "DELETE FROM conversation_titles WHERE document_ids && %(documents)s::uuid[]"
)


# A turn that cites no document may still contain names that only these documents had. Readers who never saw the
# documents keep their turns: a missing turn would reveal that the documents existed.
_DELETE_UNCITED = """
DELETE FROM conversation_turns AS turn USING conversations AS conversation
WHERE conversation.conversation_id = turn.conversation_id AND conversation.project_id = %(project_id)s
  AND turn.document_ids = '{}'
  AND (turn.class_ids IS NULL
       OR turn.class_ids && ARRAY(SELECT class_id FROM source_documents WHERE document_id = ANY(%(documents)s)))
"""

_DELETE_TITLES = """
DELETE FROM conversation_titles AS own USING conversations AS conversation
WHERE conversation.conversation_id = own.conversation_id AND conversation.project_id = %(project_id)s
  AND own.class_ids && ARRAY(SELECT class_id FROM source_documents WHERE document_id = ANY(%(documents)s))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What is read back of a conversation: its messages, oldest first, and what the last answer with citations cites."""

    messages: tuple[ChatMessage, ...] = ()
    cited: tuple[CitedPlace, ...] = ()


async def recall(
    database: Database, reader: Reader, conversation: ConversationId, *, before: int | None = None
) -> Recalled:
    """Return the last twenty messages, those before number `before`, that the reader may still see, oldest first; raise `NotFound`."""
    keys = _keys(reader, conversation)
    async with database.transaction() as connection:
        await _find(connection, keys)
        parameters = {**keys, **reader.parameters, "before": before, "most": MAX_MESSAGES}
        rows = await fetch(connection, _TURNS, parameters)
    cited = ((documents, starts) for _, _, documents, starts in reversed(rows) if documents)
    documents, starts = next(cited, ((), ()))
    return Recalled(
        messages=tuple(ChatMessage(role=Role(role), content=text) for role, text, *_ in rows),
        cited=tuple(
            CitedPlace(document_id=DocumentId(UUID(document)), start=start)
            for document, start in zip(documents, starts, strict=True)
        ),
    )


async def list_turns(
    database: Database, reader: Reader, conversation: ConversationId
) -> tuple[ConversationTurn, ...]:
    """Return the last fifty exchanges that the reader may still see, with what their documents still say, oldest first; raise `NotFound`."""
    keys = _keys(reader, conversation)
    async with database.transaction() as connection:
        await _find(connection, keys)
        parameters = {**keys, **reader.parameters, "most": MAX_TURNS}
        return tuple(reversed(await fetch(connection, _SHOWN, parameters, into=_turn)))


@repeatable
async def append_exchange(
    database: Database, reader: Reader, thread: Thread, exchange: Exchange
) -> StoredExchange:
    """Store an exchange with the documents and graph claims that it cites; return where.

    If the reader may no longer see one of the sources, the exchange is not stored; what it replaces is gone all the same.
    Raises `NotFound`.
    """
    stored = thread.conversation or ConversationId(new_id())
    keys = {**_keys(reader, stored), "replaces": thread.replaces}
    sources: dict[str, Any] = {
        "documents": list(dict.fromkeys(exchange.documents)),
        "subjects": [claim.subject for claim in exchange.claims],
        "sayings": [claim.text for claim in exchange.claims],
        **reader.parameters,
    }
    places: list[int] = []
    async with database.transaction() as connection:
        if exchange.claims:
            await connection.execute(PUBLISHING_LOCK, keys)
        if thread.conversation is None:
            await connection.execute(_BEGIN, keys)
        else:
            await _find(connection, keys, lock=True)
        if thread.replaces is not None:
            await connection.execute(_DELETE_FROM, keys)
        if await _is_still_visible(connection, sources):
            for message in exchange.messages:
                turn = _turn_fields(message, exchange)
                places += await fetch_values(connection, _APPEND_TURN, {**keys, **sources, **turn})
            await connection.execute(_TOUCH, keys)
    return StoredExchange(conversation=stored, place=places[0] if places else None)


async def list_own(
    database: Database, reader: Reader, *, title: str, after: str, limit: int
) -> list[Conversation]:
    """Return the reader's own conversations, the latest first, those after the cursor `after`; raise `Invalid`.

    `title` stands in each one's title, in any case of letters.
    """
    time, last = parse_conversation_cursor(after) if after else (None, None)
    keys = {
        **_keys(reader, None),
        **reader.parameters,
        "title": title,
        "after_time": time,
        "after_id": last,
        "most": limit,
    }
    return await database.rows(_LIST, keys, into=_conversation)


async def get(database: Database, reader: Reader, conversation: ConversationId) -> Conversation:
    """Return one of the reader's own conversations; raise `NotFound`."""
    page = {"title": "", "after_time": None, "after_id": None, "most": 1}
    keys = {**_keys(reader, conversation), **reader.parameters, **page}
    rows = await database.rows(_LIST, keys, into=_conversation)
    if not rows:
        raise _not_found(conversation)
    return rows[0]


@repeatable
async def rename(
    database: Database, reader: Reader, conversation: ConversationId, title: str
) -> None:
    """Give one of the reader's own conversations a title; raise `NotFound`."""
    keys = _keys(reader, conversation)
    async with database.transaction() as connection:
        await _find(connection, keys, lock=True)
        await connection.execute(_NAME, {**keys, **reader.parameters, "title": title})


async def delete(database: Database, reader: Reader, conversation: ConversationId) -> None:
    """Delete one of the reader's own conversations; raise `NotFound`."""
    if not await database.execute(_DELETE, _keys(reader, conversation)):
        raise _not_found(conversation)


async def delete_exchanges_citing(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Delete every turn that cites one of these documents, and the titles of their conversations.

    The caller marks the documents as deleted first. `append_exchange` locks the documents that it cites, so no
    turn that cites them can be stored afterwards.
    """
    for statement in (_DELETE_CITING, _DELETE_TITLES_CITING):
        await connection.execute(statement, {"documents": list(documents)})


async def delete_uncited_exchanges(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Delete every turn that cites nothing and every title, of readers who saw one of these documents."""
    facts = {"project_id": project_id, "documents": list(documents)}
    for statement in (_DELETE_UNCITED, _DELETE_TITLES):
        await connection.execute(statement, facts)


async def delete_unsupported_exchanges(database: Database, project_id: ProjectId) -> None:
    """Delete every turn with a graph claim that the graph states to nobody any more."""
    await database.execute(_DELETE_UNSUPPORTED, {"project_id": project_id})


async def _is_still_visible(connection: Connection, sources: Mapping[str, Any]) -> bool:
    """Return whether the reader still sees all sources. Their documents cannot be deleted before the transaction ends."""
    visible = await connection.execute(_LOCK_VISIBLE_DOCUMENTS, sources)
    supported = await connection.execute(_SUPPORTED_CLAIMS, sources)
    counts = (visible.rowcount, supported.rowcount)
    return counts == (len(sources["documents"]), len(sources["sayings"]))


async def _find(connection: Connection, keys: dict[str, object], *, lock: bool = False) -> None:
    cursor = await connection.execute(f"{_OWN} FOR UPDATE" if lock else _OWN, keys)
    if not cursor.rowcount:
        raise _not_found(keys["conversation"])


def _not_found(conversation: object) -> NotFound:
    return NotFound(f"There is no conversation {conversation} that you may see")


def _keys(reader: Reader, conversation: UUID | None) -> dict[str, object]:
    # Of readers without tags no two share a conversation.
    owner = reader.named_user or " ".join(sorted(reader.tags)) or str(new_id())
    return {
        "conversation": conversation,
        "project_id": reader.project_id,
        "owner": hashlib.sha256(
            f"conversations of {reader.project_id}\n{owner}".encode()
        ).hexdigest(),
    }


def _turn_fields(message: ChatMessage, exchange: Exchange) -> dict[str, object]:
    answer = exchange.answer if message.role is Role.ASSISTANT else None
    return {
        "role": message.role.value,
        "content": message.content,
        "answer": answer and Jsonb(_ANSWER_JSON.dump_python(answer, mode="json")),
    }


def _turn(*, answer: object, standing: Mapping[str, str], **columns: Any) -> ConversationTurn:
    return ConversationTurn(answer=_answer(answer, standing), **columns)


def _answer(stored: object, standing: Mapping[str, str]) -> ShownAnswer | None:
    """Return a stored answer with the citations that stand."""
    if stored is None:
        return None
    answer = _ANSWER_JSON.validate_python(_with_context(stored))
    citations = tuple(
        replace(citation, document_title=standing[citation.id])
        for citation in answer.citations
        if citation.id in standing
    )
    is_changed = len(citations) < len(answer.citations)
    return replace(answer, citations=citations, is_changed=is_changed)


def _with_context(stored: Any) -> Any:
    """Return a stored answer as it is stored now: earlier the sentences were whole pieces, and `lead` the key sentences of the first three."""
    if "lead" not in stored:
        return stored
    lead, pieces = stored["lead"], stored["sentences"]
    context = [
        {"text": piece["text"], "highlight": (0, 0), "citations": piece["citations"]}
        for sentence, piece in zip(lead, pieces, strict=False)
        if sentence["text"] != piece["text"]
    ]
    return stored | {"sentences": [*lead, *pieces[len(lead) :]], "context": context}


def _conversation(*, title: str, **columns: Any) -> Conversation:
    line = " ".join(title.split())
    if len(line) > _MAX_TITLE_LENGTH:
        line = line[:_MAX_TITLE_LENGTH].rsplit(" ", 1)[0] + "…"
    return Conversation(title=line, **columns)
