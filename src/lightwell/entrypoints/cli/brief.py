"""`brief`: a cited summary of one entity."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.json_brief as json_brief
from lightwell.domain.answers import INSUFFICIENT, Confidence
from lightwell.domain.briefs import Brief
from lightwell.domain.candidates import Candidates
from lightwell.domain.graph import Predicate, state_relation
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.costs import report_with_costs
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import As, Server
from lightwell.entrypoints.cli.progress import question_meter
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.briefs import BriefLineSchema, BriefResponse, RelatedSchema

brief = single_command()


Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Name, reference or id of a company, deal, person or project."
    ),
]


@command(
    brief,
    "brief",
    'lightwell brief "Nordwind Energie" --as team:sales',
    "lightwell brief ENG-42 --as team:engineering --json",
    'lightwell brief "Nordwind Energie" --server http://127.0.0.1:8000',
)
async def brief_entity(name: Named, *, who: As = None, server: Server = None) -> Report:
    """Summarise an entity with citations: what it is, recent events, open points, people and links.

    If several entities have the name, they are listed with what distinguishes them; a reference selects one.
    """
    from lightwell.entrypoints.schemas.briefs import brief_response

    if login := choose_server(server, who):
        return await _brief_from_server(name, login)
    meter = question_meter()
    async with open_as(who, meter) as (kb, reader):
        found = await kb.questions.brief(name, reader)
    match found:
        case Brief():
            text = _brief_text(brief_response(found))
            return report_with_costs(meter, json_brief.brief(found), text)
        case Candidates():
            return report_with_costs(
                meter, json_brief.candidates(found), text_output.candidates(found)
            )


async def _brief_from_server(name: str, login: Login) -> Report:
    """Report a server's brief, or the entities that the name may mean."""
    from lightwell.entrypoints.cli import server_output
    from lightwell.entrypoints.client import question_calls
    from lightwell.entrypoints.schemas.briefs import BriefResponse

    reply = await send(question_calls.brief(name), login)
    if isinstance(reply, BriefResponse):
        return Report(document=dump(reply), text=_brief_text(reply))
    return Report(
        document=dump(reply), text=text_output.candidates(server_output.candidates(reply))
    )


def _brief_text(brief: "BriefResponse") -> RenderableType:
    from lightwell.entrypoints.cli import server_output

    entity = brief.entity
    head = [Text.assemble((clean(entity.entity_name), "bold"), f"  {clean(entity.entity_type)}")]
    if entity.description:
        own = (
            " (written by a person, not taken from a document)" if entity.described_by_hand else ""
        )
        head.append(Text(clean(entity.description) + own))
    if brief.confidence == Confidence.INSUFFICIENT.value:
        return Group(*head, Text(INSUFFICIENT))
    parts = [
        *_part("What it is", (_line_text(each) for each in brief.about)),
        *_part("Lately", (_with_date(each) for each in brief.lately)),
        *_part("Open", (_with_date(each) for each in brief.open_points)),
        *_part("People", (_related_text(each) for each in brief.people)),
        *_part("Linked to", (_related_text(each) for each in brief.links)),
    ]
    cited = map(server_output.citation, brief.citations)
    sources = (line for each in cited for line in text_output.citation(each))
    sure = Text(f"confidence: {clean(brief.confidence)}", style="dim")
    notes = (Text(clean(note), style="dim") for note in brief.notes)
    return Group(*head, *parts, Text(), *sources, sure, *notes)


def _part(title: str, lines: Iterable[str]) -> list[Text]:
    body = [Text(f"  {line}") for line in lines]
    return [Text(), Text(title, style="bold"), *body] if body else []


def _line_text(line: "BriefLineSchema") -> str:
    marks = "".join(dict.fromkeys(clean(each.id) for each in line.citations))
    return f"{' '.join(clean(line.text).split())} {marks}"


def _with_date(line: "BriefLineSchema") -> str:
    return f"{clean(line.date)}  {_line_text(line)}" if line.date else _line_text(line)


def _related_text(related: "RelatedSchema") -> str:
    is_stated = related.relation in Predicate.__members__
    relation = Predicate(related.relation).words if is_stated else related.relation
    what = ", ".join(part for part in (related.entity_type, relation) if part)
    said = state_relation(related.description, related.comparison, related.use_case)
    evidence = _line_text(related.evidence) if related.evidence else " ".join(clean(said).split())
    return f"{clean(related.entity_name)} ({clean(what)})" + (f": {evidence}" if evidence else "")
