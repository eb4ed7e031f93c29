"""What the graph says, word for word: a chat's source beside its passages, or where no passage answers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lightwell.answer import facts
from lightwell.answer.compose import EXTRACTS
from lightwell.answer.context import Budget, sayings
from lightwell.answer.kinds import Kind, Wanted, kinds_held, spoken_for, wanted
from lightwell.answer.orders import is_order
from lightwell.answer.quotes import cover
from lightwell.domain.chat import Saying
from lightwell.domain.evidence import ENOUGH, INSUFFICIENT, Answer, Retrieval
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity, Relation
from lightwell.domain.terms import terms, words

_MOST_LINES = 8
_WHAT_IT_IS = re.compile(
    r"\b(?:who|what|wer|was|qui)\s+(?:is|are|was|were|ist|sind|est|sont)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that the graph says; `names` are those of the entity, or of the relation's ends, that it is about.

    `sayings` are all that it is put together from.
    """

    names: tuple[str, ...]
    about: str
    said: str
    sayings: tuple[Saying, ...]

    @property
    def text(self) -> str:
        return f"{self.about}: {' '.join(self.said.split())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A line, the question's terms that it holds or answers, and whether it holds what is asked for."""

    line: Line
    terms: frozenset[str]
    fits: bool


def lines(answer: Answer, retrieval: Retrieval, budget: Budget) -> tuple[Line, ...]:
    """Return what a response takes from the graph: all it says where no passage answers, else what a model was told.

    Of that, only what is about entities that the answer names.
    """
    if answer.text == INSUFFICIENT:
        return _carrying(retrieval)
    if answer.model == EXTRACTS or not answer.citations:
        return ()
    told = sayings(retrieval, budget)
    said = words(answer.text)
    found = [
        line
        for line in _lines(told.entities, told.relations)
        if all(_is_named(name, said) for name in line.names)
    ]
    return tuple(found[:_MOST_LINES])


def _carrying(retrieval: Retrieval) -> tuple[Line, ...]:
    """Return the lines about what the question names that carry it, the best first; none when it is not carried.

    Together they hold 0.6 of the weights of its terms, and of those besides the names, and every name in it; the best
    holds what is asked for.
    """
    question, weights = retrieval.question.text, retrieval.weights
    asked = words(question)
    about = [
        line
        for line in _lines(retrieval.entities, retrieval.relations)
        if any(_is_named(name, asked) for name in line.names)
    ]
    named = {name for line in about for name in line.names if _is_named(name, asked)}
    known = frozenset(terms(" ".join(named)))
    rest = {term: weight for term, weight in weights.items() if term not in known}
    chosen = _chosen([_held(line, question) for line in about], rest)
    held = frozenset[str]().union(*(each.terms for each in chosen))
    if not chosen or cover(held, weights) < ENOUGH or (rest and cover(held, rest) < ENOUGH):
        return ()
    if not all(name <= held for name in facts.names(question)):
        return ()
    return tuple(each.line for each in chosen)


def _chosen(found: Sequence[_Held], rest: dict[str, float]) -> list[_Held]:
    """Return the fitting line that holds most of the rest, and others that add to it; without a rest, all that fit."""
    if not rest:
        return [each for each in found if each.fits and len(each.line.names) == 1][:_MOST_LINES]
    fitting = [each for each in found if each.fits and each.terms & rest.keys()]
    if not fitting:
        return []
    chosen = [max(fitting, key=lambda each: cover(each.terms, rest))]
    for each in found:
        held = frozenset[str]().union(*(one.terms for one in chosen))
        if (each.terms - held) & rest.keys() and len(chosen) < _MOST_LINES:
            chosen.append(each)
    return chosen


def _held(line: Line, question: str) -> _Held:
    asked = wanted(question)
    kinds = kinds_held(line.text, asked)
    return _Held(
        line=line,
        terms=frozenset(terms(line.text)) | spoken_for(kinds, asked),
        fits=kinds >= _needed(question, asked, line),
    )


def _needed(question: str, asked: Wanted, line: Line) -> frozenset[Kind]:
    """Return what must be held; who or what somebody is, a description says, whatever is in it."""
    if _WHAT_IT_IS.search(question) and asked.terms <= frozenset(terms(" ".join(line.names))):
        return asked.kinds - {Kind.PERSON, Kind.NAME}
    return asked.kinds


def _lines(entities: Sequence[Entity], relations: Sequence[Relation]) -> Iterator[Line]:
    for entity in entities:
        for said in _said(entity.description):
            yield Line(
                names=(entity.name,),
                about=f"{entity.name} ({entity.kind})",
                said=said,
                sayings=tuple(
                    Saying(subject=entity.id, text=text)
                    for text in (entity.name, entity.kind, said)
                ),
            )
    for relation in relations:
        names = (relation.source, relation.target)
        ends = [
            Saying(subject=end, text=name) for end, name in zip(relation.ends, names, strict=True)
        ]
        for said in _said(relation.description):
            yield Line(
                names=names,
                about=f"{relation.source} → {relation.target}",
                said=said,
                sayings=(Saying(subject=relation.id, text=said), *ends),
            )


def _said(description: str) -> list[str]:
    """Return the sayings of a description; one that orders a machine about is nobody's answer here either."""
    said = [each.strip() for each in description.split(DESCRIPTION_SEPARATOR) if each.strip()]
    return [each for each in said if not is_order(" ".join(each.split()), 0)]


def _is_named(name: str, said: Sequence[str]) -> bool:
    """Return whether these words hold the name; a single word must be written as names are to be one."""
    own = words(name)
    if not terms(name) or (
        len(own) == 1 and name == name.lower() and not any(map(str.isdigit, name))
    ):
        return False
    return any(own == said[at : at + len(own)] for at in range(len(said) - len(own) + 1))
