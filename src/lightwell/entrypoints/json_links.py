"""Links across systems as JSON, with the keys that HTTP uses."""

from lightwell.domain.graph import Entity
from lightwell.domain.links import EntityLink, LinkCursor, LinkEvidence, LinkQuotation
from lightwell.entrypoints.json_output import Json, entity_names


def link(found: EntityLink) -> Json:
    """Return a link as one reader sees it; its quotations only where one link is shown."""
    return {
        "linkId": str(found.id),
        "linkType": found.type.value,
        "status": found.status.value,
        "source": _end(found.source),
        "target": _end(found.target),
        "confidence": found.confidence,
        "isCertain": found.is_certain,
        "usefulness": found.usefulness,
        "learnedPoints": found.learned,
        "evidence": [_evidence(each) for each in found.evidence],
        "quotations": [_quotation(each) for each in found.quotations],
        "relation": found.relation,
        "statedBy": found.stated_by,
        "decidedBy": found.decided_by,
        "decidedAt": found.decided_at.isoformat() if found.decided_at else None,
        "expiresAt": found.expires_at.isoformat() if found.expires_at else None,
    }


def cursor_of(found: EntityLink) -> str:
    """Return the cursor after this link of a list."""
    return str(LinkCursor(usefulness=found.usefulness, id=found.id))


def _end(entity: Entity) -> Json:
    return {
        **entity_names(entity),
        "primaryUrl": entity.primary_url,
        "chunkCount": entity.chunk_count,
    }


def _evidence(evidence: LinkEvidence) -> Json:
    return {
        "name": evidence.name,
        "points": evidence.points,
        "sourceValue": evidence.source,
        "targetValue": evidence.target,
    }


def _quotation(quotation: LinkQuotation) -> Json:
    return {
        "evidence": quotation.evidence,
        "snippet": quotation.text,
        "documentUrl": quotation.url,
        "documentTitle": quotation.title,
    }
