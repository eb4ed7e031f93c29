"""Links that business systems state: stored with the document that states them, in its access class."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid5

from psycopg.types.json import Jsonb

from lightwell.domain.ids import DocumentId, GlobalRef, ProjectId
from lightwell.domain.item_structure import LinkType, StatedLink
from lightwell.records.database import Connection

_SYMMETRIC = frozenset((LinkType.SAME_AS, LinkType.RELATED_TO))

_STORE = """
INSERT INTO entity_links (
    link_id, project_id, from_ref, to_ref, class_id, link_type, directional, confidence, evidence, created_by, status,
    document_id)
SELECT given.link_id, document.project_id, source.entity_id, target.entity_id, document.class_id, given.link_type,
       given.directional, 1, given.evidence, 'system', 'confirmed', document.document_id
FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[], %(sources)s::text[], %(targets)s::text[], %(types)s::text[],
            %(directional)s::boolean[], %(evidence)s::jsonb[])
    AS given (link_id, document_id, source, target, link_type, directional, evidence)
JOIN source_documents AS document USING (document_id)
JOIN entities AS source ON source.project_id = %(project_id)s AND source.entity_ref = given.source
JOIN entities AS target ON target.project_id = %(project_id)s AND target.entity_ref = given.target
WHERE source.entity_id <> target.entity_id
ORDER BY given.link_id
ON CONFLICT (link_id) DO NOTHING
"""

_DELETE = "DELETE FROM entity_links WHERE document_id = ANY(%(documents)s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLink:
    """A link, and the document that states it."""

    document_id: DocumentId
    document_ref: GlobalRef
    link: StatedLink


async def store(
    connection: Connection, project_id: ProjectId, links: Sequence[DocumentLink]
) -> None:
    """Store the links, confirmed; each keeps its id as long as its document states it. Mentions of both ends are stored."""
    if not links:
        return
    stated = [document_link.link for document_link in links]
    await connection.execute(
        _STORE,
        {
            "project_id": project_id,
            "ids": [_link_id(document_link) for document_link in links],
            "documents": [document_link.document_id for document_link in links],
            "sources": [link.source for link in stated],
            "targets": [link.target for link in stated],
            "types": [link.type.value for link in stated],
            "directional": [link.type not in _SYMMETRIC for link in stated],
            "evidence": [
                Jsonb({"statedBy": stated.document_ref, "relation": stated.link.relation})
                for stated in links
            ],
        },
    )


async def delete(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Delete the links that these documents state."""
    await connection.execute(_DELETE, {"documents": list(documents)})


def _link_id(stated: DocumentLink) -> object:
    link = stated.link
    return uuid5(
        stated.document_id, f"{link.source} {link.type.value} {link.relation} {link.target}"
    )
