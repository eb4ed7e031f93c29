"""Requests that were carried out, so that the same request again has no second effect and gets the same response."""

from collections.abc import Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.errors import KeyReused
from lightwell.domain.ids import DocumentId, JobId, ProjectId
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import IdempotencyKey, IngestResponse
from lightwell.records.database import Connection
from lightwell.records.rows import fetch

_FORGET = """
DELETE FROM idempotency_keys WHERE project_id = %(project_id)s AND created_at < now() - interval '1 day'
"""

_CLAIM = """
INSERT INTO idempotency_keys (project_id, owner, key, fingerprint)
VALUES (%(project_id)s, %(owner)s, %(key)s, %(fingerprint)s)
ON CONFLICT DO NOTHING
"""

_FIND = """
SELECT fingerprint, jobs FROM idempotency_keys
WHERE project_id = %(project_id)s AND owner = %(owner)s AND key = %(key)s
"""

_STORE = """
UPDATE idempotency_keys SET jobs = %(jobs)s
WHERE project_id = %(project_id)s AND owner = %(owner)s AND key = %(key)s
"""


async def find(
    connection: Connection, project_id: ProjectId, key: IdempotencyKey
) -> tuple[IngestResponse, ...] | None:
    """Return what the key's request got, None where it is new; raise `KeyReused` where it came with another request."""
    for fingerprint, jobs in await fetch(connection, _FIND, _fields(project_id, key)):
        if fingerprint != key.fingerprint:
            raise KeyReused(
                "This Idempotency-Key came with another request before: send a new key with a new request"
            )
        return tuple(
            IngestResponse(
                job_id=JobId(UUID(job)),
                document_id=DocumentId(UUID(document)),
                status=JobState.QUEUED,
                estimated_chunks=chunks,
            )
            for job, document, chunks in jobs
        )
    return None


async def claim(
    connection: Connection, project_id: ProjectId, key: IdempotencyKey
) -> tuple[IngestResponse, ...] | None:
    """Store the key and return None, or what `find` returns; keys are kept for a day.

    It belongs to the transaction that carries the request out: an equal request waits for its end.
    """
    await connection.execute(_FORGET, {"project_id": project_id})
    if (await connection.execute(_CLAIM, _fields(project_id, key))).rowcount:
        return None
    return await find(connection, project_id, key)


async def store(
    connection: Connection,
    project_id: ProjectId,
    key: IdempotencyKey,
    responses: Sequence[IngestResponse],
) -> None:
    """Store what the request got, in the transaction that carries it out."""
    jobs = [
        [str(response.job_id), str(response.document_id), response.estimated_chunks]
        for response in responses
    ]
    await connection.execute(_STORE, {**_fields(project_id, key), "jobs": Jsonb(jobs)})


def _fields(project_id: ProjectId, key: IdempotencyKey) -> dict[str, object]:
    return {
        "project_id": project_id,
        "owner": key.owner,
        "key": key.text,
        "fingerprint": key.fingerprint,
    }
