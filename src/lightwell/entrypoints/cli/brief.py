"""`brief`: a cited summary of one entity."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.operations.briefs as operations
from lightwell.domain.answers import INSUFFICIENT, Confidence
from lightwell.domain.graph import Predicate, state_relation
from lightwell.entrypoints import wording
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, dim
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.operations.briefs import Brief, BriefLine, Related

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
async def brief_entity(name: Named, *, asker: Asker) -> Report:
    """Summarise an entity with citations: what it is, recent events, open points, people and links.

    If several entities have the name, they are listed with what distinguishes them; a reference selects one.
    """
    reply = await asker(operations.brief_entity, name)
    text = _brief_text(reply) if isinstance(reply, Brief) else text_output.candidates(reply)
    return Report(document=reply, text=text)


def _brief_text(brief: Brief) -> RenderableType:
    entity = brief.entity
    head = [Text.assemble((clean(entity.entity_name), "bold"), f"  {clean(entity.entity_type)}")]
    if entity.description:
        by_hand = f" ({wording.DESCRIBED_BY_HAND})"
        head.append(Text(clean(entity.description) + by_hand * entity.described_by_hand))
    if brief.confidence is Confidence.INSUFFICIENT:
        return Group(*head, Text(INSUFFICIENT))
    parts = [
        *_part(wording.ABOUT, (_line_text(line) for line in brief.about)),
        *_part(wording.LATELY, (_with_date(line) for line in brief.lately)),
        *_part(wording.OPEN, (_with_date(line) for line in brief.open_points)),
        *_part(wording.PEOPLE, (_related_text(person) for person in brief.people)),
        *_part(wording.LINKS, (_related_text(linked) for linked in brief.links)),
    ]
    sources = text_output.sources(brief.citations)
    confidence = dim(wording.confidence_line(brief.confidence))
    return Group(*head, *parts, Text(), *sources, confidence, *map(dim, brief.notes))


def _part(title: str, lines: Iterable[str]) -> list[Text]:
    body = [Text(f"  {line}") for line in lines]
    return [Text(), Text(title, style="bold"), *body] if body else []


def _line_text(line: BriefLine) -> str:
    marks = "".join(dict.fromkeys(clean(cited.id) for cited in line.citations))
    return f"{' '.join(clean(line.text).split())} {marks}"


def _with_date(line: BriefLine) -> str:
    return f"{clean(line.date)}  {_line_text(line)}" if line.date else _line_text(line)


def _related_text(related: Related) -> str:
    is_stated = related.relation in Predicate.__members__
    relation = Predicate(related.relation).words if is_stated else related.relation
    what = ", ".join(part for part in (related.entity_type, relation) if part)
    stated = state_relation(related.description, related.comparison, related.use_case)
    evidence = _line_text(related.evidence) if related.evidence else " ".join(clean(stated).split())
    return f"{clean(related.entity_name)} ({clean(what)})" + (f": {evidence}" if evidence else "")
