"""Which words of a document a statement stands on."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.documents import Chunk, Locator
from lightwell.domain.evidence import Citation, Evidence
from lightwell.domain.terms import terms
from lightwell.domain.units import units

LONGEST_SNIPPET = 400
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A unit of a chunk, word for word: `text == chunk.text[start:end]`; `terms` are its distinct terms."""

    evidence: Evidence
    start: int
    end: int
    text: str
    terms: frozenset[str]


def quotes(evidence: Evidence) -> list[Quote]:
    """Return every sentence, list item and table row of the evidence, in order."""
    return [quote(evidence, unit.start, unit.end) for unit in units(evidence.chunk.text)]


def quote(evidence: Evidence, start: int, end: int) -> Quote:
    """Return a part of the evidence's text as a quote."""
    text = evidence.chunk.text[start:end]
    return Quote(evidence=evidence, start=start, end=end, text=text, terms=frozenset(terms(text)))


def cover(words: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return which share of the weights, 0 to 1, these words carry."""
    whole = sum(weights.values())
    return (
        sum(weight for word, weight in weights.items() if word in words) / whole if whole else 0.0
    )


def support(statement: str, candidates: Sequence[Quote]) -> tuple[float, Quote | None]:
    """Return how well the best quote carries the statement, 0 to 1, and the quote.

    The share of the statement's terms that the quote has, with its neighbours counted at half weight; 0 when the
    statement has a number that the quote's chunk has not.
    """
    wanted = frozenset(terms(statement))
    if not wanted or not candidates:
        return 0.0, None
    numbers = set(_NUMBER.findall(statement))
    best: tuple[float, Quote | None] = (0.0, None)
    for place, quote in enumerate(candidates):
        if not numbers <= set(_NUMBER.findall(quote.evidence.chunk.text)):
            continue
        near = frozenset[str]().union(
            *(
                other.terms
                for other in candidates[max(0, place - 1) : place + 2]
                if other.evidence.chunk.id == quote.evidence.chunk.id
            )
        )
        score = (len(wanted & quote.terms) + 0.5 * len(wanted & near - quote.terms)) / len(wanted)
        if score > best[0]:
            best = (score, quote)
    return best


def citation(number: int, quote: Quote) -> Citation:
    """Return the citation `[number]` of a quote, with the place where its words stand."""
    chunk = quote.evidence.chunk
    return Citation(
        id=f"[{number}]",
        source_url=chunk.url,
        source_system=chunk.system,
        source_type=chunk.kind,
        document_ref=chunk.document_ref,
        chunk_ref=chunk.ref,
        chunk_id=str(chunk.id),
        document_title=chunk.title,
        created_at=chunk.created_at,
        snippet=_shortened(quote.text),
        score=quote.evidence.relevance,
        locator=_located(chunk, quote),
    )


def nearest(evidence: Evidence) -> Citation:
    """Return a citation of what came close and was not enough: the evidence's best unit, or its beginning."""
    best = evidence.highlights[0] if evidence.highlights else None
    start, end = (best.start, best.end) if best else (0, len(evidence.chunk.text))
    return citation(0, quote(evidence, start, end))


def _located(chunk: Chunk, quote: Quote) -> Locator:
    start = chunk.locator.start + quote.start
    return chunk.layout.locate(start, start + len(quote.text))


def _shortened(text: str) -> str:
    """Return the text, cut at a word when it is long; what is left stands in the document word for word."""
    if len(text) <= LONGEST_SNIPPET:
        return text
    return text[:LONGEST_SNIPPET].rsplit(maxsplit=1)[0]
