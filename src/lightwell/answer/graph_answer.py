"""What the graph says, word for word: a chat's source beside its passages, or where no passage answers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lightwell.answer.context import Budget, select_graph_context
from lightwell.answer.quotes import weighted_coverage
from lightwell.domain.answers import Answer, FromModelAlone, InsufficientEvidence
from lightwell.domain.chat import GraphClaim
from lightwell.domain.evidence import SUFFICIENT_RELEVANCE, Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity, Relation
from lightwell.domain.query_analysis import QueryAnalysis
from lightwell.text.answer_types import (
    AnswerType,
    answer_types_in,
    terms_answered_by_type,
)
from lightwell.text.injection import is_injection
from lightwell.text.terms import terms, words

_MAX_LINES = 8
_WHAT_IT_IS = re.compile(
    r"\b(?:who|what|wer|was|qui)\s+(?:is|are|was|were|ist|sind|est|sont)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFact:
    """One statement of the graph; `names` are those of the entity, or of the relation's ends, that it is about.

    `claims` are all the texts of the graph that it consists of.
    """

    names: tuple[str, ...]
    subject: str
    description: str
    claims: tuple[GraphClaim, ...]

    @property
    def text(self) -> str:
        return f"{self.subject}: {' '.join(self.description.split())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _MatchedFact:
    """A line, the question's terms that it holds or answers, and whether it holds what is asked for."""

    line: GraphFact
    terms: frozenset[str]
    fits: bool


def graph_facts(answer: Answer, retrieval: Retrieval, budget: Budget) -> tuple[GraphFact, ...]:
    """Return what a response takes from the graph: all it says where no passage answers, else what a model was told.

    Of that, only what is about entities that the answer names.
    """
    if isinstance(answer.outcome, InsufficientEvidence):
        return _answering_facts(retrieval)
    if answer.author is None or isinstance(answer.outcome, FromModelAlone):
        return ()
    shown = select_graph_context(retrieval, budget)
    answer_words = words(answer.text)
    found = [
        fact
        for fact in _facts(shown.entities, shown.relations)
        if all(_is_named(name, answer_words) for name in fact.names)
    ]
    return tuple(found[:_MAX_LINES])


def _answering_facts(retrieval: Retrieval) -> tuple[GraphFact, ...]:
    """Return the lines about what the question names that carry it, the best first; none when it is not carried.

    Together they hold 0.6 of the weights of its terms, and of those besides the names, and every name in it; the best
    holds what is asked for.
    """
    query, weights = retrieval.analysis, retrieval.weights
    asked = words(query.text)
    about = [
        line
        for line in _facts(retrieval.entities, retrieval.relations)
        if any(_is_named(name, asked) for name in line.names)
    ]
    named = {name for line in about for name in line.names if _is_named(name, asked)}
    known = frozenset(terms(" ".join(named)))
    rest = {term: weight for term, weight in weights.items() if term not in known}
    chosen = _select([_match(line, query) for line in about], rest)
    held = frozenset[str]().union(*(each.terms for each in chosen))
    if (
        not chosen
        or weighted_coverage(held, weights) < SUFFICIENT_RELEVANCE
        or (rest and weighted_coverage(held, rest) < SUFFICIENT_RELEVANCE)
    ):
        return ()
    if not all(name <= held for name in query.names):
        return ()
    return tuple(each.line for each in chosen)


def _select(facts: Sequence[_MatchedFact], rest: dict[str, float]) -> list[_MatchedFact]:
    """Return the fitting line that holds most of the rest, and others that add to it; without a rest, all that fit."""
    if not rest:
        return [each for each in facts if each.fits and len(each.line.names) == 1][:_MAX_LINES]
    fitting = [each for each in facts if each.fits and each.terms & rest.keys()]
    if not fitting:
        return []
    chosen = [max(fitting, key=lambda each: weighted_coverage(each.terms, rest))]
    for each in facts:
        held = frozenset[str]().union(*(one.terms for one in chosen))
        if (each.terms - held) & rest.keys() and len(chosen) < _MAX_LINES:
            chosen.append(each)
    return chosen


def _match(line: GraphFact, query: QueryAnalysis) -> _MatchedFact:
    kinds = answer_types_in(line.text, query.expected)
    return _MatchedFact(
        line=line,
        terms=frozenset(terms(line.text)) | terms_answered_by_type(kinds, query.expected),
        fits=kinds >= _required_terms(query, line),
    )


def _required_terms(query: QueryAnalysis, line: GraphFact) -> frozenset[AnswerType]:
    """Return what must be held; who or what somebody is, a description says, whatever is in it."""
    expected = query.expected
    if _WHAT_IT_IS.search(query.text) and expected.terms <= frozenset(terms(" ".join(line.names))):
        return expected.kinds - {AnswerType.PERSON, AnswerType.NAME}
    return expected.kinds


def _facts(entities: Sequence[Entity], relations: Sequence[Relation]) -> Iterator[GraphFact]:
    for entity in entities:
        for description in _descriptions(entity.description):
            yield GraphFact(
                names=(entity.name,),
                subject=f"{entity.name} ({entity.kind})",
                description=description,
                claims=tuple(
                    GraphClaim(subject=entity.id, text=text)
                    for text in (entity.name, entity.kind, description)
                ),
            )
    for relation in relations:
        names = (relation.source, relation.target)
        ends = [
            GraphClaim(subject=end, text=name)
            for end, name in zip(relation.ends, names, strict=True)
        ]
        for description in _descriptions(relation.description):
            yield GraphFact(
                names=names,
                subject=f"{relation.source} → {relation.target}",
                description=description,
                claims=(GraphClaim(subject=relation.id, text=description), *ends),
            )


def _descriptions(description: str) -> list[str]:
    """Return the sayings of a description; one that orders a machine about is nobody's answer here either."""
    said = [each.strip() for each in description.split(DESCRIPTION_SEPARATOR) if each.strip()]
    return [each for each in said if not is_injection(" ".join(each.split()), 0)]


def _is_named(name: str, said: Sequence[str]) -> bool:
    """Return whether these words hold the name; a single word must be written as names are to be one."""
    own = words(name)
    if not terms(name) or (
        len(own) == 1 and name == name.lower() and not any(map(str.isdigit, name))
    ):
        return False
    return any(own == said[at : at + len(own)] for at in range(len(said) - len(own) + 1))
