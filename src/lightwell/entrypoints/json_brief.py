"""A brief as JSON, with the keys that HTTP uses."""

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.briefs import Brief, BriefLine, RelatedEntity
from lightwell.domain.candidates import Candidates
from lightwell.entrypoints.json_output import Json


def brief(brief: Brief) -> Json:
    """Return a brief with its citations."""
    return {
        "queryId": str(brief.query_id),
        "entity": {
            **json_output.entity_names(brief.entity),
            "description": brief.entity.description,
            "describedByHand": brief.entity.described_by_hand,
        },
        "about": [_line(each) for each in brief.about],
        "lately": [_line(each) for each in brief.lately],
        "openPoints": [_line(each) for each in brief.open_points],
        "people": [_related(each) for each in brief.people],
        "links": [_related(each) for each in brief.links],
        "citations": [json_output.citation(each) for each in brief.citations],
        "confidence": brief.confidence.value,
        "relevance": round(brief.relevance, 4),
        "model": brief.model,
        "notes": list(brief.notes),
    }


def candidates(found: Candidates) -> Json:
    """Return what a name may mean, where it means several entities, with the id of the query."""
    return {"queryId": str(found.query_id), **json_output.candidates(found)}


def _line(line: BriefLine) -> Json:
    return {
        "text": line.text,
        "date": f"{line.said_at:%Y-%m-%d}" if line.said_at else None,
        "citations": [json_output.citation(each) for each in line.citations],
    }


def _related(related: RelatedEntity) -> Json:
    return {
        "entityRef": related.ref,
        "entityName": related.name,
        "entityType": related.kind,
        "relation": related.relation,
        "description": related.description,
        "comparison": related.comparison,
        "useCase": related.use_case,
        "coMentions": related.co_mentions,
        "evidence": None if related.evidence is None else _line(related.evidence),
    }
