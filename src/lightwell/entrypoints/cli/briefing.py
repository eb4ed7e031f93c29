"""What `brief` does."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
import lightwell.entrypoints.cli.show as show
from lightwell.domain.briefs import Brief, Candidate, Candidates, Line, Tie
from lightwell.domain.evidence import INSUFFICIENT, Confidence
from lightwell.domain.graph import Entity
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
            document = {
                "queryId": str(found.query_id),
                "name": found.name,
                "candidates": [
                    {**_entity(each.entity), "apart": dict(each.apart)} for each in found.candidates
                ],
            }
            return Report(document={**document, **usage}, text=_pick_list(found))


# ── for programs ──────────────────────────────────────────────────────────────────────────────────────


def _as_json(given: Brief) -> Json:
    return {
        "queryId": str(given.query_id),
        "entity": {
            **_entity(given.entity),
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


def _entity(entity: Entity) -> Json:
    return {
        "entityId": str(entity.id),
        "entityRef": entity.ref,
        "entityName": entity.name,
        "entityType": entity.kind,
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
        own = " (a person's word, not from a document)" if entity.described_by_hand else ""
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


def _pick_list(found: Candidates) -> RenderableType:
    several = f"Which one? {len(found.candidates)} may be meant by {found.name!r}."
    single = f"Nothing is called {found.name!r}. Is this the one?"
    lines = [Text(clean(several if len(found.candidates) > 1 else single))]
    for each in found.candidates:
        lines += [Text(), *_candidate(each)]
    return Group(*lines, Text(), Text("Name one by its reference.", style="dim"))


def _candidate(given: Candidate) -> Iterable[Text]:
    yield Text.assemble((clean(given.entity.name), "bold"), f"  {clean(given.entity.ref)}")
    for field, value in given.apart.items():
        yield Text(clean(f"  {field}: {' '.join(value.split())}"))
