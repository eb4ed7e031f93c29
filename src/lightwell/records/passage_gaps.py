"""Published passages that still lack what the network makes of them: a vector in the active space, or the vectors of tokens.

Publishing notes them, workers claim some, and whoever reads them closes them. A passage that is deleted takes its gaps along.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.ids import ChunkId, DocumentId, ProjectId, SpaceId
from lightwell.records.database import Database

ROUND = 32
"""Passages of a document that are read in turn with those of others; also how many are claimed at once."""

_OF_DOCUMENTS = "(%(only)s::uuid[] IS NULL OR gap.document_id = ANY(%(only)s))"

# Passages without a vector come first: meaning finds nothing of them yet.
_CLAIM_VECTORS = f"""
WITH next AS (
    SELECT gap.chunk_id FROM chunk_gaps AS gap
    WHERE gap.space_id = %(space)s AND lease_is_over(gap.taken_until) AND {_OF_DOCUMENTS}
    ORDER BY gap.round, gap.chunk_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE chunk_gaps AS gap SET taken_until = now() + make_interval(secs => %(seconds)s)
FROM next WHERE gap.chunk_id = next.chunk_id AND gap.space_id = %(space)s
RETURNING gap.chunk_id
"""  # noqa: S608 - only our own words

_CLAIM_TOKENS = f"""
WITH next AS (
    SELECT gap.chunk_id
    FROM multi_vector_gaps AS gap JOIN source_documents AS document USING (document_id)
    WHERE document.project_id = %(project_id)s AND lease_is_over(gap.taken_until) AND {_OF_DOCUMENTS}
      AND NOT EXISTS (SELECT FROM chunk_gaps AS other WHERE other.chunk_id = gap.chunk_id AND other.space_id = %(space)s)
    ORDER BY gap.round, gap.chunk_id LIMIT %(limit)s FOR UPDATE OF gap SKIP LOCKED
)
UPDATE multi_vector_gaps AS gap SET taken_until = now() + make_interval(secs => %(seconds)s)
FROM next WHERE gap.chunk_id = next.chunk_id
RETURNING gap.chunk_id
"""  # noqa: S608 - only our own words

_RELEASE_TOKENS = """
WITH held AS (
    SELECT chunk_id FROM multi_vector_gaps WHERE chunk_id = ANY(%(chunks)s)
    ORDER BY chunk_id FOR UPDATE SKIP LOCKED
)
UPDATE multi_vector_gaps AS gap SET taken_until = NULL FROM held WHERE gap.chunk_id = held.chunk_id
"""

_HAS_NO_VECTOR = "SELECT EXISTS (SELECT FROM chunk_gaps WHERE space_id = %(space)s)"

_IS_TAKEN = f"""
SELECT EXISTS (SELECT FROM chunk_gaps AS gap
               WHERE gap.space_id = %(space)s AND NOT lease_is_over(gap.taken_until) AND {_OF_DOCUMENTS})
    OR EXISTS (SELECT FROM multi_vector_gaps AS gap JOIN source_documents AS document USING (document_id)
               WHERE document.project_id = %(project_id)s AND NOT lease_is_over(gap.taken_until) AND {_OF_DOCUMENTS})
"""  # noqa: S608 - only our own words

_PROGRESS = """
SELECT document.document_id, document.source_url AS url, document.chunk_count AS total,
       (SELECT count(*) FROM (
            SELECT chunk_id FROM chunk_gaps AS gap
            WHERE gap.document_id = document.document_id AND gap.space_id = %(space)s
            UNION
            SELECT chunk_id FROM multi_vector_gaps AS gap
            WHERE gap.document_id = document.document_id AND %(with_tokens)s) AS lacking) AS waiting
FROM source_documents AS document WHERE document.document_id = ANY(%(documents)s)
ORDER BY document.document_id
"""


_WAITING = f"""
SELECT document.document_id, document.source_url AS url, document.chunk_count AS total, count(*) AS waiting
FROM (SELECT chunk_id, document_id FROM chunk_gaps AS gap WHERE gap.space_id = %(space)s AND {_OF_DOCUMENTS}
      UNION
      SELECT chunk_id, document_id
      FROM multi_vector_gaps AS gap JOIN source_documents AS document USING (document_id)
      WHERE %(with_tokens)s AND document.project_id = %(project_id)s AND {_OF_DOCUMENTS}) AS lacking
JOIN source_documents AS document USING (document_id)
GROUP BY document.document_id ORDER BY document.document_id
"""  # noqa: S608 - only our own words


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGaps:
    """How many passages a document has, and how many of them are `waiting` to be read."""

    document_id: DocumentId
    url: str
    total: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose gaps are meant: those of a project and its active space, `only` those of these documents, None for all.

    After `seconds` without an end, another process reads what a process that died had claimed.
    """

    project_id: ProjectId
    space: SpaceId
    seconds: float
    only: Sequence[DocumentId] | None = None

    @property
    def parameters(self) -> dict[str, object]:
        return {
            "project_id": self.project_id,
            "space": self.space,
            "only": None if self.only is None else list(self.only),
            "seconds": self.seconds,
            "limit": ROUND,
        }


async def claim_without_vector(database: Database, scope: Scope) -> list[ChunkId]:
    """Claim a few of the passages that have no vector in the active space, the first ones of each document first."""
    return await database.values(_CLAIM_VECTORS, scope.parameters)


async def claim_for_change(
    database: Database, space: SpaceId, *, limit: int, seconds: float
) -> list[ChunkId]:
    """Claim up to `limit` passages that have no vector in this space, to which the project is changed."""
    parameters = {"space": space, "only": None, "limit": limit, "seconds": seconds}
    return await database.values(_CLAIM_VECTORS, parameters)


async def claim_without_tokens(database: Database, scope: Scope) -> list[ChunkId]:
    """Claim a few of the passages that have a vector but none of their tokens."""
    return await database.values(_CLAIM_TOKENS, scope.parameters)


async def release_tokens(database: Database, chunks: Sequence[ChunkId]) -> None:
    """Give up claims on passages that still lack the vectors of their tokens."""
    await database.execute(_RELEASE_TOKENS, {"chunks": list(chunks)})


async def is_any_without_vector(database: Database, space: SpaceId) -> bool:
    """Return whether a passage has no vector in this space."""
    return await database.value(_HAS_NO_VECTOR, {"space": space})


async def is_taken(database: Database, scope: Scope) -> bool:
    """Return whether somebody reads passages at the moment."""
    return await database.value(_IS_TAKEN, scope.parameters)


async def list_waiting(
    database: Database, scope: Scope, *, with_tokens: bool
) -> list[DocumentGaps]:
    """Return the documents that lack vectors, also those of tokens if asked, by id."""
    parameters = {**scope.parameters, "with_tokens": with_tokens}
    return await database.rows(_WAITING, parameters, into=DocumentGaps)


async def count(
    database: Database, space: SpaceId, documents: Sequence[DocumentId], *, with_tokens: bool
) -> list[DocumentGaps]:
    """Return what these documents lack, by id, also the vectors of tokens if asked."""
    parameters = {"space": space, "documents": list(documents), "with_tokens": with_tokens}
    return await database.rows(_PROGRESS, parameters, into=DocumentGaps)
