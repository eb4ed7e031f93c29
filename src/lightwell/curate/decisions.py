"""The last decisions about links and merges, so that each can be taken back."""

from datetime import datetime

from lightwell.curate.links import Links
from lightwell.domain.access import Reader
from lightwell.domain.decisions import DecidedKind, Decision
from lightwell.domain.links import EntityLink, LinkStatus
from lightwell.domain.merges import ActiveMerge
from lightwell.records.database import Database
from lightwell.records.graph import entities, merge_candidates, merges


async def list_decisions(
    database: Database, reader: Reader, links: Links, *, limit: int
) -> list[Decision]:
    """Return up to `limit` decisions that are in effect and of which the reader sees both sides, the latest first."""
    decisions = [
        *(
            _of_link(link, link.decided_at)
            for link in await links.decided(reader, limit=limit)
            if link.decided_at
        ),
        *map(_of_merge, await merges.list_active(database, reader, after=None, limit=limit)),
        *await _rejected(database, reader, limit=limit),
    ]
    decisions.sort(key=lambda decision: (decision.decided_at, decision.names), reverse=True)
    return decisions[:limit]


def _of_link(link: EntityLink, decided_at: datetime) -> Decision:
    return Decision(
        kind=DecidedKind.LINK,
        is_confirmed=link.status is LinkStatus.CONFIRMED,
        id=str(link.id),
        names=(link.source.name, link.target.name),
        entities=(link.source.id, link.target.id),
        decided_at=decided_at,
        decided_by=link.decided_by,
        link_type=link.type,
    )


def _of_merge(merge: ActiveMerge) -> Decision:
    return Decision(
        kind=DecidedKind.MERGE,
        is_confirmed=True,
        id=str(merge.merge_id),
        names=(merge.target, *merge.sources),
        entities=(),
        decided_at=merge.merged_at,
    )


async def _rejected(database: Database, reader: Reader, *, limit: int) -> list[Decision]:
    rejected = await merge_candidates.list_rejected(database, reader, limit=limit)
    ids = {end for rejection in rejected for end in (rejection.one, rejection.other)}
    by_id = await entities.get_many(database, reader, sorted(ids))
    return [
        Decision(
            kind=DecidedKind.MERGE,
            is_confirmed=False,
            id="",
            names=(by_id[rejection.one].name, by_id[rejection.other].name),
            entities=(rejection.one, rejection.other),
            decided_at=rejection.rejected_at,
            decided_by=rejection.rejected_by,
        )
        for rejection in rejected
        if rejection.one in by_id and rejection.other in by_id
    ]
