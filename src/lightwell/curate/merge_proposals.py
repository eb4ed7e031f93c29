"""Which entities may be one: proposed with what speaks for it, never applied by itself, and not again once rejected.

Proposals are not stored. They are found when somebody asks, from what that person sees, for the entities that were
spoken of last or for one of them; so a look costs the same however large the store is.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity, MergeProposal, normalize_name
from lightwell.domain.ids import EntityId
from lightwell.records.database import Database
from lightwell.records.graph import entities, merge_candidates
from lightwell.records.graph.merge_candidates import MergeEvidence, MergeSubject

MAX_SUBJECTS = 500
"""How many of the entities that were spoken of last are looked at."""

_SURE = {"email": 0.95, "alias": 0.9, "domain": 0.6}
_SEPARATOR = re.compile(r"[,;|]")

Pair = tuple[EntityId, EntityId]


async def propose_merges(
    database: Database, reader: Reader, *, about: str, limit: int
) -> list[MergeProposal]:
    """Return up to `limit` proposals, the surest first; `about` names the entity to look at, "" the latest ones."""
    subject = (await entities.resolve_name(database, reader, about)).entity_id if about else None
    looked_at = await merge_candidates.merge_subjects(database, reader, subject, most=MAX_SUBJECTS)
    signs = [
        *await merge_candidates.same_attributes(database, reader, looked_at),
        *await merge_candidates.entities_named(database, reader, _aliases(looked_at)),
        *await merge_candidates.near_names(database, reader, looked_at),
    ]
    pairs = _pairs(signs)
    for pair in await merge_candidates.rejected_pairs(database, reader, list(pairs)):
        del pairs[pair]
    near = await merge_candidates.neighbours(
        database, reader, {each for pair in pairs for each in pair}
    )
    shared = {pair: near.get(pair[0], set()) & near.get(pair[1], set()) for pair in pairs}
    kept = {pair: said for pair, said in pairs.items() if shared[pair] or set(said) != {"name"}}
    wanted = {each for pair in kept for each in (*pair, *shared[pair])}
    known = await entities.get_many(database, reader, list(wanted))
    found = [
        _proposal(
            known[pair[0]], known[pair[1]], said, [known[n] for n in shared[pair] if n in known]
        )
        for pair, said in kept.items()
    ]
    found.sort(key=lambda each: (-each.confidence, each.one.ref, each.other.ref))
    return found[:limit]


async def reject(database: Database, reader: Reader, one: str, other: str) -> tuple[Entity, Entity]:
    """Remember that these two entities are two; raise `NotFound`, or `Invalid` when they are one already."""
    first = (await entities.resolve_name(database, reader, one)).entity_id
    second = (await entities.resolve_name(database, reader, other)).entity_id
    if first == second:
        raise Invalid(f"{one!r} and {other!r} are one entity; unmerge them instead")
    await merge_candidates.reject(database, reader, (first, second))
    known = await entities.get_many(database, reader, [first, second])
    return known[first], known[second]


def merge_confidence(evidence: Mapping[str, str], shared: int) -> float:
    """Return how sure it is that two entities with this evidence and as many shared neighbours are one, in [0, 1]."""
    doubts = [1 - _SURE[field] for field in evidence if field in _SURE]
    if "name" in evidence:
        doubts.append(
            1 - min(0.9, 0.2 + 0.5 * float(evidence["name"]) + 0.2 * shared / (shared + 2))
        )
    return round(1 - math.prod(doubts), 3)


def _aliases(looked_at: Sequence[MergeSubject]) -> Iterable[tuple[EntityId, str]]:
    for each in looked_at:
        for alias in _SEPARATOR.split(each.attributes.get("aliases", "")):
            if normalize_name(alias):
                yield each.id, normalize_name(alias)


def _pairs(signs: Sequence[MergeEvidence]) -> dict[Pair, dict[str, str]]:
    found: dict[Pair, dict[str, str]] = {}
    for sign in sorted(signs, key=lambda sign: (sign.field, sign.value), reverse=True):
        pair = (min(sign.one, sign.other), max(sign.one, sign.other))
        found.setdefault(pair, {})[sign.field] = sign.value
    return found


def _proposal(
    one: Entity, other: Entity, evidence: Mapping[str, str], shared: Sequence[Entity]
) -> MergeProposal:
    first, second = sorted((one, other), key=lambda each: (-each.chunk_count, each.ref))
    return MergeProposal(
        one=first,
        other=second,
        confidence=merge_confidence(evidence, len(shared)),
        evidence=dict(sorted(evidence.items())),
        shared_neighbours=tuple(sorted(each.name for each in shared)),
    )
