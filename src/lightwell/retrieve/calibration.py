"""How likely a passage is evidence: a probability from absolute measures, so that 0.6 means the same everywhere.

No measure is relative to other candidates' scores, so for a question that no document answers every candidate is low.
"""

import numpy as np

from lightwell.retrieve import fusion, signals
from lightwell.retrieve.fusion import FirstPass
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.retrieve.weights import load_weights

MAX_PARTNERS = 5


def calibrated_relevance(first_pass: FirstPass, scores: Floats) -> Floats:
    """Return for each candidate the probability that it is evidence, (n,) in [0, 1].

    `scores` are the fused scores; their best are the passages that others may complete.
    """
    fitted = load_weights().relevance
    logits = fitted.base + relevance_measures(first_pass, scores) @ fitted.weights
    return 1 / (1 + np.exp(-logits))


def relevance_measures(first_pass: FirstPass, scores: Floats) -> Floats:
    """Return the measures of relevance, (n, `weights.RELEVANCE`), each in [0, 1]; none lowers relevance.

    They are the cosine similarity; the share of the question's terms; their BM25 weight; its entities; how much of the
    title the question contains; and the share covered together with a good passage that mentions the same rare entity.
    """
    candidates, corpus = first_pass.candidates, first_pass.corpus
    most = max(float(signals.inverse_document_frequencies(corpus).sum()), 1e-9)
    coverage = signals.term_coverage(candidates, corpus)
    return np.column_stack(
        [
            np.clip(candidates.cosine, 0.0, 1.0),
            coverage,
            first_pass.impacts.sum(axis=1) / most,
            signals.name_coverage(candidates, corpus),
            _titles_said(first_pass),
            np.maximum(coverage, _held_together(first_pass, scores)),
        ]
    )


def _held_together(first_pass: FirstPass, scores: Floats) -> Floats:
    candidates, corpus = first_pass.candidates, first_pass.corpus
    if not len(scores):
        return scores
    partners = fusion.rank(scores, candidates.keys)[:MAX_PARTNERS]
    rarity = signals.inverse_document_frequencies(corpus)
    holds = (candidates.frequencies > 0) * rarity
    together = signals.pair_coverage(holds, partners) / max(float(rarity.sum()), 1e-9)
    return (together * signals.shared_names(candidates, corpus, partners)).max(axis=0)


def _titles_said(first_pass: FirstPass) -> Floats:
    question_terms = frozenset(first_pass.candidates.terms)
    titles = [signals.title_terms(title) for title in first_pass.candidates.titles]
    shares = np.array(
        [len(title & question_terms) / max(len(title), 1) for title in titles], np.float64
    )
    return np.maximum(shares, first_pass.designation_matches)
