"""Answers, passages and candidates as text for people."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.answers import INSUFFICIENT, StepKind
from lightwell.entrypoints.cli.console import clean, dim, new_table, unwrapped_line

if TYPE_CHECKING:
    from lightwell.domain.operations import Check
    from lightwell.entrypoints.operations.citations import AmbiguousName, Candidate, Citation
    from lightwell.entrypoints.operations.conversations import CitedChatReply
    from lightwell.entrypoints.operations.questions import (
        Answer,
        Statements,
        StreamEvent,
        StreamStep,
        UnderstoodFilter,
    )
    from lightwell.entrypoints.operations.replies import Locator
    from lightwell.entrypoints.operations.searches import Passages

_MAX_SHOWN = 3
"""Entities that are shown of an ambiguous name below an answer: enough to see that another one may be meant."""

_MAX_DISTINGUISHING = 80
_FILTER_WORDS = {"author": "by {}", "since": "since {}", "until": "until {}"}


def describe_place(locator: "Locator", title: str) -> str:
    """Return a place in the document with this title, such as `page 3, Radio › Range`; "" for the whole document."""
    pages = ""
    if locator.page is not None:
        several = locator.last_page is not None and locator.last_page > locator.page
        pages = f"pages {locator.page}–{locator.last_page}" if several else f"page {locator.page}"
    section = locator.section[1:] if locator.section[:1] == [title] else locator.section
    return clean(", ".join(part for part in (pages, " › ".join(section)) if part))


def answer(answer: "Answer") -> RenderableType:
    """Return an answer with its numbered citations, or the nearest passages if there is no answer."""
    rest = below(answer.citations, answer, answer.confidence)
    return Group(highlight(answer.answer, answer.highlights), rest)


def highlight(answer: str, spans: Sequence[tuple[int, int]]) -> Text:
    """Return an answer's text with its key sentences, at these start and end characters, in bold."""
    text = Text()
    last = 0
    for start, end in spans:
        text.append(clean(answer[last:start]))
        text.append(clean(answer[start:end]), style="bold")
        last = end
    return text.append(clean(answer[last:]))


def below(
    citations: Sequence["Citation"],
    answer: "Answer | Statements | StreamEvent",
    confidence: str,
) -> RenderableType:
    """Return the lines below an answer's text: its numbered citations or the nearest passages, then notes."""
    rest = [
        *only(answer.filters),
        *map(dim, answer.notes),
        *ambiguous_names(answer.ambiguous_names),
    ]
    if not citations:
        return Group(*nearest(answer.nearest), *rest)
    sources = (line for cited in citations for line in citation(cited))
    return Group(Text(), *sources, dim(f"confidence: {confidence}"), *rest)


def step(done: "StreamStep") -> str:
    """Return on one line what is done before the first sentence."""
    titles = ", ".join(done.titles)
    match done.kind:
        case StepKind.SEARCHING:
            where = f" in {titles}" if titles else ""
            return f"Searching{where}: {done.query}" if done.query else "Searching"
        case StepKind.READING:
            return f"Reading: {titles}"
        case StepKind.CHECKING:
            return f"Checking {done.count} passages"


def statements(reply: "Statements") -> RenderableType:
    """Return statements with their dates and numbered citations, or the nearest passages if there are none."""
    lines: list[RenderableType] = [] if reply.statements else [Text(INSUFFICIENT)]
    for statement in reply.statements:
        marks = "".join(cited.id for cited in statement.citations)
        lines.append(Text(f"• {clean(statement.text)} {marks}"))
        lines += _dates(statement.said_at, statement.dates)
    cited = {quote.id: quote for statement in reply.statements for quote in statement.citations}
    return Group(*lines, below(list(cited.values()), reply, reply.confidence))


def _dates(said_at: datetime | None, dates: Sequence[str]) -> list[Text]:
    """Return the line below a statement with its document's date and the dates that it names, nothing where there are none."""
    stated = [f"{said_at:%Y-%m-%d}"] if said_at else []
    named = [f"names {clean(', '.join(dates))}"] if dates else []
    return [dim(f"  {'; '.join([*stated, *named])}")] if stated or named else []


def passages(reply: "Passages") -> RenderableType:
    """Return the passages as a table, best first, with the most relevant part of each."""
    names = [*only(reply.filters), *ambiguous_names(reply.ambiguous_names)]
    if not reply.results:
        return Group(Text("No passage that you may see is relevant to this question."), *names)
    table = new_table("#", "relevance", "document", "where", "snippet")
    table.columns[0].justify = table.columns[1].justify = "right"
    for passage in reply.results:
        title = passage.metadata.document_title
        table.add_row(
            str(passage.rank),
            f"{passage.relevance_score:.2f}",
            clean(title),
            describe_place(passage.snippet_locator, title),
            " ".join(clean(passage.snippet).split()),
        )
    doubt = "None of these passages reaches the threshold of 0.60 for an answer."
    lines = [*reply.notes, *((doubt,) if reply.has_insufficient_evidence else ())]
    return Group(table, *map(dim, lines), *names)


def checks(checks: Sequence["Check"]) -> RenderableType:
    """Return the checks of `doctor`, each failed one with its fix."""
    lines: list[RenderableType] = []
    widest = max((len(check.name) for check in checks), default=0)
    for check in checks:
        mark = Text("ok   ", style="green") if check.ok else Text("FAIL ", style="bold red")
        lines.append(
            Text.assemble(mark, "  ", (check.name.ljust(widest), "bold"), "  ", clean(check.detail))
        )
        if check.fix and not check.ok:
            lines.append(Text(f"       → {clean(check.fix)}"))
    return Group(*lines)


def citation(citation: "Citation") -> Iterable[Text]:
    """Yield a citation's lines: its mark, its place, its URL, and its key sentence."""
    from lightwell.answer.quotes import render_text
    from lightwell.text.pieces import shorten

    where = describe_place(citation.locator, citation.document_title)
    title = clean(citation.document_title)
    by_hand = " (passage supplied by hand, not read from its source)"
    supplied = by_hand if citation.supplied_by_hand else ""
    yield Text.assemble((citation.id, "bold"), " ", title, f", {where}" if where else "", supplied)
    yield unwrapped_line((f"    {clean(citation.source_url)}", "dim"))
    snippet = citation.snippet
    key = _key_sentence(citation) or render_text(snippet) or snippet
    yield Text(f"    “{' '.join(clean(shorten(key)).split())}”")
    yield Text()


def nearest(citations: Sequence["Citation"]) -> Iterable[Text]:
    """Yield the nearest passages of a question without an answer: place and words, the key sentence in bold."""
    if not citations:
        return
    from lightwell.answer.quotes import render_text

    yield Text()
    yield dim("Possibly relevant:")
    for cited in citations:
        where = describe_place(cited.locator, cited.document_title)
        yield Text()
        yield Text(f"  {clean(cited.document_title)}" + (f", {where}" if where else ""))
        yield unwrapped_line((f"    {clean(cited.source_url)}", "dim"))
        lines = clean(render_text(cited.snippet)).split("\n")
        snippet = Text("\n".join(f"    {line}" for line in lines))
        key = clean(_key_sentence(cited))
        start = snippet.plain.find(key) if key else -1
        if start >= 0:
            snippet.stylize("bold", start, start + len(key))
        yield snippet


def _key_sentence(cited: "Citation") -> str:
    from lightwell.answer.quotes import render_text

    return render_text(cited.snippet, cited.highlight) if cited.highlight else ""


def chat_reply(reply: "CitedChatReply") -> list[Text]:
    """Return a chat's response, then its sources or the closest passages; the last line is empty."""
    from lightwell.domain.chat import GRAPH_SOURCE

    lines = [Text(clean(reply.response)), *nearest(reply.nearest), Text()]
    for cited in reply.citations:
        lines += citation(cited)
    for number, source in enumerate(reply.sources, start=1):
        if source.id is None:  # it is a statement of the graph, and no passage
            lines += [Text.assemble((f"[{number}]", "bold"), f" {GRAPH_SOURCE}"), Text()]
    if reply.filters:
        lines += [*only(reply.filters), Text()]
    if reply.ambiguous_names:
        lines += [*ambiguous_names(reply.ambiguous_names), Text()]
    return lines


def only(filters: Sequence["UnderstoodFilter"]) -> Iterable[Text]:
    """Yield a line with the filters that words of the question mean, if there are any."""
    if filters:
        shown = ", ".join(_FILTER_WORDS.get(it.field, "{}").format(it.value) for it in filters)
        yield dim(clean(f"Only: {shown} · --everywhere searches all"))


def candidates(named: "AmbiguousName") -> RenderableType:
    """Return the entities that a name may mean, with what distinguishes them."""
    several = f"{named.name!r} may mean {len(named.candidates)} different entities."
    single = f"There is no entity named {named.name!r}. Did you mean this one?"
    lines = [Text(clean(several if len(named.candidates) > 1 else single))]
    for candidate in named.candidates:
        name = (clean(candidate.entity_name), "bold")
        lines += [Text(), Text.assemble(name, f"  {clean(candidate.entity_ref)}")]
        lines += [
            Text(clean(f"  {field}: {' '.join(value.split())}"))
            for field, value in candidate.distinguishing.items()
        ]
    return Group(*lines, Text(), dim("Run the command again with the reference of one."))


def ambiguous_names(names: Sequence["AmbiguousName"]) -> Iterable[Text]:
    """Yield the entities that each ambiguous name of a question may mean."""
    for ambiguous in names:
        count, name = len(ambiguous.candidates), ambiguous.name
        yield Text()
        yield Text(clean(f"{name!r} may mean {count} different entities:"))
        for candidate in ambiguous.candidates[:_MAX_SHOWN]:
            yield _candidate_line(candidate)
        if count > _MAX_SHOWN:
            yield dim(
                clean(f"  and {count - _MAX_SHOWN} more: `lightwell brief {name!r}` lists all")
            )
    if names:
        yield dim("Ask again with the full name or the e-mail address of the one you mean.")


def _candidate_line(candidate: "Candidate") -> Text:
    """Return an entity in one line, with the first of what distinguishes it."""
    from lightwell.text.pieces import shorten

    first = next((" ".join(value.split()) for value in candidate.distinguishing.values()), "")
    more = f": {shorten(first, _MAX_DISTINGUISHING)}" if first else ""
    name = (clean(candidate.entity_name), "bold")
    return Text.assemble("  ", name, f"  {clean(candidate.entity_ref)}{clean(more)}")
