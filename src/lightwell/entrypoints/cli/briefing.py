"""What `brief` does."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
import lightwell.entrypoints.cli.show as show
from lightwell.domain.briefs import Brief, BriefLine, RelatedEntity
from lightwell.domain.candidates import Candidates
from lightwell.domain.evidence import INSUFFICIENT, Confidence
from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.entrypoints.cli.show import clean
from lightwell.entrypoints.cli.waiting import question_meter

Json = Mapping[str, object]


async def brief(name: str, who: Sequence[str]) -> Report:
    """Report a brief, or which entities fit the name."""
    tags = people.tags(who)
    from lightwell.wiring import open_knowledge_base

    chosen, meter = settings_of_store(), question_meter()
    async with open_knowledge_base(chosen, meter) as kb:
        found = await kb.brief(name, await people.reader(kb, tags))
    paid = costs.actual_costs(meter.usages, chosen)
    usage = {"usage": paid.document()}
    match found:
        case Brief():
            return Report(
                document={**_as_json(found), **usage}, text=Group(_text(found), *paid.lines())
            )
        case Candidates():
            document = {"queryId": str(found.query_id), **shapes.pick_list(found)}
            return Report(document={**document, **usage}, text=show.pick_list(found))


# ── for programs ──────────────────────────────────────────────────────────────────────────────────────


def _as_json(brief: Brief) -> Json:
    return {
        "queryId": str(brief.query_id),
        "entity": {
            **shapes.entity_names(brief.entity),
            "description": brief.entity.description,
            "describedByHand": brief.entity.described_by_hand,
        },
        "about": [_line(each) for each in brief.about],
        "lately": [_line(each) for each in brief.lately],
        "openPoints": [_line(each) for each in brief.open_points],
        "people": [_related_json(each) for each in brief.people],
        "links": [_related_json(each) for each in brief.links],
        "citations": [shapes.citation(each) for each in brief.citations],
        "confidence": brief.confidence.value,
        "relevance": round(brief.relevance, 4),
        "model": brief.model,
        "notes": list(brief.notes),
    }


def _line(line: BriefLine) -> Json:
    return {
        "text": line.text,
        "date": f"{line.said_at:%Y-%m-%d}",
        "citations": [shapes.citation(each) for each in line.citations],
    }


def _related_json(related: RelatedEntity) -> Json:
    return {
        "entityRef": related.ref,
        "entityName": related.name,
        "entityType": related.kind,
        "relation": related.relation,
        "description": related.description,
        "together": related.co_mentions,
        "how": None if related.evidence is None else _line(related.evidence),
    }


# ── for people ────────────────────────────────────────────────────────────────────────────────────────


def _text(brief: Brief) -> RenderableType:
    entity = brief.entity
    head = [Text.assemble((clean(entity.name), "bold"), f"  {clean(entity.kind)}")]
    if entity.description:
        own = " (written by a person, not from a document)" if entity.described_by_hand else ""
        head.append(Text(clean(entity.description) + own))
    if brief.confidence is Confidence.INSUFFICIENT:
        return Group(*head, Text(INSUFFICIENT))
    parts = [
        *_part("What it is", (_line_text(each) for each in brief.about)),
        *_part("Lately", (_with_date(each) for each in brief.lately)),
        *_part("Open", (_with_date(each) for each in brief.open_points)),
        *_part("People", (_related_text(each) for each in brief.people)),
        *_part("Linked to", (_related_text(each) for each in brief.links)),
    ]
    sources = (line for each in brief.citations for line in show.citation(each))
    sure = Text(f"confidence: {brief.confidence.value}", style="dim")
    notes = (Text(clean(note), style="dim") for note in brief.notes)
    return Group(*head, *parts, Text(), *sources, sure, *notes)


def _part(title: str, lines: Iterable[str]) -> list[Text]:
    said = [Text(f"  {line}") for line in lines]
    return [Text(), Text(title, style="bold"), *said] if said else []


def _line_text(line: BriefLine) -> str:
    marks = "".join(dict.fromkeys(each.id for each in line.citations))
    return f"{' '.join(clean(line.text).split())} {marks}"


def _with_date(line: BriefLine) -> str:
    return f"{line.said_at:%Y-%m-%d}  {_line_text(line)}"


def _related_text(related: RelatedEntity) -> str:
    what = ", ".join(part for part in (related.kind, related.relation) if part)
    how = (
        _line_text(related.evidence)
        if related.evidence
        else " ".join(clean(related.description).split())
    )
    return f"{clean(related.name)} ({clean(what)})" + (f": {how}" if how else "")
