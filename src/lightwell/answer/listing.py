"""Answers to questions that only say of which documents they are asked, such as "What did Ada write last week?": a line for each, the newest first."""

from datetime import UTC, datetime

from lightwell.answer.open_points import looks_like_heading
from lightwell.answer.quotes import (
    Quote,
    SupportedSentence,
    make_quote,
    narrow,
    quotes_without_orders,
    render_quote,
)
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.text.regex import regex

LISTED = 0.75
"""The relevance of such a list: that the words mean the filters is right of 31 in 32 questions, and that a list is wanted is likely."""

_MAX_LISTED = 8
_NEVER = datetime.min.replace(tzinfo=UTC)
_FIELD = regex(r"^\W*\w[\w -]{0,30}:")
"""What a header of an item consists of: `Status: open`."""


def listed_documents(retrieval: Retrieval) -> list[SupportedSentence]:
    """Return a line for each document of the evidence, the newest first: its title, and the first sentence that is no heading and no field."""
    newest = sorted(
        retrieval.evidence,
        key=lambda entry: (entry.chunk.dated_at or _NEVER, -entry.chunk.index),
        reverse=True,
    )
    lines: dict[str, SupportedSentence] = {}
    for entry in newest:
        document, title = entry.chunk.document_ref, " ".join(entry.chunk.title.split())
        if document not in lines and (first := _first_sentence(entry)):
            quote = narrow(first, frozenset())
            text = " ".join(render_quote(quote).split())
            is_new = title and title.casefold() not in text.casefold()
            shown = f"{title.rstrip('.:')}: {text}" if is_new else text
            lines[document] = SupportedSentence(text=shown, quotes=(quote,))
    return list(lines.values())[:_MAX_LISTED]


def _first_sentence(entry: Evidence) -> Quote | None:
    """Return the first sentence that is no heading and no field, else what comes first; None where all of it orders a machine about."""
    quotes = quotes_without_orders(entry)
    whole = make_quote(entry, 0, len(entry.chunk.text)) if not entry.analysis.units else None
    sentences = (
        quote
        for quote in quotes
        if not (looks_like_heading(quote.text) or _FIELD.match(quote.text))
    )
    return next(sentences, quotes[0] if quotes else whole)
