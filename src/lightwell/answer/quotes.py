"""Which words of a document a statement stands on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lightwell.domain.documents import Locator
from lightwell.domain.evidence import Citation, Evidence
from lightwell.text.terms import terms
from lightwell.text.units import split_into_units

LONGEST_SNIPPET = 400
LONGEST_PIECE = 6000
"""Characters of a citation's snippet, with the markup that a piece of a document may have."""

_RUN = re.compile(r"\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A part of a chunk, word for word: `text == chunk.text[start:end]`; `terms` are its distinct terms.

    `context` is what one must know to read it: the headings, a table's head, the line that a list belongs to.
    `key` is the part of `text` that bears on the question most, where that is not all of it, else (0, 0).
    """

    evidence: Evidence
    start: int
    end: int
    text: str
    context: str
    terms: frozenset[str]
    key: tuple[int, int] = (0, 0)

    @property
    def place(self) -> tuple[str, int]:
        """Where its first character stands: the document, and the character there."""
        chunk = self.evidence.chunk
        return str(chunk.document_id), chunk.locator.start + self.start


def split_into_quotes(evidence: Evidence) -> list[Quote]:
    """Return every sentence, list item and table row of the evidence, in order."""
    return [
        make_quote(evidence, unit.start, unit.end, context=unit.context)
        for unit in split_into_units(evidence.chunk.text)
    ]


def make_quote(evidence: Evidence, start: int, end: int, *, context: str = "") -> Quote:
    """Return a part of the evidence's text as a quote."""
    text = evidence.chunk.text[start:end]
    return Quote(
        evidence=evidence,
        start=start,
        end=end,
        text=text,
        context=context,
        terms=frozenset(terms(text)),
    )


def narrow(quote: Quote, wanted: frozenset[str]) -> Quote:
    """Return the quote, or where it is long the snippet of it that holds most of the wanted terms, cut at words."""
    if len(quote.text) <= LONGEST_SNIPPET:
        return quote
    spans = [match.span() for match in _RUN.finditer(quote.text)]
    held = [wanted.intersection(terms(quote.text[start:end])) for start, end in spans]
    best, most, last = (0, 0), -1, 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and spans[last][1] - start <= LONGEST_SNIPPET:
            last += 1
        found = len(frozenset[str]().union(*held[first:last]))
        if found > most:
            best, most = (start, spans[max(first, last - 1)][1]), found
    start, end = best[0], min(best[1], best[0] + LONGEST_SNIPPET)
    return make_quote(quote.evidence, quote.start + start, quote.start + end, context=quote.context)


def weighted_coverage(words: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return which share of the weights, 0 to 1, these words carry."""
    whole = sum(weights.values())
    return (
        sum(weight for word, weight in weights.items() if word in words) / whole if whole else 0.0
    )


def make_citation(number: int, quote: Quote) -> Citation:
    """Return the citation `[number]` of a quote, with the published chunk and the place where its words stand."""
    member = quote.evidence.member_at(quote.start)
    return Citation(
        id=f"[{number}]",
        source_url=member.url,
        source_system=member.system,
        source_type=member.kind,
        document_ref=member.document_ref,
        chunk_ref=member.ref,
        chunk_id=str(member.id),
        document_title=member.title,
        created_at=member.created_at,
        snippet=shorten(quote.text, LONGEST_PIECE),
        highlight=quote.key,
        score=quote.evidence.relevance,
        locator=_locator(quote),
    )


def make_nearest_citation(number: int, evidence: Evidence) -> Citation:
    """Return the citation `[number]` of what came close and was not enough: the evidence's best unit, or its beginning."""
    best = evidence.highlights[0] if evidence.highlights else None
    start, end = (best.start, best.end) if best else (0, len(evidence.chunk.text))
    return make_citation(number, make_quote(evidence, start, end))


def _locator(quote: Quote) -> Locator:
    chunk = quote.evidence.chunk
    start = chunk.locator.start + quote.start
    return chunk.layout.locate(start, start + len(quote.text))


def shorten(text: str, most: int = LONGEST_SNIPPET) -> str:
    """Return the text, cut at a word when it has more characters than `most`; what is left stands there word for word."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(maxsplit=1)[0]
