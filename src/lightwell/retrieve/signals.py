"""The signals of candidates: numbers from words, embeddings, names and links, one row per candidate."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from lightwell.domain.graph import RAREST
from lightwell.records.search import TermStatistics
from lightwell.retrieve.candidate_arrays import CandidateArrays, CorpusStatistics, corpus_statistics
from lightwell.retrieve.sparse_matrix import Floats, Places
from lightwell.text import terms
from lightwell.text.regex import regex

K1, B = 1.2, 0.75
_SHORTEST_TITLE = 3
_BRACKETED = regex(r"(?<=\S) *\([^()]*\)$")
_FULLY = 1 / 3
_FINE = 9
_KEPT_TITLES = 20_000  # titles recur with every question, and folding them was a third of the work


def inverse_document_frequencies(corpus: CorpusStatistics) -> Floats:
    """Return BM25's weight of each question term, (t,), above 0; highest for a term no chunk holds."""
    absent = np.maximum(corpus.chunks - corpus.term_counts, 0.0)
    return np.log1p((absent + 0.5) / (corpus.term_counts + 0.5))


def term_weights(statistics: TermStatistics, terms: Sequence[str]) -> dict[str, float]:
    """Return BM25's weight of each term among the reader's chunks, in the order of the terms."""
    weights = inverse_document_frequencies(corpus_statistics(statistics, terms, None))
    return dict(zip(terms, weights.tolist(), strict=True))


def bm25_by_term(candidates: CandidateArrays, corpus: CorpusStatistics) -> Floats:
    """Return each term's share of BM25 in each candidate, (n, t), from 0 to below the term's rarity."""
    norm = K1 * (1 - B + B * candidates.lengths / max(corpus.mean_length, 1.0))
    saturated = candidates.frequencies / (candidates.frequencies + norm[:, None])
    return saturated * inverse_document_frequencies(corpus)


def term_coverage(candidates: CandidateArrays, corpus: CorpusStatistics) -> Floats:
    """Return the share of the question's terms, by rarity, that each candidate contains: (n,) in [0, 1]."""
    weights = inverse_document_frequencies(corpus)
    return (candidates.frequencies > 0) @ weights / max(float(weights.sum()), 1e-9)


def name_coverage(candidates: CandidateArrays, corpus: CorpusStatistics) -> Floats:
    """Return the share of the question's entities, by rarity, that each candidate mentions: (n,) in [0, 1]."""
    counts = np.maximum(corpus.entity_counts[candidates.named], 1.0)
    weights = np.zeros(len(corpus.entity_counts))
    weights[candidates.named] = np.log1p(corpus.chunks / counts)
    return candidates.mentions @ weights / max(float(weights.sum()), 1e-9)


def names_something_rare(candidates: CandidateArrays, corpus: CorpusStatistics) -> bool:
    """Return whether the question names an entity of at most `RAREST` of the reader's chunks, so that links from it lead somewhere."""
    return bool((corpus.entity_counts[candidates.named] <= RAREST).any())


def shared_names(candidates: CandidateArrays, corpus: CorpusStatistics, firsts: Places) -> Floats:
    """Return how strongly rare shared entities link first passages to candidates: (firsts, n) in [0, 1]."""
    counts, mentions = corpus.entity_counts, candidates.mentions
    is_link = (counts > 1) & (counts <= RAREST)
    strength = np.where(is_link, 1 / np.log2(np.clip(counts, 2, None)), 0.0)
    weighted = np.zeros((len(counts), len(firsts)))
    for place, first in enumerate(firsts):
        columns = mentions.columns_of(int(first))
        weighted[columns, place] = strength[columns]
    shared = np.minimum((mentions @ weighted).T, 1.0)
    shared[np.arange(len(firsts)), firsts] = 0.0
    return shared


def title_matches(titles: Sequence[str], within: str, *, besides: str) -> Floats:
    """Return 1 where a text names a title other than `besides`, 0 elsewhere, (n,); text and titles are `matchable`."""
    text_words = frozenset(within.split())
    return np.array(
        [
            _first_word(title) in text_words and title != besides and title in within
            for title in titles
        ],
        np.float64,
    )


def asked_titles(titles: Sequence[str], question: str) -> Floats:
    """Return how much of the question is the document's title, where it gives the whole title, else 0: (n,) in [0, 1].

    A title within a longer one that the question gives does not count. One of a third of the question's terms counts fully.
    """
    whole = [matchable_title(title) for title in titles]
    is_given = title_matches(whole, matchable(question), besides="")
    asked_titles = {title for title, is_one in zip(whole, is_given, strict=True) if is_one}
    inner = {
        title
        for title in asked_titles
        if any(title != other and title in other for other in asked_titles)
    }
    question_terms = frozenset(terms.terms(question))

    def share(title: str) -> float:
        return min(
            1.0, len(title_terms(title) & question_terms) / max(_FULLY * len(question_terms), 1.0)
        )

    return np.array(
        [
            share(title) if is_one and matched not in inner else 0.0
            for title, matched, is_one in zip(titles, whole, is_given, strict=True)
        ],
        np.float64,
    )


def designation_matches(titles: Sequence[str], question: str) -> Floats:
    """Return 1 where the question gives the document's designation, such as `ENG-42`, 0 elsewhere, (n,)."""
    within = matchable(question)
    return np.array([designation(title) in within for title in titles], np.float64)


def matchable(text: str) -> str:
    """Return the folded words between single blanks, with a blank at either end."""
    return f" {' '.join(terms.words(text))} "


@lru_cache(maxsize=_KEPT_TITLES)
def _first_word(title: str) -> str:
    return title.split(maxsplit=1)[0]


@lru_cache(maxsize=_KEPT_TITLES)
def matchable_title(title: str) -> str:
    """Return the title as `matchable`, without a bracketed ending: "Mercury (planet)".

    A title that is too short to be told from an ordinary word becomes a mark that no text contains.
    """
    matched = matchable(_BRACKETED.sub("", title))
    return matched if len(matched.strip()) >= _SHORTEST_TITLE else "\0"


@lru_cache(maxsize=_KEPT_TITLES)
def designation(title: str) -> str:
    """Return the designation in a title, as `matchable`: " eng 42 " of "ENG-42: The pump is loud".

    It is two or three words, the last one a number, that are the title or its part before a colon. A title without one
    gives a mark that no text contains.
    """
    title_words = terms.words(title.partition(":")[0])
    return (
        f" {' '.join(title_words)} "
        if 2 <= len(title_words) <= 3 and title_words[-1].isdigit()
        else "\0"
    )


@lru_cache(maxsize=_KEPT_TITLES)
def title_terms(title: str) -> frozenset[str]:
    """Return the distinct terms of a title."""
    return frozenset(terms.terms(title))


def pair_coverage(candidate_impacts: Floats, firsts: Places) -> Floats:
    """Return how much of the question each pair of a first passage and a candidate covers: (firsts, n) in [0, 1].

    Per term the better of the two counts, so the value shows what the candidate adds to the first passage.
    """
    best = np.maximum(candidate_impacts[firsts][:, None, :], candidate_impacts[None, :, :])
    return best.sum(axis=2)


def min_max(values: Floats) -> Floats:
    """Return the values from 0 for the least to 1 for the greatest; all 0 when they are equal."""
    if not len(values):
        return values
    least, greatest = float(values.min()), float(values.max())
    width = greatest - least
    return (values - least) / width if width > 1e-12 else np.zeros_like(values)


def logarithms(values: Floats, *, floor: float) -> Floats:
    """Return the spread of the values' logarithms, those below the floor counted as the floor."""
    return min_max(np.log(np.maximum(values, floor)))


def reciprocal_rank(values: Floats) -> Floats:
    """Return 1 for the greatest, 1/2 for the second ...; equal values share the better place."""
    rounded = np.round(values, _FINE)
    return 1 / (np.searchsorted(np.sort(-rounded), -rounded) + 1.0)
