"""Query decomposition: a question that asks several things is searched part by part.

One passage rarely answers all of it, so the whole question finds none that is relevant enough, and misses the second document.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.keywords import clean_keywords
from lightwell.domain.question_analysis import QuestionAnalysis, analyze_question
from lightwell.domain.question_parts import split_question, with_subjects
from lightwell.domain.questions import Question
from lightwell.text.terms import terms

_Search = Callable[[Question], Awaitable[Retrieval]]


async def retrieve_by_parts(question: Question, search: _Search) -> Retrieval | None:
    """Return the evidence of all parts, each searched as a question of its own, at the same time.

    A part that is understood only with the first one ("and who signs it?") is searched with its words. None where the question asks one
    thing, or where the evidence for a part is not sufficient: the whole question is searched then.
    """
    texts = with_subjects(split_question(question.text)) if question.channels else ()
    if len(texts) < 2 or not all(map(terms, texts)):
        return None
    whole = analyze_question(question.text)
    if whole.asks_what_is_open:
        return None
    retrievals = await asyncio.gather(*(search(replace(question, text=text)) for text in texts))
    if not all(part.is_sufficient for part in retrievals):
        return None
    return _merge_parts(
        question, [replace(part, analysis=whole.of_part(part.analysis)) for part in retrievals]
    )


def _merge_parts(question: Question, parts: Sequence[Retrieval]) -> Retrieval:
    """Return what was found for the parts of a question as one retrieval, the passages of all parts in turn.

    For each part it has as many passages as the question's limit says, so that an answer misses none. Each passage is as relevant as to
    its part; the retrieval is as relevant as the least relevant part. Metrics are those of the first part, but for the time in all: that
    of the part that took longest.
    """
    first = parts[0]
    total_ms = max(part.metrics.total_ms for part in parts)
    return replace(
        first,
        question=question,
        analysis=_merge_analyses(question, parts),
        weights={term: weight for part in parts for term, weight in part.weights.items()},
        evidence=_take_turns([part.evidence for part in parts]),
        best_relevance=min(part.best_relevance for part in parts),
        metrics=replace(first.metrics, total_ms=total_ms),
        entities=tuple({entity.id: entity for part in parts for entity in part.entities}.values()),
        relations=tuple(
            {relation.id: relation for part in parts for relation in part.relations}.values()
        ),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        parts=tuple(parts),
    )


def _merge_analyses(question: Question, parts: Sequence[Retrieval]) -> QuestionAnalysis:
    """Return the analysis of the whole question, with the spelling and the keywords of its parts."""
    text = question.text
    for part in parts:
        text = text.replace(part.question.text, part.analysis.text)
    whole = analyze_question(text, question.subject)
    several = [part.analysis.keywords for part in parts]
    keywords = replace(
        whole.keywords,
        high=clean_keywords(chain.from_iterable(analysis.high for analysis in several)),
        low=clean_keywords(chain.from_iterable(analysis.low for analysis in several)),
        by_model=any(analysis.by_model for analysis in several),
    )
    return replace(whole, keywords=keywords)


def _take_turns(several: Sequence[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """Return the first passage of each, then the second, and so on; of passages that share a chunk the first."""
    seen: set[object] = set()
    taken: list[Evidence] = []
    for entry in chain.from_iterable(zip_longest(*several)):
        chunks = {chunk.id for chunk in entry.published_chunks} if entry else set[object]()
        if entry and seen.isdisjoint(chunks):
            seen |= chunks
            taken.append(entry)
    return tuple(taken)
