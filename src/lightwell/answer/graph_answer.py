"""What the graph states, verbatim: a source of a chat response beside its passages, or the response where no passage answers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from lightwell.answer.prompt import Budget, select_graph_context
from lightwell.answer.quotes import weighted_coverage
from lightwell.domain.answers import Answer, FromModelAlone, InsufficientEvidence
from lightwell.domain.chat import GraphClaim
from lightwell.domain.evidence import Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity, Relation, state_relation
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.text.answer_types import (
    AnswerType,
    answer_types_in,
    terms_answered_by_type,
)
from lightwell.text.answer_types.facts import NO_FACTS, read_facts
from lightwell.text.injection import is_inside_injection
from lightwell.text.regex import regex
from lightwell.text.terms import terms, words

_MAX_LINES = 8
_Names = tuple[str, ...]
"""The name of an entity, then its aliases."""
_WHAT_IT_IS = regex(
    r"\b(?:who|what|wer|was|qui)\s+(?:is|are|was|were|ist|sind|est|sont)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFact:
    """One statement of the graph; `names` are those of the entity, or of each end of the relation, that it is about.

    `claims` are all the texts of the graph that it consists of.
    """

    names: tuple[_Names, ...]
    subject: str
    description: str
    claims: tuple[GraphClaim, ...]

    @property
    def text(self) -> str:
        return f"{self.subject}: {' '.join(self.description.split())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _MatchedFact:
    """A fact, the question's terms that it has or answers, and whether it contains what is asked for."""

    fact: GraphFact
    terms: frozenset[str]
    has_expected_type: bool


def graph_facts(answer: Answer, retrieval: Retrieval, budget: Budget) -> tuple[GraphFact, ...]:
    """Return what a chat response takes from the graph: the facts that answer where no passage does.

    Where a model answered, the facts that it was shown about entities that its answer names.
    """
    if isinstance(answer.outcome, InsufficientEvidence):
        return _answering_facts(retrieval)
    if answer.author is None or isinstance(answer.outcome, FromModelAlone):
        return ()
    shown = select_graph_context(retrieval, budget)
    answer_words = words(answer.text)
    named_facts = [
        fact
        for fact in _facts(shown.entities, shown.relations)
        if all(_find_named(names, answer_words) for names in fact.names)
    ]
    return tuple(named_facts[:_MAX_LINES])


def _answering_facts(retrieval: Retrieval) -> tuple[GraphFact, ...]:
    """Return the facts about entities in the question that answer it, the best first; () where they do not.

    Together they cover 0.6 of the weights of its terms, 0.6 of those that are no names, and every name; the best
    contains what is asked for.
    """
    analysis, weights = retrieval.analysis, retrieval.weights
    question_words = words(analysis.text)
    facts = [
        fact
        for fact in _facts(retrieval.entities, retrieval.relations)
        if any(_find_named(names, question_words) for names in fact.names)
    ]
    named = {
        name
        for fact in facts
        for names in fact.names
        for name in _find_named(names, question_words)
    }
    named_terms = frozenset(terms(" ".join(named)))
    rest = {term: weight for term, weight in weights.items() if term not in named_terms}
    chosen = _select([_match(fact, analysis) for fact in facts], rest)
    covered = frozenset[str]().union(*(match.terms for match in chosen))
    if (
        not chosen
        or weighted_coverage(covered, weights) < SUFFICIENT_RELEVANCE
        or (rest and weighted_coverage(covered, rest) < SUFFICIENT_RELEVANCE)
    ):
        return ()
    if not all(name <= covered for name in analysis.names):
        return ()
    return tuple(match.fact for match in chosen)


def _select(facts: Sequence[_MatchedFact], rest: dict[str, float]) -> list[_MatchedFact]:
    """Return the fact that covers most of the rest, and others that add to it; without a rest, all with what is asked for."""
    if not rest:
        single = [fact for fact in facts if fact.has_expected_type and len(fact.fact.names) == 1]
        return single[:_MAX_LINES]
    answering = [fact for fact in facts if fact.has_expected_type and fact.terms & rest.keys()]
    if not answering:
        return []
    chosen = [max(answering, key=lambda fact: weighted_coverage(fact.terms, rest))]
    for fact in facts:
        covered = frozenset[str]().union(*(match.terms for match in chosen))
        if (fact.terms - covered) & rest.keys() and len(chosen) < _MAX_LINES:
            chosen.append(fact)
    return chosen


def _match(fact: GraphFact, analysis: QuestionAnalysis) -> _MatchedFact:
    fact_terms = frozenset(terms(fact.text))
    facts = read_facts(fact.text) if analysis.expected.kinds else NO_FACTS
    types = answer_types_in(facts, analysis.expected, fact_terms)
    return _MatchedFact(
        fact=fact,
        terms=fact_terms | _name_terms(fact) | terms_answered_by_type(types, analysis.expected),
        has_expected_type=types >= _required_types(analysis, fact),
    )


def _required_types(analysis: QuestionAnalysis, fact: GraphFact) -> frozenset[AnswerType]:
    """Return the types that a fact must contain; any description answers who or what its entity is."""
    expected = analysis.expected
    if _WHAT_IT_IS.search(analysis.text) and expected.terms <= _name_terms(fact):
        return expected.kinds - {AnswerType.PERSON, AnswerType.NAME}
    return expected.kinds


def _facts(entities: Sequence[Entity], relations: Sequence[Relation]) -> Iterator[GraphFact]:
    for entity in entities:
        for description in _descriptions(entity.description):
            yield GraphFact(
                names=(_names(entity),),
                subject=f"{entity.name} ({entity.kind})",
                description=description,
                claims=tuple(
                    GraphClaim(subject=entity.id, text=text)
                    for text in (entity.name, entity.kind, description)
                ),
            )
    names_of = {entity.id: _names(entity) for entity in entities}
    for relation in relations:
        names = (relation.source, relation.target)
        ends = [
            GraphClaim(subject=end, text=name)
            for end, name in zip(relation.ends, names, strict=True)
        ]
        for texts in _relation_texts(relation):
            yield GraphFact(
                names=tuple(
                    names_of.get(end, (name,))
                    for end, name in zip(relation.ends, names, strict=True)
                ),
                subject=f"{relation.source} → {relation.target} ({relation.predicate.words})",
                description=state_relation(*map(DESCRIPTION_SEPARATOR.join, texts)),
                claims=(
                    *(GraphClaim(subject=relation.id, text=text) for text in chain(*texts)),
                    *ends,
                ),
            )


def _relation_texts(relation: Relation) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Yield what each statement of a relation consists of: descriptions, comparisons and use cases.

    Each part of a description is a statement; a comparison is one with all that is said beside it.
    """
    described = _descriptions(relation.description)
    compared = _descriptions(relation.comparison), _descriptions(relation.use_case)
    if any(compared):
        yield described, *compared
    else:
        yield from (([description], [], []) for description in described)


def _descriptions(description: str) -> list[str]:
    """Return the parts of a description, without injected instructions."""
    parts = [part.strip() for part in description.split(DESCRIPTION_SEPARATOR) if part.strip()]
    return [part for part in parts if not is_inside_injection(" ".join(part.split()), 0)]


def _names(entity: Entity) -> _Names:
    return (entity.name, *entity.concept.aliases)


def _name_terms(fact: GraphFact) -> frozenset[str]:
    return frozenset(terms(" ".join(chain.from_iterable(fact.names))))


def _find_named(names: _Names, text: Sequence[str]) -> list[str]:
    return [name for name in names if _is_named(name, text)]


def _is_named(name: str, text: Sequence[str]) -> bool:
    """Return whether the words of a text contain the name; a single word counts only with a capital or a digit."""
    name_words = words(name)
    if not terms(name) or (
        len(name_words) == 1 and name == name.lower() and not any(map(str.isdigit, name))
    ):
        return False
    return any(
        name_words == text[start : start + len(name_words)]
        for start in range(len(text) - len(name_words) + 1)
    )
