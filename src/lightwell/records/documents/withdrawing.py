"""Takes back again, in a store that was restored from a backup, what was taken back after the backup was made."""

from collections.abc import Mapping, Sequence

from lightwell.domain.access import Tags
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.domain.withdrawals import Act, Withdrawal
from lightwell.records.database import Database, repeatable
from lightwell.records.documents import documents, erasure
from lightwell.records.locks import lock_project

# A document that was ingested after it had been deleted is there rightly.
_STANDING = """
SELECT document.project_id, document.document_id, document.acl_tags
FROM source_documents AS document
JOIN unnest(%(documents)s::uuid[], %(acts)s::text[], %(times)s::timestamptz[]) AS withdrawal (document_id, act, at)
     USING (document_id)
WHERE (withdrawal.act = 'erased' OR NOT document.is_deleted)
  AND (withdrawal.act = 'retagged' OR document.ingested_at IS NULL OR document.ingested_at <= withdrawal.at)
ORDER BY document.project_id, document.document_id
"""


async def withdraw_again(database: Database, withdrawals: Sequence[Withdrawal]) -> int:
    """Delete, erase and narrow what these say, the latest of each document; return how many documents that changed.

    No document gets an access tag that it does not have. What is derived from the documents is rebuilt by the next worker or
    ingestion; no read shows it before.
    """
    in_order = sorted(withdrawals, key=lambda withdrawal: withdrawal.at)
    latest = {withdrawal.document: withdrawal for withdrawal in in_order}
    names = {
        "documents": list(latest),
        "acts": [withdrawal.act for withdrawal in latest.values()],
        "times": [withdrawal.at for withdrawal in latest.values()],
    }
    standing: dict[ProjectId, dict[DocumentId, Tags]] = {}
    for project_id, document_id, tags in await database.rows(_STANDING, names):
        tags_before = frozenset[str](tags)
        is_narrower = latest[document_id].narrow(tags_before) != tags_before
        if latest[document_id].act is not Act.RETAGGED or is_narrower:
            standing.setdefault(project_id, {})[document_id] = tags_before
    for project_id, tags_by_document in standing.items():
        await _withdraw(database, project_id, tags_by_document, latest)
        await erasure.finish_requested(database, project_id)
    return sum(map(len, standing.values()))


@repeatable
async def _withdraw(
    database: Database,
    project_id: ProjectId,
    tags: Mapping[DocumentId, Tags],
    latest: Mapping[DocumentId, Withdrawal],
) -> None:
    by_act = {act: [document for document in tags if latest[document].act is act] for act in Act}
    narrowed = {
        document: latest[document].narrow(tags[document]) for document in by_act[Act.RETAGGED]
    }
    async with database.transaction() as connection:
        await lock_project(connection, project_id)
        await documents.tombstone(connection, project_id, by_act[Act.DELETED])
        await erasure.request(connection, project_id, by_act[Act.ERASED])
        await documents.change_access(connection, project_id, narrowed)
