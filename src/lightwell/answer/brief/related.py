"""People and other entities related to an entity, each with the sentence that names both."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.brief.citation_marks import CitationMarks
from lightwell.answer.brief.cues import entity_names
from lightwell.answer.brief.namesakes import address_matches_name, likely_address_prefixes
from lightwell.answer.brief.selection import CandidateSentence, may_be_quoted
from lightwell.answer.quotes import render_quote
from lightwell.domain.access import Reader
from lightwell.domain.briefs import EntityPassage, RelatedEntity
from lightwell.domain.graph import UNKNOWN_KIND, Entity, Predicate
from lightwell.domain.ids import EntityId
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.graph import entities, entity_passages
from lightwell.records.graph.entity_passages import EntityRelation
from lightwell.text.pieces import shorten
from lightwell.text.regex import regex
from lightwell.text.terms import words

_PERSONS = ("person", "contact")
_INSIDE, _LEAD = regex(r"[\w,][\s*_]{1,8}$|[(\"“]$"), 9
"""What stands before a word inside a sentence, and within how many characters it is looked for."""

_MAX_RELATED = 6
_MAX_ASKED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntities:
    """The people and the other entities related to one entity, the closest first."""

    people: tuple[RelatedEntity, ...]
    links: tuple[RelatedEntity, ...]


NONE = RelatedEntities(people=(), links=())


async def find_related(
    database: Database,
    reader: Reader,
    entity: Entity,
    passages: Sequence[EntityPassage],
    sentences: Sequence[CandidateSentence],
) -> RelatedEntities:
    """Return the people and other entities that relations, links or a common sentence tie to the entity."""
    relations: dict[EntityId, EntityRelation] = {}
    for relation in await entity_passages.list_related(database, reader, entity.id):
        relations.setdefault(relation.entity.id, relation)
    chunks = [passage.chunk.id for passage in passages]
    wanted = entity_passages.EntityFilter(kinds=_PERSONS, extra_entities=list(relations))
    counts = await entity_passages.count_co_mentions(database, reader, entity.id, chunks, wanted)
    beside = await entities.get_many(
        database, reader, [entity_id for entity_id in counts if entity_id not in relations]
    )
    candidates = [
        _related_entity(relation.entity, relation, counts.get(relation.entity.id, 0))
        for relation in relations.values()
    ]
    candidates += [
        _related_entity(beside[entity_id], None, counts[entity_id])
        for entity_id in counts
        if entity_id in beside
    ]
    text = "\n".join(passage.chunk.text for passage in passages)
    candidates = [
        candidate
        for candidate in candidates
        if candidate.relation or sentences_naming(candidate, sentences)
    ]
    candidates = [candidate for candidate in candidates if _is_plausible(candidate, entity, text)]
    people = await _people_by_address(database, reader, candidates)
    return RelatedEntities(
        people=_without_name_parts(
            people.get(candidate.ref, candidate)
            for candidate in candidates
            if _is_person(candidate, people)
        ),
        links=_without_name_parts(
            candidate for candidate in candidates if not _is_person(candidate, people)
        ),
    )


def _is_person(related: RelatedEntity, people: Mapping[str, RelatedEntity]) -> bool:
    return related.kind in _PERSONS or related.ref in people


async def _people_by_address(
    database: Database, reader: Reader, related: Sequence[RelatedEntity]
) -> dict[str, RelatedEntity]:
    """Return by reference the entities that are people because an e-mail address is theirs; an address becomes its owner.

    The owner of an address counts as a person only where the reader's passages name him or her.
    """
    nameless = [entity for entity in related if entity.kind == UNKNOWN_KIND]
    begin = {
        prefix: entity
        for entity in nameless[:_MAX_ASKED]
        for prefix in likely_address_prefixes(entity.name)
    }
    addresses = (
        await entity_passages.find_addresses(database, reader, sorted(begin)) if begin else []
    )
    owners = {
        entity.ref: entity
        for entity in nameless
        if any(address_matches_name(address, entity.name) for address in addresses)
    }
    spelled = {
        entity.ref: " ".join(words(entity.name.partition("@")[0]))
        for entity in related
        if "@" in entity.name and entity.kind in _PERSONS
    }
    named_entities = await search.find_named_entities(
        database, reader, sorted(set(spelled.values()))
    )
    seen = await entities.get_many(database, reader, [named.id for named in named_entities])
    by_name = {named.name: seen[named.id] for named in named_entities if named.id in seen}
    for entity in related:
        if owner := by_name.get(spelled.get(entity.ref, "")):
            owners[entity.ref] = replace(entity, ref=owner.ref, name=owner.name, kind=owner.kind)
    return owners


def _is_plausible(related: RelatedEntity, entity: Entity, text: str) -> bool:
    """Return whether the related entity is another one than the entity, and its name a real name.

    A relation that people or models state needs no further sign. Otherwise the name is no address of the entity, neither
    begins nor ends the entity's name, and does not end with it; a single word has its capital inside a sentence, and
    stands nowhere in lower case.
    """
    if address_matches_name(related.name, entity.name):
        return False
    if related.kind != UNKNOWN_KIND or related.relation not in ("", Predicate.RELATED_TO.value):
        return True
    name_words, other = words(related.name), words(entity.name)
    is_part = (
        name_words in (other[: len(name_words)], other[-len(name_words) :])
        or name_words[-len(other) :] == other
    )
    return not is_part and (len(name_words) > 1 or is_proper(related.name, text))


def is_proper(word: str, text: str) -> bool:
    """Return whether a text writes a word as a name: with a capital inside a sentence, and nowhere in lower case."""
    inside = any(
        _INSIDE.search(text[max(0, match.start() - _LEAD) : match.start()])
        for match in re.finditer(rf"{re.escape(word)}\b", text)
    )
    small = re.search(rf"\b{re.escape(word.lower())}(?:s|es)?\b", text)
    return inside and small is None


def _without_name_parts(related: Iterable[RelatedEntity]) -> tuple[RelatedEntity, ...]:
    """Return the first six, without those whose name is part of another's: `Weber` beside Jonas Weber."""
    kept: list[tuple[frozenset[str], RelatedEntity]] = []
    for entity in related:
        name_words = frozenset(words(entity.name))
        if len(kept) < _MAX_RELATED and not any(
            name_words <= had or had <= name_words for had, _ in kept
        ):
            kept.append((name_words, entity))
    return tuple(entity for _, entity in kept)


def sentences_naming(
    related: RelatedEntity, sentences: Sequence[CandidateSentence]
) -> list[CandidateSentence]:
    """Return the sentences that name the related entity."""
    names = entity_names([related.name])
    return [sentence for sentence in sentences if names.occur_in(sentence.quote.text)]


def add_evidence(
    related: RelatedEntity, sentences: Sequence[CandidateSentence], marks: CitationMarks
) -> RelatedEntity:
    """Return the related entity with the sentence of the highest news score that names it, from a cited passage if possible."""
    ranked = sorted(
        sentences_naming(related, sentences),
        key=lambda sentence: (not marks.knows(sentence.quote), -sentence.news_score),
    )
    best = next((sentence for sentence in ranked if may_be_quoted(sentence)), None)
    if best is None or not (marks.knows(best.quote) or marks.are_left):
        return related
    line = marks.line(shorten(render_quote(best.quote)), [best.quote], best.shown_date)
    return replace(related, evidence=line)


def _related_entity(
    other: Entity, relation: EntityRelation | None, co_mentions: int
) -> RelatedEntity:
    return RelatedEntity(
        ref=other.ref,
        name=other.name,
        kind=other.kind,
        relation=relation.type if relation else "",
        description=relation.description if relation else "",
        comparison=relation.comparison if relation else "",
        use_case=relation.use_case if relation else "",
        co_mentions=co_mentions,
        evidence=None,
    )
