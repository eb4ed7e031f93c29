"""What the items of business systems say in a brief: the record of the thing itself, and what is open with all that belongs to it."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from lightwell.answer.item_fields import FIELD, plain_title, title_with_fields
from lightwell.answer.open_points import says_it_is_open
from lightwell.answer.owed import list_commitments, message_head
from lightwell.answer.quotes import Quote, make_quote
from lightwell.domain.briefs import EntityPassage
from lightwell.domain.documents import PLAIN_SYSTEMS, Chunk, WorkState
from lightwell.text.dates import find_first_day
from lightwell.text.regex import regex

_STATE = regex(r"^(?:Status|Assignee|Priority)$")
_STAGE = regex(r"\b(?:stage|owner|company)\b", re.IGNORECASE)
_DEAL = "deal"
"""The kind of record that is open as long as its stage does not say that it is over."""
_TELLING = regex(
    r"\b(?:stage|status|owner|manager|lead|assignee|deadline|due|target|company|domains?)\b",
    re.IGNORECASE,
)
"""Labels of fields that say what a record is: how it stands, whose it is, by when."""
_MAX_FIELDS = 4
_MAX_OPEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLine:
    """A line of a brief from an item's fields: `due` is its day, None for none."""

    text: str
    quote: Quote
    due: date | None = None

    @property
    def said_at(self) -> datetime | None:
        """The day that the brief gives for it: the one that it names, else when the item last changed."""
        if self.due is None:
            return self.quote.evidence.chunk.dated_at
        return datetime(self.due.year, self.due.month, self.due.day, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLines:
    """`record` is the line on the thing itself, `open_lines` are what is open, the earliest day first."""

    record: tuple[ItemLine, ...] = ()
    open_lines: tuple[ItemLine, ...] = ()


NO_LINES = ItemLines()


def item_lines(passages: Sequence[EntityPassage], refs: Collection[str]) -> ItemLines:
    """Return what items say of the thing with these references: its own record, and the items that are open, at most three."""
    record = (
        line
        for passage in passages
        if passage.chunk.document_ref in refs and passage.chunk.index == 0
        for line in _fields_line(passage, _TELLING)
    )
    others = [passage for passage in passages if passage.chunk.document_ref not in refs]
    return ItemLines(
        record=tuple(record)[:1], open_lines=tuple(list_open_lines(others)[:_MAX_OPEN])
    )


def list_open_lines(passages: Sequence[EntityPassage]) -> list[ItemLine]:
    """Return a line for each open item of the passages that are parts, the earliest deadline first."""
    lines = [line for passage in passages if passage.is_part for line in _open_lines(passage)]
    of_items: dict[str, ItemLine] = {}
    for line in sorted(lines, key=lambda line: (line.due or date.max, line.text)):
        of_items.setdefault(line.quote.evidence.chunk.document_ref, line)
    return list(of_items.values())


def mark_parts(passages: Iterable[EntityPassage]) -> list[EntityPassage]:
    """Return those of the passages that are of items, as parts."""
    return [replace(passage, is_part=True) for passage in passages if _is_item(passage.chunk)]


def _is_item(chunk: Chunk) -> bool:
    """Return whether somebody works on it, or writes to somebody in it: a task, an issue, a conversation, a note, a deal; no record of another thing."""
    return (
        chunk.kind == _DEAL
        or chunk.work_state is not None
        or chunk.due is not None
        or bool(chunk.own_authors)
    )


def is_field_block(chunk: Chunk, text: str) -> bool:
    """Return whether a unit of a business system's document is only fields of its header, or a piece of them."""
    if chunk.system in PLAIN_SYSTEMS:
        return False
    return all(FIELD.match(line.strip()) for line in text.strip().splitlines())


def spoken_at(chunk: Chunk, section: Sequence[str]) -> tuple[str, datetime | None]:
    """Return who wrote what stands under the headings of a section, and when: the heading of its message says it, else the document's header."""
    if head := message_head(section):
        return head[1], find_first_day(head[0])
    authors = (field[2] for field in FIELD.finditer(chunk.text) if field[1] == "Author")
    return next(authors, ""), None


def _open_lines(passage: EntityPassage) -> Iterator[ItemLine]:
    """Yield what an open item says is owed, else the item with its state."""
    chunk = passage.chunk
    if chunk.work_state is WorkState.CLOSED:
        return
    commitments = list(list_commitments(chunk))
    for commitment in commitments:
        quote = make_quote(passage.evidence, commitment.start, commitment.end)
        yield ItemLine(text=commitment.text, quote=quote, due=commitment.due)
    if not commitments and chunk.index == 0:
        if chunk.work_state is WorkState.OPEN:
            yield from _fields_line(passage, _STATE)
        elif chunk.kind == _DEAL and says_it_is_open(chunk.text):
            yield from _fields_line(passage, _STAGE)


def _fields_line(passage: EntityPassage, labels: re.Pattern[str]) -> Iterator[ItemLine]:
    """Yield the title with the fields that have these labels, at most four; fields that repeat the title say nothing."""
    title = plain_title(passage.chunk)
    fields = [
        field
        for field in FIELD.finditer(passage.chunk.text)
        if labels.search(field[1]) and field[2].strip() not in title
    ][:_MAX_FIELDS]
    if fields:
        quote = make_quote(passage.evidence, fields[0].start(), fields[-1].end())
        yield ItemLine(text=title_with_fields(passage.chunk, fields), quote=quote)
