"""What business systems say that we owe: items with a deadline, and items in which our own people wrote."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from lightwell.domain.access import Reader
from lightwell.domain.documents import Chunk
from lightwell.domain.ids import ChunkId, EntityId
from lightwell.domain.questions import Filters
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.filters import matches_filters

_MOST = 40
"""Passages of items with a deadline, the earliest first, and as many of items with words of our own people, the newest first."""

# What systems have stored under a name, or under a longer name that begins with it.
_CALLED = """
SELECT DISTINCT stated.entity_id, stated.normalized_name
FROM entity_names AS stated JOIN entities AS entity USING (entity_id)
WHERE entity.project_id = %(project_id)s
  AND (stated.normalized_name = ANY(%(names)s) OR stated.normalized_name LIKE ANY(%(begin)s))
  AND EXISTS (SELECT FROM document_entity_mentions AS mention
              WHERE mention.entity_id = stated.entity_id AND sees(%(classes)s, mention.class_id)
                AND stated.normalized_name = ANY(mention.names))
"""


_OWED = f"""
WITH item AS (
    SELECT chunk.chunk_id, chunk.chunk_index, document.document_id, document.updated_at, document.source_url,
           document.metadata ->> 'due' AS due, document.metadata ? 'own_authors' AS is_said
    FROM source_documents AS document JOIN document_chunks AS chunk USING (document_id)
    WHERE document.project_id = %(project_id)s AND document.item_ref <> '' AND NOT document.is_deleted
      AND (document.metadata ? 'due' OR document.metadata ? 'own_authors')
      AND coalesce(document.metadata ->> 'work_state', '') <> 'closed'
      AND sees(%(classes)s, document.class_id) AND sees(%(classes)s, chunk.class_id)
      AND {matches_filters("chunk.chunk_id")}
      AND NOT EXISTS (
          SELECT FROM jsonb_array_elements(%(subjects)s::jsonb) AS subject
          WHERE NOT EXISTS (
              SELECT FROM document_chunks AS part
              JOIN document_entity_mentions AS mention ON mention.chunk_id = part.chunk_id AND sees(%(classes)s, mention.class_id)
              WHERE part.document_id = document.document_id AND sees(%(classes)s, part.class_id)
                AND subject ? mention.entity_id::text))
)
(SELECT chunk_id FROM item
 WHERE chunk_index = 0 AND due BETWEEN %(first)s AND %(last)s
 ORDER BY due, source_url COLLATE "C" LIMIT %(most)s)
UNION
(SELECT chunk_id FROM item WHERE is_said
 ORDER BY updated_at DESC, source_url COLLATE "C", chunk_index LIMIT %(most)s)
"""  # noqa: S608 - only our own words


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledEntity:
    """An entity that a system has stored, and its normalised name."""

    id: EntityId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedFilter:
    """Items due from `first` to `last` that mention one of each of the `subjects`, and match the filters."""

    first: date
    last: date
    subjects: Sequence[Sequence[EntityId]]
    filters: Filters


async def find_called(
    database: Database, reader: Reader, names: Sequence[str]
) -> list[CalledEntity]:
    """Return the reader's entities of business systems that have one of these normalised names, or a longer one that begins with it."""
    begin = [
        f"{name.replace(chr(92), '').replace('%', '').replace('_', chr(92) + '_')} %"
        for name in names
    ]
    parameters = {**reader.parameters, "names": list(names), "begin": begin}
    rows = await database.rows(_CALLED, parameters)
    return [CalledEntity(id=entity_id, name=name) for entity_id, name in rows]


async def list_owed(database: Database, reader: Reader, owed_filter: OwedFilter) -> list[Chunk]:
    """Return passages of the reader's open items that are due in this time or have words of our own people, in no order."""
    ids: list[ChunkId] = await database.values(
        _OWED,
        {
            **reader.parameters,
            "first": owed_filter.first.isoformat(),
            "last": owed_filter.last.isoformat(),
            "most": _MOST,
            "subjects": json.dumps([list(map(str, subject)) for subject in owed_filter.subjects]),
            **owed_filter.filters.parameters,
        },
    )
    return list((await search.get_chunks(database, reader, ids)).values())
