"""Who and what is tied to an entity, and what a passage says of the two."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.brief.citation_marks import CitationMarks
from lightwell.answer.brief.cues import entity_names, is_plausible_name
from lightwell.answer.brief.namesakes import address_matches_name, likely_address_prefixes
from lightwell.answer.brief.selection import CandidateSentence, passes_verification
from lightwell.answer.quotes import render_quote, shorten
from lightwell.domain.access import Reader
from lightwell.domain.briefs import EntityPassage, RelatedEntity
from lightwell.domain.graph import Entity, Predicate
from lightwell.domain.ids import EntityId
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.graph import entities, entity_passages
from lightwell.records.graph.entity_passages import EntityRelation
from lightwell.text.terms import words

_PERSONS = ("person", "contact")
_SAID_BY_RULES = "name"
_INSIDE, _LEAD = re.compile(r"[\w,][\s*_]{1,8}$|[(\"“]$"), 9
"""What stands before a word inside a sentence, and within how many characters it is looked for."""

_MAX_TIES = 6
_MAX_ASKED = 12
_ROLES = frozenset(
    """support info sales service office contact hello help admin team billing jobs press mail noreply no-reply
    kontakt vertrieb""".split()
)
"""What stands before the @ of an address that is nobody's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntities:
    """The people and the other entities tied to one, the closest first."""

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
    """Return who is related to the entity or named with it in one breath, and what else it is linked and related to."""
    bonds: dict[EntityId, EntityRelation] = {}
    for bond in await entity_passages.list_related(database, reader, entity.id):
        bonds.setdefault(bond.entity.id, bond)
    chunks = [each.chunk.id for each in passages]
    wanted = entity_passages.EntityFilter(kinds=_PERSONS, extra_entities=list(bonds))
    counts = await entity_passages.count_co_mentions(database, reader, entity.id, chunks, wanted)
    beside = await entities.get_many(
        database, reader, [each for each in counts if each not in bonds]
    )
    tied = [
        _related_entity(each.entity, each, counts.get(each.entity.id, 0)) for each in bonds.values()
    ]
    tied += [_related_entity(beside[each], None, counts[each]) for each in counts if each in beside]
    text = "\n".join(each.chunk.text for each in passages)
    tied = [each for each in tied if each.relation or sentences_naming(each, sentences)]
    tied = [each for each in tied if _is_plausible(each, entity, text)]
    named = await _people_by_address(database, reader, tied)
    return RelatedEntities(
        people=_without_name_parts(
            named.get(each.ref, each) for each in tied if _is_person(each, named)
        ),
        links=_without_name_parts(each for each in tied if not _is_person(each, named)),
    )


def _is_person(related: RelatedEntity, named: Mapping[str, RelatedEntity]) -> bool:
    return related.kind in _PERSONS or related.ref in named


async def _people_by_address(
    database: Database, reader: Reader, related: Sequence[RelatedEntity]
) -> dict[str, RelatedEntity]:
    """Return by reference the ties that are people since an address is theirs, an address as the one it is of.

    Whom an address is of counts as a person only where the reader's passages name him or her.
    """
    nameless = [each for each in related if each.kind == _SAID_BY_RULES]
    begin = {
        one: each for each in nameless[:_MAX_ASKED] for one in likely_address_prefixes(each.name)
    }
    found = await entity_passages.find_addresses(database, reader, sorted(begin)) if begin else []
    owners = {
        each.ref: each
        for each in nameless
        if any(address_matches_name(one, each.name) for one in found)
    }
    spelled = {
        each.ref: " ".join(words(each.name.partition("@")[0]))
        for each in related
        if "@" in each.name and each.kind in _PERSONS
    }
    known = await search.find_named_entities(database, reader, sorted(set(spelled.values())))
    seen = await entities.get_many(database, reader, [each.id for each in known])
    by_name = {each.name: seen[each.id] for each in known if each.id in seen}
    for each in related:
        if owner := by_name.get(spelled.get(each.ref, "")):
            owners[each.ref] = replace(each, ref=owner.ref, name=owner.name, kind=owner.kind)
    return owners


def _is_plausible(related: RelatedEntity, entity: Entity, text: str) -> bool:
    """Return whether it is something else, and what texts only name besides is a name.

    What people or models say of it counts as it is. Else its name is no address, beginning or end of the entity's, and does
    not end in the entity's; a single word is written inside a sentence as names are, and nowhere small.
    """
    if address_matches_name(related.name, entity.name) or related.name.partition("@")[0] in _ROLES:
        return False
    if related.kind != _SAID_BY_RULES or related.relation not in ("", Predicate.RELATED_TO.value):
        return True
    own, other = words(related.name), words(entity.name)
    is_part = own in (other[: len(own)], other[-len(own) :]) or own[-len(other) :] == other
    return (
        not is_part
        and is_plausible_name(related.name)
        and (len(own) > 1 or is_proper(related.name, text))
    )


def is_proper(word: str, text: str) -> bool:
    """Return whether a text writes a word as a name: with its capital inside a sentence, and nowhere small."""
    inside = any(
        _INSIDE.search(text[max(0, match.start() - _LEAD) : match.start()])
        for match in re.finditer(rf"{re.escape(word)}\b", text)
    )
    small = re.search(rf"\b{re.escape(word.lower())}(?:s|es)?\b", text)
    return inside and small is None


def _without_name_parts(related: Iterable[RelatedEntity]) -> tuple[RelatedEntity, ...]:
    """Return the first six, without those whose name is part of another's: `Weber` beside Jonas Weber."""
    found: list[tuple[frozenset[str], RelatedEntity]] = []
    for each in related:
        own = frozenset(words(each.name))
        if len(found) < _MAX_TIES and not any(own <= had or had <= own for had, _ in found):
            found.append((own, each))
    return tuple(each for _, each in found)


def sentences_naming(
    related: RelatedEntity, sentences: Sequence[CandidateSentence]
) -> list[CandidateSentence]:
    """Return the units that name it."""
    called = entity_names([related.name])
    return [each for each in sentences if called.occur_in(each.quote.text)]


def add_evidence(
    related: RelatedEntity, sentences: Sequence[CandidateSentence], marks: CitationMarks
) -> RelatedEntity:
    """Return the tie with the most telling unit that names it, from a passage that is cited already where one does."""
    ranked = sorted(
        sentences_naming(related, sentences),
        key=lambda each: (not marks.knows(each.quote), -each.news_score),
    )
    best = next((each for each in ranked if passes_verification(each)), None)
    if best is None or not (marks.knows(best.quote) or marks.are_left):
        return related
    how = marks.line(shorten(render_quote(best.quote)), [best.quote], best.said_at)
    return replace(related, evidence=how)


def _related_entity(other: Entity, bond: EntityRelation | None, together: int) -> RelatedEntity:
    return RelatedEntity(
        ref=other.ref,
        name=other.name,
        kind=other.kind,
        relation=bond.type if bond else "",
        description=bond.description if bond else "",
        co_mentions=together,
        evidence=None,
    )
