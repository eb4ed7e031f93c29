"""Answers, passages and candidates as text for people."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.answer import quotes
from lightwell.answer.quotes import render_text
from lightwell.domain.answers import Answer, Citation
from lightwell.domain.candidates import Candidate, Candidates
from lightwell.domain.chat import GRAPH_SOURCE
from lightwell.domain.documents import Locator
from lightwell.domain.evidence import Retrieval
from lightwell.domain.health import Check
from lightwell.entrypoints.cli.console import clean, dim, new_table, unwrapped_line

_MAX_SHOWN = 3
"""Entities that are shown of an ambiguous name below an answer: enough to see that another one may be meant."""

_MAX_DISTINGUISHING = 80


SUPPLIED = "passage supplied by hand, not read from its source"


def describe_place(locator: Locator, title: str) -> str:
    """Return a place in the document with this title, such as `page 3, Radio › Range`; "" for the whole document."""
    pages = ""
    if locator.page is not None:
        several = locator.last_page is not None and locator.last_page > locator.page
        pages = f"pages {locator.page}–{locator.last_page}" if several else f"page {locator.page}"
    section = locator.section[1:] if locator.section[:1] == (title,) else locator.section
    return clean(", ".join(part for part in (pages, " › ".join(section)) if part))


def answer(answer: Answer) -> RenderableType:
    """Return an answer with its numbered citations, or the nearest passages if there is no answer."""
    return Group(highlight(answer.text, answer.highlights), citations_and_notes(answer))


def highlight(answer: str, spans: Sequence[tuple[int, int]]) -> Text:
    """Return an answer's text with its key sentences, at these start and end characters, in bold."""
    text = Text()
    at = 0
    for start, end in spans:
        text.append(clean(answer[at:start]))
        text.append(clean(answer[start:end]), style="bold")
        at = end
    return text.append(clean(answer[at:]))


def citations_and_notes(answer: Answer) -> RenderableType:
    """Return the lines below an answer's text: its numbered citations or the nearest passages, then notes."""
    notes = (dim(note) for note in answer.notes)
    picks = ambiguous_names(answer.ambiguous_names)
    if not answer.is_answered:
        return Group(*nearest(answer.nearest), *notes, *picks)
    sources = (line for cited in answer.citations for line in citation(cited))
    trust = dim(f"confidence: {answer.confidence.value}")
    return Group(Text(), *sources, trust, *notes, *picks)


def statements(answer: Answer) -> RenderableType:
    """Return statements with their dates and numbered citations, or the nearest passages if there are none."""
    if not answer.is_answered:
        return Group(Text(answer.text), citations_and_notes(answer))
    lines: list[RenderableType] = []
    for each in answer.sentences:
        lines.append(Text(f"• {clean(each.marked_text)}"))
        lines += statement_dates(each.said_at, each.dates)
    return Group(*lines, citations_and_notes(answer))


def statement_dates(said_at: datetime | None, dates: Sequence[str]) -> list[Text]:
    """Return the line below a statement with its document's date and the dates that it names, nothing where there are none."""
    said = [f"{said_at:%Y-%m-%d}"] if said_at else []
    named = [f"names {clean(', '.join(dates))}"] if dates else []
    return [dim(f"  {'; '.join([*said, *named])}")] if said or named else []


def retrieval(retrieval: Retrieval) -> RenderableType:
    """Return the evidence as a table, best first, with the most relevant part of each passage."""
    from lightwell.answer import quotes

    if not retrieval.evidence:
        nothing = Text("No passage that you may see is relevant to this question.")
        return Group(nothing, *ambiguous_names(retrieval.ambiguous_names))
    table = new_table("#", "relevance", "document", "where", "snippet")
    table.columns[0].justify = table.columns[1].justify = "right"
    for rank, each in enumerate(retrieval.evidence, start=1):
        best = quotes.make_nearest_citation(rank, each)
        table.add_row(
            str(rank),
            f"{each.relevance:.2f}",
            clean(best.document_title),
            describe_place(best.locator, best.document_title),
            " ".join(clean(best.snippet).split()),
        )
    doubt = "None of these passages reaches the threshold of 0.60 for an answer."
    lines = [*retrieval.notes, *(() if retrieval.is_sufficient else (doubt,))]
    return Group(table, *map(dim, lines), *ambiguous_names(retrieval.ambiguous_names))


def checks(checks: Sequence[Check]) -> RenderableType:
    """Return the checks of `doctor`, each failed one with its fix."""
    lines: list[RenderableType] = []
    widest = max((len(each.name) for each in checks), default=0)
    for each in checks:
        mark = Text("ok   ", style="green") if each.ok else Text("FAIL ", style="bold red")
        lines.append(
            Text.assemble(mark, "  ", (each.name.ljust(widest), "bold"), "  ", clean(each.detail))
        )
        if each.fix and not each.ok:
            lines.append(Text(f"       → {clean(each.fix)}"))
    return Group(*lines)


def citation(citation: Citation) -> Iterable[Text]:
    """Yield a citation's lines: its mark, its place, its URL, and its key sentence."""
    where = describe_place(citation.locator, citation.document_title)
    title = clean(citation.document_title)
    supplied = f" ({SUPPLIED})" if citation.is_supplied else ""
    yield Text.assemble((citation.id, "bold"), " ", title, f", {where}" if where else "", supplied)
    yield unwrapped_line((f"    {clean(citation.source_url)}", "dim"))
    snippet = citation.snippet
    key = render_text(snippet, citation.highlight) or render_text(snippet) or snippet
    yield Text(f"    “{' '.join(clean(quotes.shorten(key)).split())}”")
    yield Text()


def nearest(citations: Sequence[Citation]) -> Iterable[Text]:
    """Yield the nearest passages of a question without an answer: place and words, the key sentence in bold."""
    if citations:
        yield Text()
        yield dim("Possibly relevant:")
    for cited in citations:
        where = describe_place(cited.locator, cited.document_title)
        yield Text()
        yield Text(f"  {clean(cited.document_title)}" + (f", {where}" if where else ""))
        yield unwrapped_line((f"    {clean(cited.source_url)}", "dim"))
        yield _snippet(cited)


def _snippet(cited: Citation) -> Text:
    """Return a citation's words without markup, with the key sentence in bold."""
    text = Text("\n".join(f"    {line}" for line in clean(render_text(cited.snippet)).split("\n")))
    key = clean(render_text(cited.snippet, cited.highlight))
    at = text.plain.find(key) if key else -1
    if at >= 0:
        text.stylize("bold", at, at + len(key))
    return text


def chat_response(
    text: str,
    citations: Sequence[Citation],
    closest: Sequence[Citation],
    are_of_graph: Sequence[bool],
    names: Sequence[Candidates],
) -> list[Text]:
    """Return a chat's response, then its sources or the closest passages; the last line is empty.

    `are_of_graph` tells of each source, by its number, whether it is a statement of the graph and no passage.
    """
    lines = [Text(clean(text)), *nearest(closest), Text()]
    for cited in citations:
        lines += citation(cited)
    for place, is_of_graph in enumerate(are_of_graph, start=1):
        if is_of_graph:
            lines += [Text.assemble((f"[{place}]", "bold"), f" {GRAPH_SOURCE}"), Text()]
    if names:
        lines += [*ambiguous_names(names), Text()]
    return lines


def candidates(candidates: Candidates) -> RenderableType:
    """Return the entities that a name may mean, with what distinguishes them."""
    several = f"{candidates.name!r} may mean {len(candidates.candidates)} different entities."
    single = f"There is no entity named {candidates.name!r}. Did you mean this one?"
    lines = [Text(clean(several if len(candidates.candidates) > 1 else single))]
    for each in candidates.candidates:
        lines += [Text(), *_candidate(each)]
    return Group(
        *lines, Text(), Text("Run the command again with the reference of one.", style="dim")
    )


def ambiguous_names(found: Sequence[Candidates]) -> Iterable[Text]:
    """Yield the entities that each ambiguous name of a question may mean."""
    for several in found:
        count, name = len(several.candidates), several.name
        yield Text()
        yield Text(clean(f"{name!r} may mean {count} different entities:"))
        for candidate in several.candidates[:_MAX_SHOWN]:
            yield _candidate_line(candidate)
        if count > _MAX_SHOWN:
            yield dim(
                clean(f"  and {count - _MAX_SHOWN} more: `lightwell brief {name!r}` lists all")
            )
    if found:
        yield dim("Ask again with the full name or the e-mail address of the one you mean.")


def _candidate_line(candidate: Candidate) -> Text:
    """Return an entity in one line, with the first of what distinguishes it."""
    first = next((" ".join(value.split()) for value in candidate.distinguishing.values()), "")
    entity = candidate.entity
    more = f": {quotes.shorten(first, _MAX_DISTINGUISHING)}" if first else ""
    return Text.assemble("  ", (clean(entity.name), "bold"), f"  {clean(entity.ref)}{clean(more)}")


def _candidate(candidate: Candidate) -> Iterable[Text]:
    yield Text.assemble((clean(candidate.entity.name), "bold"), f"  {clean(candidate.entity.ref)}")
    for field, value in candidate.distinguishing.items():
        yield Text(clean(f"  {field}: {' '.join(value.split())}"))
