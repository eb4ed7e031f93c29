"""A server's replies as text for people: as `text_output` shows the answers of a store here."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
from lightwell.domain.answers import INSUFFICIENT, Citation
from lightwell.domain.candidates import Candidate, Candidates
from lightwell.domain.documents import Locator
from lightwell.domain.graph import Entity
from lightwell.domain.ids import EntityId
from lightwell.entrypoints.cli.console import clean, dim, new_table
from lightwell.entrypoints.schemas.passages import SearchResponse
from lightwell.entrypoints.schemas.questions import (
    AmbiguousName,
    CandidateSchema,
    CitationSchema,
    QueryResponse,
    StatementsResponse,
)


def answer(reply: QueryResponse) -> RenderableType:
    """Return an answer with its numbered citations, or the nearest passages if there is no answer."""
    text = text_output.highlight(reply.answer, [(start, end) for start, end in reply.highlights])
    return Group(
        text,
        below(reply.citations, reply.nearest, reply.notes, reply.confidence),
        *_ambiguous_names(reply.ambiguous_names),
    )


def statements(reply: StatementsResponse) -> RenderableType:
    """Return statements with their dates and numbered citations, or the nearest passages if there are none."""
    lines: list[RenderableType] = [] if reply.statements else [Text(INSUFFICIENT)]
    for each in reply.statements:
        marks = "".join(clean(cited.id) for cited in each.citations)
        said_at = datetime.fromisoformat(each.said_at) if each.said_at else None
        lines += [
            Text(f"• {clean(each.text)} {marks}"),
            *text_output.statement_dates(said_at, each.dates),
        ]
    cited = {each.id: each for stated in reply.statements for each in stated.citations}
    return Group(
        *lines,
        below(list(cited.values()), reply.nearest, reply.notes, reply.confidence),
        *_ambiguous_names(reply.ambiguous_names),
    )


def below(
    citations: Sequence[CitationSchema],
    nearest: Sequence[CitationSchema],
    notes: Iterable[str],
    confidence: str,
) -> RenderableType:
    """Return the lines below an answer's text: its citations or the nearest passages, then notes."""
    remarks = (dim(clean(note)) for note in notes)
    if not citations:
        return Group(*text_output.nearest([citation(each) for each in nearest]), *remarks)
    sources = (line for each in citations for line in text_output.citation(citation(each)))
    return Group(Text(), *sources, dim(f"confidence: {clean(confidence)}"), *remarks)


def passages(reply: SearchResponse) -> RenderableType:
    """Return the passages as a table, best first."""
    if not reply.results:
        return Text("No passage that you may see is relevant to this question.")
    table = new_table("#", "relevance", "document", "snippet")
    table.columns[0].justify = table.columns[1].justify = "right"
    for number, each in enumerate(reply.results, start=1):
        title = clean(each.metadata.document_title)
        snippet = " ".join(clean(each.snippet).split())
        table.add_row(str(number), f"{each.relevance_score:.2f}", title, snippet)
    return table


def candidates(sent: AmbiguousName) -> Candidates:
    """Return what a name may mean, for display. Only what a pick list shows of an entity is sent."""
    return Candidates(
        name=sent.name, candidates=tuple(_candidate(each) for each in sent.candidates)
    )


def _ambiguous_names(sent: Sequence[AmbiguousName]) -> Iterable[Text]:
    return text_output.ambiguous_names([candidates(each) for each in sent])


def _candidate(sent: CandidateSchema) -> Candidate:
    entity = Entity(
        id=EntityId(UUID(sent.entity_id)),
        ref=sent.entity_ref,
        name=sent.entity_name,
        kind=sent.entity_type,
        description="",
        chunk_count=0,
        sources=(),
        paths=(),
    )
    return Candidate(entity=entity, distinguishing=sent.distinguishing)


def citation(sent: CitationSchema) -> Citation:
    """Return the citation for display. Its document's date is not sent, and not shown either."""
    start, end = sent.highlight or (0, 0)
    return Citation(
        id=sent.id,
        source_url=sent.source_url,
        source_system=sent.source_system,
        source_type=sent.source_type,
        document_ref=sent.document_ref,
        chunk_ref=sent.chunk_ref,
        chunk_id=sent.chunk_id,
        document_title=sent.document_title,
        created_at=datetime.fromisoformat(sent.created_at),
        dated_at=None,
        snippet=sent.snippet,
        score=sent.score,
        locator=Locator(
            page=sent.locator.page,
            last_page=sent.locator.last_page,
            section=tuple(sent.locator.section),
            start=sent.locator.start,
            end=sent.locator.end,
        ),
        highlight=(start, end),
    )
