"""What a chat model is asked: its rules, and the question with what the graph says and the passages that together cover it.

What comes from documents is fenced: it is data that the model must not obey.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from typing import TypeVar

from lightwell.answer.quotes import weighted_coverage
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.prompt_fencing import fence
from lightwell.ports import Message
from lightwell.text.analysis.chunk import UnitAnalysis
from lightwell.text.regex import regex
from lightwell.text.terms import terms
from lightwell.text.tokens import token_count

_FRAME = 12
"""Tokens of the number and the fences around a passage, at most."""

_MIN_ROOM = 100
"""A passage that must be cut to fewer tokens is left out, the best one excepted."""

MIN_RELEVANCE = 0.02
"""The default of the relevance below which no model is asked, and no passage is shown to it."""

_LONGEST_PLACE = 300
_ALIKE = 0.9
_WORD, _RUN = regex(r"\w+"), regex(r"\S+")
_MARKED = regex(r"[\dA-Z]")

_Stated = TypeVar("_Stated", Entity, Relation)


class Prompt(StrEnum):
    """What a model is asked for; each is a file in `prompts/`."""

    ANSWER = "answer"
    STATEMENTS = "statements"
    BYPASS = "bypass"
    VERIFY = "verify"
    LOOK = "look"

    @property
    def text(self) -> str:
        home = resources.files("lightwell.answer") / "prompts" / f"{self.value}.md"
        return home.read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many tokens a model is shown, and which shares of them (0 to 1, together at most 1) each part may have.

    What one part leaves unused goes to the chunks. `min_relevance` is the floor, 0 to 1: a model is asked where the best passage
    reaches it, and is shown passages whose relevance, together with what they add, reaches it. Raises `Invalid` for shares that
    are impossible.
    """

    max_tokens: int = 4000
    entities: float = 0.4
    relations: float = 0.3
    chunks: float = 0.3
    min_relevance: float = MIN_RELEVANCE

    def __post_init__(self) -> None:
        shares = (self.entities, self.relations, self.chunks)
        if self.max_tokens < 1:
            raise Invalid("A context needs at least one token")
        if not all(0 <= share <= 1 for share in shares) or sum(shares) > 1 + 1e-9:
            raise Invalid("The shares of a context lie between 0 and 1, and together are at most 1")

    def allows(self, retrieval: Retrieval) -> bool:
        """Return whether there is a passage that a model should judge."""
        return bool(retrieval.evidence) and retrieval.best_relevance >= self.min_relevance


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphContext:
    """What the graph says within its shares; `tokens` counts it as it is shown."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is shown of a retrieval; `tokens` counts all of it, as it is shown."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    passages: tuple[Evidence, ...]
    tokens: int


def answer_messages(
    question: str, context: Context, prompt: Prompt = Prompt.ANSWER
) -> list[Message]:
    """Return what the model is sent: background that cannot be cited, passages numbered from 1, the question."""
    background = "\n".join(
        (*map(entity_line, context.entities), *map(relation_line, context.relations))
    )
    blocks = [
        f"[{number}]\n{fence(passage_text(passage))}"
        for number, passage in enumerate(context.passages, 1)
    ]
    parts = [f"Background:\n\n{fence(background)}"] if background else []
    parts.extend(("Evidence:\n\n" + "\n\n".join(blocks), f"Question: {question}"))
    return [
        Message(role="system", content=prompt.text),
        Message(role="user", content="\n\n".join(parts)),
    ]


def select_context(retrieval: Retrieval, budget: Budget) -> Context:
    """Return what fits: entities and relations that say something in order, and the passages in order of choice.

    The passage of the highest relevance comes first and is always there, cut when it alone is too long. Each further one is the most
    relevant for what it adds of the question's terms; look-alikes of a chosen one, and what neither bears on the
    question nor adds to it, are left out.
    """
    graph = select_graph_context(retrieval, budget)
    shared = budget.entities + budget.relations + budget.chunks
    room = int(shared * budget.max_tokens) - graph.tokens
    passages = _select_passages(retrieval, room, budget.min_relevance)
    return Context(
        entities=graph.entities,
        relations=graph.relations,
        passages=passages,
        tokens=graph.tokens + sum(_token_cost(passage) for passage in passages),
    )


def select_graph_context(retrieval: Retrieval, budget: Budget) -> GraphContext:
    """Return what fits of what the graph says: entities and relations that say something, in order."""
    entities, for_entities = _fit_lines(
        retrieval.entities, entity_line, budget.entities * budget.max_tokens
    )
    relations, for_relations = _fit_lines(
        retrieval.relations, relation_line, budget.relations * budget.max_tokens
    )
    return GraphContext(entities=entities, relations=relations, tokens=for_entities + for_relations)


def entity_line(entity: Entity) -> str:
    """Return what the graph says of an entity, on one line."""
    return _line(f"- {entity.name} ({entity.kind}): {entity.description}")


def relation_line(relation: Relation) -> str:
    """Return what the graph says of a relation, on one line."""
    how = "; ".join(filter(None, (relation.predicate.words, relation.keywords)))
    return _line(f"- {relation.source} → {relation.target} ({how}): {relation.statement}")


def passage_text(entry: Evidence) -> str:
    """Return a passage as it is shown: its title and headings, then its text."""
    place = entry.chunk.heading_path
    return f"{_line(place)[:_LONGEST_PLACE]}\n\n{entry.chunk.text}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _fit_lines(
    stated: Iterable[_Stated], line: Callable[[_Stated], str], most: float
) -> tuple[tuple[_Stated, ...], int]:
    chosen: list[_Stated] = []
    spent = 0
    for fact in stated:
        cost = token_count(line(fact)) + 1
        statement = fact.description if isinstance(fact, Entity) else fact.statement
        if statement.strip() and spent + cost <= most:
            chosen.append(fact)
            spent += cost
    return tuple(chosen), spent


def _token_cost(entry: Evidence) -> int:
    return token_count(passage_text(entry)) + _FRAME


# ── the set that covers the question ──────────────────────────────────────────────────────────────────


def _select_passages(
    retrieval: Retrieval, tokens_left: int, min_worth: float
) -> tuple[Evidence, ...]:
    evidence, weights = retrieval.evidence, retrieval.weights
    held_terms = [
        entry.analysis.terms.union(terms(entry.chunk.heading_path)) & weights.keys()
        for entry in evidence
    ]
    left = list(range(len(evidence)))
    covered = frozenset[str]()
    chosen: list[Evidence] = []

    def worth(place: int) -> float:
        adds = weighted_coverage(held_terms[place] - covered, weights) if chosen else 0.0
        return evidence[place].relevance + adds

    while left:
        best = max(left, key=lambda place: (worth(place), -place))
        left.remove(best)
        entry = evidence[best]
        if chosen and (worth(best) < min_worth or _is_near_duplicate(entry, chosen)):
            continue
        fitting = _trim_to_budget(entry, tokens_left, always=not chosen)
        if fitting is not None:
            chosen.append(fitting)
            covered |= held_terms[best]
            tokens_left -= _token_cost(fitting)
    return tuple(chosen)


def _is_near_duplicate(entry: Evidence, evidence: Sequence[Evidence]) -> bool:
    """Return whether a chosen passage contains nearly all of this one, with all its names and numbers."""
    facts = _facts_in(entry)
    size = sum(map(len, facts))
    marked = _capitalised_words(entry)
    for other in evidence:
        shared = sum(map(len, facts & _facts_in(other)))
        if shared >= _ALIKE * size and marked <= _capitalised_words(other):
            return True
    return False


def _capitalised_words(entry: Evidence) -> frozenset[str]:
    """Return the words of a passage that have a capital or a digit."""
    return frozenset(word for word in _WORD.findall(entry.chunk.text) if _MARKED.search(word))


def _facts_in(entry: Evidence) -> frozenset[str]:
    return frozenset(" ".join(unit.words) for unit in entry.analysis.units)


# ── a passage cut to fit ──────────────────────────────────────────────────────────────────────────────


def _trim_to_budget(entry: Evidence, tokens_left: int, *, always: bool) -> Evidence | None:
    """Return the passage, or as many of its units around the best one as fit; None when that is too little."""
    if _token_cost(entry) <= tokens_left:
        return entry
    if tokens_left < _MIN_ROOM and not always:
        return None
    parts = entry.analysis.units
    if not parts:
        return None
    first, last = _around(entry, parts, tokens_left)
    return _truncate_words(_slice(entry, parts[first].start, parts[last].end), tokens_left)


def _around(entry: Evidence, parts: Sequence[UnitAnalysis], tokens_left: int) -> tuple[int, int]:
    """Return the first and the last of the units around the best one that fit together, what follows it first."""
    ends = [part.start for part in parts[1:]] + [len(entry.chunk.text)]
    sizes = [
        token_count(entry.chunk.text[part.start : end])
        for part, end in zip(parts, ends, strict=True)
    ]
    start = entry.highlights[0].start if entry.highlights else 0
    first = last = next((place for place, part in enumerate(parts) if part.end > start), 0)
    tokens_left -= _token_cost(_slice(entry, 0, 0)) + sizes[first]
    while True:
        if last + 1 < len(parts) and sizes[last + 1] <= tokens_left:
            last += 1
            tokens_left -= sizes[last]
        elif first > 0 and sizes[first - 1] <= tokens_left:
            first -= 1
            tokens_left -= sizes[first]
        else:
            return first, last


def _slice(entry: Evidence, start: int, end: int) -> Evidence:
    """Return `text[start:end]` of the passage as a passage that still knows where it stands."""
    chunk = entry.chunk
    text = chunk.text[start:end]
    place = replace(chunk.locator, start=chunk.locator.start + start, end=chunk.locator.start + end)
    return replace(
        entry,
        chunk=replace(chunk, text=text, tokens=token_count(text), locator=place),
        highlights=tuple(
            replace(highlight, start=highlight.start - start, end=highlight.end - start)
            for highlight in entry.highlights
            if highlight.start >= start and highlight.end <= end
        ),
    )


def _truncate_words(entry: Evidence, tokens_left: int) -> Evidence:
    """Return the passage with its last words left out until it fits; one word always stays."""
    ends = [match.end() for match in _RUN.finditer(entry.chunk.text)]
    while len(ends) > 1 and _token_cost(entry) > tokens_left:
        ends = ends[: len(ends) * 3 // 4]
        entry = _slice(entry, 0, ends[-1])
    return entry
