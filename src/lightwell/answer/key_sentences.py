"""Key sentences: the one to three lines of a piece that answer by themselves. What else the piece says is their context."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lightwell.answer.extractive import (
    QuotableUnit,
    is_heading,
    list_quotable_units,
    question_parts,
)
from lightwell.answer.quotes import (
    Quote,
    SupportedSentence,
    make_quote,
    render_quote,
    split_into_quotes,
)
from lightwell.domain.evidence import Retrieval
from lightwell.text.blocks import BlockKind

_LONGEST, _LONGEST_LIST = 300, 600
"""Characters as they are read, of key sentences and of those with a list."""
_ENOUGH = 0.6
"""The share of the question that a unit covers, so that it answers alone where it has what is asked for, such as a date."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A quotation of a piece with its units, in order."""

    quote: Quote
    units: Sequence[Quote]


def key_sentences(piece: SupportedSentence, retrieval: Retrieval) -> SupportedSentence:
    """Return the part of a piece that answers by itself, with the piece as its context; the piece where all of it does.

    It is the unit that answers best, alone where that has what is asked for, else with whole units below it and then above it
    up to 300 characters; a line with a colon and what it leads to, and the items of a list, belong together up to 600. Headings
    are no part of it: sources name them.
    """
    spans = [_Span(quote, _units_in(quote)) for quote in piece.quotes]
    ranked = [
        (scored[unit.start], span, number)
        for scored in [_scored(piece, part) for part in question_parts(retrieval)]
        for span in spans
        for number, unit in enumerate(span.units)
        if unit.start in scored
    ]
    if not ranked:
        return piece
    best, span, number = max(ranked, key=lambda entry: entry[0].score)
    if best.has_expected_type and best.coverage >= _ENOUGH:
        return _cut(piece, span, number, number)
    if len(piece.text) <= _LONGEST:
        return _without_heading(piece, spans[0]) if len(spans) == 1 else piece
    return _cut(piece, span, *_grow(span.units, number))


def _units_in(quote: Quote) -> list[Quote]:
    units = split_into_quotes(quote.evidence)
    return [unit for unit in units if quote.start <= unit.start and unit.end <= quote.end]


def _scored(piece: SupportedSentence, part: Retrieval) -> dict[int, QuotableUnit]:
    """Return how well the units of the piece's passage answer a part of the question by themselves, by where they start; headings do not."""
    alone = replace(part, evidence=(piece.quotes[0].evidence,), parts=())
    return {unit.quote.start: unit for unit in list_quotable_units(alone)}


def _without_heading(piece: SupportedSentence, span: _Span) -> SupportedSentence:
    first = next((n for n, unit in enumerate(span.units) if _may_be_shown(unit)), 0)
    if not first:
        return piece
    cut = _cut(piece, span, first, len(span.units) - 1)
    return replace(cut, context="", highlight=(0, 0))


def _cut(piece: SupportedSentence, span: _Span, first: int, last: int) -> SupportedSentence:
    quote, start, end = span.quote, span.units[first].start, span.units[last].end
    text = render_quote(make_quote(quote.evidence, start, end))
    if len(text) >= len(piece.text):
        return piece
    quotes = tuple(
        replace(other, key=(start - quote.start, end - quote.start) if other is quote else (0, 0))
        for other in piece.quotes
    )
    place = piece.text.find(text)
    highlight = (place, place + len(text)) if place >= 0 else (0, 0)
    return SupportedSentence(text=text, quotes=quotes, highlight=highlight, context=piece.text)


def _grow(units: Sequence[Quote], best: int) -> tuple[int, int]:
    """Return the first and the last of the units around the best one that are read together."""
    sizes = [len(render_quote(unit)) for unit in units]
    first = last = best

    def fits(low: int, high: int, most: int) -> bool:
        return low >= 0 and high < len(sizes) and sum(sizes[low : high + 1]) + high - low <= most

    while fits(first, last + 1, _LONGEST) and _may_be_shown(units[last + 1]):
        last += 1
    while fits(first - 1, last, _LONGEST) and _may_be_shown(units[first - 1]):
        first -= 1
    if fits(first - 1, last, _LONGEST_LIST) and _leads(units[first - 1]):
        first -= 1
    while fits(first, last + 1, _LONGEST_LIST) and (
        _leads(units[last]) or _is_item(units[last + 1])
    ):
        last += 1
    while last > best and _leads(units[last]):  # to what there is no room for
        last -= 1
    return first, last


def _may_be_shown(unit: Quote) -> bool:
    return not is_heading(unit) or _leads(unit)


def _leads(unit: Quote) -> bool:
    return unit.text.rstrip("*_ ").endswith(":")


def _is_item(unit: Quote) -> bool:
    blocks = unit.evidence.analysis.blocks
    return any(
        block.kind is BlockKind.ITEM for block in blocks if block.start <= unit.start < block.end
    )
