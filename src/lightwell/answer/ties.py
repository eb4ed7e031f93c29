"""Who and what is tied to an entity, and what a passage says of the two."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lightwell.answer.lines import Marks, Told, stands
from lightwell.answer.quotes import citation
from lightwell.answer.telling import names
from lightwell.domain.access import Reader
from lightwell.domain.briefs import Spoken, Tie
from lightwell.domain.graph import Entity
from lightwell.domain.ids import EntityId
from lightwell.domain.terms import words
from lightwell.records import briefs, entities
from lightwell.records.briefs import Bond
from lightwell.records.database import Database

_PERSONS = ("person", "contact")
_MOST_TIES = 6


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
    tied = [each for each in tied if each.relation or naming(each, heard)]
    return Ties(
        people=_distinct(each for each in tied if each.kind in _PERSONS),
        links=_distinct(each for each in tied if each.kind not in _PERSONS),
    )


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
    how = marks.line(citation(0, best.quote).snippet, [best.quote], best.said_at)
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
