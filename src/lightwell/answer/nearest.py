"""What is shown where nothing answers: the pieces of the documents that came closest, and what none of them mentions."""

from lightwell.answer.extractive import quotable_candidates
from lightwell.answer.quotations import NEAREST_PIECE, piece_quote
from lightwell.answer.quotes import make_citation, make_nearest_citation
from lightwell.domain.evidence import Citation, Retrieval
from lightwell.text.terms import terms, words

_MAX_NEAREST = 3
_ASKING = frozenset(
    terms("much many long often soon far fast quickly viel viele lange oft combien quel quelle")
)
"""Words that ask, and that no passage needs to have."""


def nearest_citations(retrieval: Retrieval) -> tuple[Citation, ...]:
    """Return citations of the best piece of each of the three best passages, by score, numbered from 1."""
    candidates = quotable_candidates(retrieval)
    found: list[Citation] = []
    best = sorted(retrieval.evidence, key=lambda entry: -entry.relevance)[:_MAX_NEAREST]
    for number, entry in enumerate(best, start=1):
        own = [each for each in candidates if each.quote.evidence is entry]
        if own:
            key = max(own, key=lambda each: each.rank).quote
            found.append(make_citation(number, piece_quote(key, retrieval, NEAREST_PIECE)))
        else:
            found.append(make_nearest_citation(number, entry))
    return tuple(found)


def missing_words_notes(retrieval: Retrieval) -> tuple[str, ...]:
    """Return one note that names the words of the question which no passage found has, or none."""
    held = frozenset(
        term
        for entry in retrieval.evidence
        for term in terms(f"{entry.chunk.title}\n{entry.chunk.text}")
    )
    asked = dict.fromkeys(words(retrieval.question.text))
    missing = [
        word for word in asked if (own := frozenset(terms(word)) - _ASKING) and held.isdisjoint(own)
    ]
    if not missing or not retrieval.evidence:
        return ()
    return (f"None of the closest passages mentions: {', '.join(missing)}.",)
