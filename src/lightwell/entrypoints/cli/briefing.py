"""What `brief` does."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
import lightwell.entrypoints.cli.show as show
from lightwell.domain.briefs import Brief, Line, Tie
from lightwell.domain.candidates import Candidates
from lightwell.domain.evidence import INSUFFICIENT, Confidence
from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.entrypoints.cli.show import clean
from lightwell.entrypoints.cli.waiting import question_meter

Json = Mapping[str, object]


async def brief(name: str, who: Sequence[str]) -> Report:
    """Report a brief, or which entities fit the name."""
    tags = people.tags(who)
    from lightwell.wiring import opened

    chosen, meter = settings_of_store(), question_meter()
    async with opened(chosen, meter) as kb:
        found = await kb.brief(name, await people.reader(kb, tags))
    paid = costs.spent(meter.usages, chosen)
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


def _as_json(given: Brief) -> Json:
    return {
        "queryId": str(given.query_id),
        "entity": {
            **shapes.entity_names(given.entity),
            "description": given.entity.description,
            "describedByHand": given.entity.described_by_hand,
        },
        "about": [_line(each) for each in given.about],
        "lately": [_line(each) for each in given.lately],
        "openPoints": [_line(each) for each in given.open_points],
        "people": [_tie(each) for each in given.people],
        "links": [_tie(each) for each in given.links],
        "citations": [shapes.citation(each) for each in given.citations],
        "confidence": given.confidence.value,
        "relevance": round(given.relevance, 4),
        "model": given.model,
        "notes": list(given.notes),
    }


def _line(line: Line) -> Json:
    return {
        "text": line.text,
        "date": f"{line.said_at:%Y-%m-%d}",
        "citations": [shapes.citation(each) for each in line.citations],
    }


def _tie(tie: Tie) -> Json:
    return {
        "entityRef": tie.ref,
        "entityName": tie.name,
        "entityType": tie.kind,
        "relation": tie.relation,
        "description": tie.description,
        "together": tie.together,
        "how": None if tie.how is None else _line(tie.how),
    }


# ── for people ────────────────────────────────────────────────────────────────────────────────────────


def _text(given: Brief) -> RenderableType:
    entity = given.entity
    head = [Text.assemble((clean(entity.name), "bold"), f"  {clean(entity.kind)}")]
    if entity.description:
        own = " (written by a person, not from a document)" if entity.described_by_hand else ""
        head.append(Text(clean(entity.description) + own))
    if given.confidence is Confidence.INSUFFICIENT:
        return Group(*head, Text(INSUFFICIENT))
    parts = [
        *_part("What it is", (_said(each) for each in given.about)),
        *_part("Lately", (_dated(each) for each in given.lately)),
        *_part("Open", (_dated(each) for each in given.open_points)),
        *_part("People", (_tied(each) for each in given.people)),
        *_part("Linked to", (_tied(each) for each in given.links)),
    ]
    sources = (line for each in given.citations for line in show.citation(each))
    sure = Text(f"confidence: {given.confidence.value}", style="dim")
    notes = (Text(clean(note), style="dim") for note in given.notes)
    return Group(*head, *parts, Text(), *sources, sure, *notes)


def _part(title: str, lines: Iterable[str]) -> list[Text]:
    said = [Text(f"  {line}") for line in lines]
    return [Text(), Text(title, style="bold"), *said] if said else []


def _said(line: Line) -> str:
    marks = "".join(dict.fromkeys(each.id for each in line.citations))
    return f"{' '.join(clean(line.text).split())} {marks}"


def _dated(line: Line) -> str:
    return f"{line.said_at:%Y-%m-%d}  {_said(line)}"


def _tied(tie: Tie) -> str:
    what = ", ".join(part for part in (tie.kind, tie.relation) if part)
    how = _said(tie.how) if tie.how else " ".join(clean(tie.description).split())
    return f"{clean(tie.name)} ({clean(what)})" + (f": {how}" if how else "")
