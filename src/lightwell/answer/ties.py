"""Who and what is tied to an entity, and what a passage says of the two."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.bearers import is_address_of, likely_addresses
from lightwell.answer.lines import Marks, Told, stands
from lightwell.answer.quotes import shortened
from lightwell.answer.shown import shown
from lightwell.answer.telling import may_be_named, names
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Spoken, Tie
from lightwell.domain.graph import Entity, Predicate
from lightwell.domain.ids import EntityId
from lightwell.domain.terms import words
from lightwell.records import briefs, entities, search
from lightwell.records.briefs import Bond
from lightwell.records.database import Database

_PERSONS = ("person", "contact")
_SAID_BY_RULES = "name"
_INSIDE, _LEAD = re.compile(r"[\w,][\s*_]{1,8}$|[(\"“]$"), 9
"""What stands before a word inside a sentence, and within how many characters it is looked for."""

_MOST_TIES = 6
_MOST_ASKED = 12
_ROLES = frozenset(
    """support info sales service office contact hello help admin team billing jobs press mail noreply no-reply
    kontakt vertrieb""".split()
)
"""What stands before the @ of an address that is nobody's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """The people and the other entities tied to one, the closest first."""

    people: tuple[Tie, ...]
    links: tuple[Tie, ...]


NONE = Ties(people=(), links=())


async def ties(
    database: Database,
    reader: Reader,
    entity: Entity,
    passages: Sequence[Spoken],
    heard: Sequence[Told],
) -> Ties:
    """Return who is related to the entity or named with it in one breath, and what else it is linked and related to."""
    bonds: dict[EntityId, Bond] = {}
    for bond in await briefs.bonds(database, reader, entity.id):
        bonds.setdefault(bond.entity.id, bond)
    chunks = [each.chunk.id for each in passages]
    wanted = briefs.Wanted(kinds=_PERSONS, also=list(bonds))
    counts = await briefs.together(database, reader, entity.id, chunks, wanted)
    beside = await entities.these(database, reader, [each for each in counts if each not in bonds])
    tied = [_tie(each.entity, each, counts.get(each.entity.id, 0)) for each in bonds.values()]
    tied += [_tie(beside[each], None, counts[each]) for each in counts if each in beside]
    text = "\n".join(each.chunk.text for each in passages)
    tied = [each for each in tied if each.relation or naming(each, heard)]
    tied = [each for each in tied if _is_plausible(each, entity, text)]
    named = await _who_has_an_address(database, reader, tied)
    return Ties(
        people=_distinct(named.get(each.ref, each) for each in tied if _is_person(each, named)),
        links=_distinct(each for each in tied if not _is_person(each, named)),
    )


def _is_person(tie: Tie, named: Mapping[str, Tie]) -> bool:
    return tie.kind in _PERSONS or tie.ref in named


async def _who_has_an_address(
    database: Database, reader: Reader, tied: Sequence[Tie]
) -> dict[str, Tie]:
    """Return by reference the ties that are people since an address is theirs, an address as the one it is of.

    Whom an address is of counts as a person only where the reader's passages name him or her.
    """
    nameless = [each for each in tied if each.kind == _SAID_BY_RULES]
    begin = {one: each for each in nameless[:_MOST_ASKED] for one in likely_addresses(each.name)}
    found = await briefs.addresses(database, reader, sorted(begin)) if begin else []
    owners = {
        each.ref: each for each in nameless if any(is_address_of(one, each.name) for one in found)
    }
    spelled = {
        each.ref: " ".join(words(each.name.partition("@")[0]))
        for each in tied
        if "@" in each.name and each.kind in _PERSONS
    }
    known = await search.named(database, reader, sorted(set(spelled.values())))
    seen = await entities.these(database, reader, [each.id for each in known])
    by_name = {each.name: seen[each.id] for each in known if each.id in seen}
    for each in tied:
        if owner := by_name.get(spelled.get(each.ref, "")):
            owners[each.ref] = replace(each, ref=owner.ref, name=owner.name, kind=owner.kind)
    return owners


def _is_plausible(tie: Tie, entity: Entity, text: str) -> bool:
    """Return whether it is something else, and what texts only name besides is a name.

    What people or models say of it counts as it is. Else its name is no address, beginning or end of the entity's, and does
    not end in the entity's; a single word is written inside a sentence as names are, and nowhere small.
    """
    if is_address_of(tie.name, entity.name) or tie.name.partition("@")[0] in _ROLES:
        return False
    if tie.kind != _SAID_BY_RULES or tie.relation not in ("", Predicate.RELATED_TO.value):
        return True
    own, other = words(tie.name), words(entity.name)
    is_part = own in (other[: len(own)], other[-len(own) :]) or own[-len(other) :] == other
    return not is_part and may_be_named(tie.name) and (len(own) > 1 or is_proper(tie.name, text))


def is_proper(word: str, text: str) -> bool:
    """Return whether a text writes a word as a name: with its capital inside a sentence, and nowhere small."""
    inside = any(
        _INSIDE.search(text[max(0, match.start() - _LEAD) : match.start()])
        for match in re.finditer(rf"{re.escape(word)}\b", text)
    )
    small = re.search(rf"\b{re.escape(word.lower())}(?:s|es)?\b", text)
    return inside and small is None


def _distinct(tied: Iterable[Tie]) -> tuple[Tie, ...]:
    """Return the first six, without those whose name is part of another's: `Weber` beside Jonas Weber."""
    found: list[tuple[frozenset[str], Tie]] = []
    for each in tied:
        own = frozenset(words(each.name))
        if len(found) < _MOST_TIES and not any(own <= had or had <= own for had, _ in found):
            found.append((own, each))
    return tuple(each for _, each in found)


def naming(tie: Tie, heard: Sequence[Told]) -> list[Told]:
    """Return the units that name it."""
    called = names([tie.name])
    return [each for each in heard if called.stand_in(each.quote.text)]


def with_how(tie: Tie, heard: Sequence[Told], marks: Marks) -> Tie:
    """Return the tie with the most telling unit that names it, from a passage that is cited already where one does."""
    ranked = sorted(
        naming(tie, heard), key=lambda each: (not marks.knows(each.quote), -each.lately)
    )
    best = next((each for each in ranked if stands(each)), None)
    if best is None or not (marks.knows(best.quote) or marks.are_left):
        return tie
    how = marks.line(shortened(shown(best.quote)), [best.quote], best.said_at)
    return replace(tie, how=how)


def _tie(other: Entity, bond: Bond | None, together: int) -> Tie:
    return Tie(
        ref=other.ref,
        name=other.name,
        kind=other.kind,
        relation=bond.type if bond else "",
        description=bond.description if bond else "",
        together=together,
        how=None,
    )
