"""Answers, passages and candidates as text for people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from lightwell.domain.answers import INSUFFICIENT, MAY_NOT_ANSWER, AnswerState
from lightwell.entrypoints import wording
from lightwell.entrypoints.cli.console import clean, dim, file_name, new_table, unwrapped_line

if TYPE_CHECKING:
    from lightwell.domain.operations import Check
    from lightwell.entrypoints.operations.citations import AmbiguousName, Citation
    from lightwell.entrypoints.operations.conversations import CitedChatReply
    from lightwell.entrypoints.operations.questions import (
        Answer,
        Statements,
        StreamEvent,
        UnderstoodFilter,
    )
    from lightwell.entrypoints.operations.replies import Locator
    from lightwell.entrypoints.operations.searches import Passages

_MAX_NAMED = 2
"""Entities that are named of an ambiguous name below an answer: enough to see that another one may be meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is shown beside the key sentences: the `context` around them, and all that is `nearest` to a question without an answer."""

    context: bool = False
    nearest: bool = False


BRIEFLY = Shown()


def describe_place(locator: "Locator", title: str) -> str:
    """Return a place in the document with this title, such as `page 3, Radio › Range`; "" for the whole document."""
    from lightwell.entrypoints.sources import pages_of, sections_of

    parts = (pages_of(locator), " › ".join(sections_of(locator, title)))
    return clean(", ".join(filter(None, parts)))


def answer(answer: "Answer", shown: Shown = BRIEFLY) -> RenderableType:
    """Return an answer with its numbered sources, or what is nearest to one."""
    rest = below(answer.citations, answer, shown, above=answer.answer)
    return Group(Text(clean(answer.answer)), rest)


def below(
    citations: Sequence["Citation"],
    answer: "Answer | Statements | StreamEvent",
    shown: Shown = BRIEFLY,
    *,
    above: str,
) -> RenderableType:
    """Return the lines below what stands `above`: its numbered sources or what is nearest to an answer, then notes."""
    rest = [
        *only(answer.filters),
        *map(dim, answer.notes),
        *ambiguous_names(answer.ambiguous_names),
    ]
    if not citations:
        return Group(*nearest(answer.nearest, shown), *rest)
    confidence = dim(wording.confidence_line(answer.confidence))
    return Group(Text(), *sources(citations, shown, above=above), confidence, *rest)


def statements(reply: "Statements", shown: Shown = BRIEFLY) -> RenderableType:
    """Return statements with their dates and numbered sources, or what is nearest to one."""
    lines: list[RenderableType] = [] if reply.statements else [Text(INSUFFICIENT)]
    if reply.state is AnswerState.POSSIBLY:
        lines.append(Text(MAY_NOT_ANSWER))
    for statement in reply.statements:
        marks = "".join(cited.id for cited in statement.citations)
        lines.append(Text(f"• {clean(statement.text)} {marks}"))
        lines += _dates(statement.said_at, statement.dates)
    cited = {quote.id: quote for statement in reply.statements for quote in statement.citations}
    above = "\n".join(statement.text for statement in reply.statements)
    return Group(*lines, below(list(cited.values()), reply, shown, above=above))


def _dates(said_at: datetime | None, dates: Sequence[str]) -> list[Text]:
    """Return the line below a statement with its document's date and the dates that it names, nothing where there are none."""
    stated = [wording.day(said_at)] if said_at else []
    named = [f"names {clean(', '.join(dates))}"] if dates else []
    return [dim(f"  {'; '.join([*stated, *named])}")] if stated or named else []


def passages(reply: "Passages") -> RenderableType:
    """Return the passages as a table, best first, with the most relevant part of each."""
    names = [*only(reply.filters), *ambiguous_names(reply.ambiguous_names)]
    if not reply.results:
        return Group(Text(wording.NO_PASSAGE), *names)
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
    doubt = (wording.BELOW_THRESHOLD,) if reply.has_insufficient_evidence else ()
    lines = [*reply.notes, *doubt]
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


def sources(
    citations: Sequence["Citation"], shown: Shown = BRIEFLY, *, above: str = ""
) -> Iterator[Text]:
    """Yield the sources by their marks: name, where it is, and what it says where that does not stand `above` already, or with its context."""
    from lightwell.entrypoints.sources import key_sentence, source_name
    from lightwell.text.pieces import shorten

    read = " ".join(above.split())
    for mark, quotes in groupby(citations, lambda cited: cited.id):
        quoted = list(quotes)
        supplied = f" ({wording.SUPPLIED_BY_HAND})" if quoted[0].supplied_by_hand else ""
        yield Text.assemble((mark, "bold"), " ", clean(source_name(quoted[0])), supplied)
        yield unwrapped_line((f"    {file_name(quoted[0].source_url)}", "dim"))
        for cited in quoted:
            key = " ".join(clean(key_sentence(cited)).split())
            if shown.context:
                yield _piece(cited)
            elif key not in read:
                yield Text(f"    “{shorten(key)}”")
    yield Text()


def _piece(cited: "Citation") -> Text:
    """Return all that a citation quotes, its key sentences in bold."""
    from lightwell.answer.quotes import render_text
    from lightwell.entrypoints.sources import key_sentence

    lines = clean(render_text(cited.snippet)).split("\n")
    piece = Text("\n".join(f"    {line}" for line in lines))
    key = "\n    ".join(clean(key_sentence(cited)).split("\n")) if cited.highlight else ""
    start = piece.plain.find(key) if key else -1
    if start >= 0:
        piece.stylize("bold", start, start + len(key))
    return piece


def nearest(citations: Sequence["Citation"], shown: Shown = BRIEFLY) -> Iterator[Text]:
    """Yield what is nearest to a question without an answer: one line, or all of it with the words of the documents."""
    if not citations:
        return
    from lightwell.entrypoints.sources import nearest_line, source_name

    if not shown.nearest:
        more = f" (--nearest lists all {len(citations)})" if len(citations) > 1 else ""
        yield dim(clean(nearest_line(citations) + more))
        return
    yield Text()
    yield dim("Possibly relevant:")
    for cited in citations:
        yield Text()
        yield Text(f"  {clean(source_name(cited))}")
        yield unwrapped_line((f"    {file_name(cited.source_url)}", "dim"))
        yield _piece(cited)


def chat_reply(reply: "CitedChatReply", shown: Shown = BRIEFLY) -> list[Text]:
    """Return a chat's response, then its sources or what is nearest to one; the last line is empty."""
    from lightwell.domain.chat import GRAPH_SOURCE

    lines = [Text(clean(reply.response)), *nearest(reply.nearest, shown), Text()]
    if reply.citations:
        lines += sources(reply.citations, shown, above=reply.response)
    for number, source in enumerate(reply.sources, start=1):
        if source.id is None:  # it is a statement of the graph, and no passage
            lines += [Text.assemble((f"[{number}]", "bold"), f" {GRAPH_SOURCE}"), Text()]
    if reply.filters:
        lines += [*only(reply.filters), Text()]
    if reply.ambiguous_names:
        lines += [*ambiguous_names(reply.ambiguous_names), Text()]
    return lines


def only(filters: Sequence["UnderstoodFilter"]) -> Iterator[Text]:
    """Yield a line with the filters that words of the question mean, if there are any."""
    if filters:
        yield dim(clean(f"{wording.filters_line(filters)} · --everywhere searches all"))


def candidates(named: "AmbiguousName") -> RenderableType:
    """Return the entities that a name may mean, with what distinguishes them."""
    lines = [Text(clean(wording.candidates_line(named)))]
    for candidate in named.candidates:
        name = (clean(candidate.entity_name), "bold")
        lines += [Text(), Text.assemble(name, f"  {clean(candidate.entity_ref)}")]
        lines += [
            Text(clean(f"  {field}: {' '.join(value.split())}"))
            for field, value in candidate.distinguishing.items()
        ]
    return Group(*lines, Text(), dim("Run the command again with the reference of one."))


def ambiguous_names(names: Sequence["AmbiguousName"]) -> Iterator[Text]:
    """Yield a line about each name of a question that several entities have."""
    for ambiguous in names:
        name, meant = ambiguous.name, ambiguous.candidates
        some = ", ".join(candidate.entity_name for candidate in meant[:_MAX_NAMED])
        more = ", …" if len(meant) > _MAX_NAMED else ""
        several = f"{name!r} may mean {len(meant)} different entities: {some}{more}."
        how = f"Ask again with the full name of one; `lightwell brief {name!r}` lists them."
        yield dim(clean(f"{several} {how}"))
