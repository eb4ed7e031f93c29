"""Proposes merges with evidence. A proposal is never applied by itself, and a rejected one does not return.

Proposals are not stored. Each request computes them from what its reader sees, for one entity or for those mentioned
last, so the cost does not grow with the store.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import Entity, normalize_name
from lightwell.domain.ids import EntityId
from lightwell.domain.merges import MergeProposal
from lightwell.records.database import Database
from lightwell.records.graph import entities, entity_passages, merge_candidates
from lightwell.records.graph.merge_candidates import MergeEvidence, MergeSubject
from lightwell.text.regex import regex

MAX_SUBJECTS = 500
"""The number of most recently mentioned entities that are compared."""

_EVIDENCE_CONFIDENCE = {"email": 0.95, "alias": 0.9, "domain": 0.6}
_SEPARATOR = regex(r"[,;|]")

Pair = tuple[EntityId, EntityId]


async def propose_merges(
    database: Database, reader: Reader, *, about: str, limit: int
) -> list[MergeProposal]:
    """Return up to `limit` proposals, the most confident first; `about` names an entity, "" means the latest ones."""
    subject = (await entities.resolve_name(database, reader, about)).entity_id if about else None
    subjects = await merge_candidates.list_merge_subjects(
        database, reader, subject, limit=MAX_SUBJECTS
    )
    evidence = [
        *await merge_candidates.find_same_attributes(database, reader, subjects),
        *await merge_candidates.find_alias_matches(database, reader, _aliases(subjects)),
        *await merge_candidates.find_similar_names(database, reader, subjects),
    ]
    pairs = _evidence_by_pair(evidence)
    decided = await merge_candidates.list_rejected_pairs(database, reader, list(pairs))
    for pair in decided | await merge_candidates.list_linked_pairs(database, reader, list(pairs)):
        del pairs[pair]
    neighbours = await merge_candidates.list_neighbours(
        database, reader, {entity_id for pair in pairs for entity_id in pair}
    )
    shared = {
        pair: neighbours.get(pair[0], set()) & neighbours.get(pair[1], set()) for pair in pairs
    }
    proposed = {
        pair: signals for pair, signals in pairs.items() if shared[pair] or set(signals) != {"name"}
    }
    entity_ids = {entity_id for pair in proposed for entity_id in (*pair, *shared[pair])}
    by_id = await entities.get_many(database, reader, list(entity_ids))
    proposals = [
        _proposal(
            by_id[pair[0]], by_id[pair[1]], signals, [by_id[n] for n in shared[pair] if n in by_id]
        )
        for pair, signals in proposed.items()
    ]
    proposals.sort(
        key=lambda proposal: (-proposal.confidence, proposal.one.ref, proposal.other.ref)
    )
    return await _with_attributes(database, reader, proposals[:limit])


async def require_proposed(database: Database, reader: Reader, name: str, other: str) -> None:
    """Raise `NotFound` unless a merge of these two is proposed now, whichever of them it is about."""
    pair = {(await entities.resolve_name(database, reader, end)).entity_id for end in (name, other)}
    for about in (name, other):
        proposals = await propose_merges(database, reader, about=about, limit=MAX_SUBJECTS)
        if any({proposal.one.id, proposal.other.id} == pair for proposal in proposals):
            return
    raise NotFound(f"A merge of {name!r} and {other!r} is not proposed; list the proposals again")


async def reject(
    database: Database, reader: Reader, name: str, other: str
) -> tuple[Entity, Entity]:
    """Record that these two entities are different; raise `NotFound`, or `Invalid` when they are one already."""
    first = (await entities.resolve_name(database, reader, name)).entity_id
    second = (await entities.resolve_name(database, reader, other)).entity_id
    if first == second:
        raise Invalid(f"{name!r} and {other!r} are one entity; unmerge them instead")
    await merge_candidates.reject(database, reader, (first, second))
    by_id = await entities.get_many(database, reader, [first, second])
    return by_id[first], by_id[second]


async def reopen(
    database: Database, reader: Reader, name: str, other: str
) -> tuple[Entity, Entity]:
    """Take back that these entities are different; raise `NotFound`, or `Invalid` where nobody said so."""
    first = (await entities.resolve_name(database, reader, name)).entity_id
    second = (await entities.resolve_name(database, reader, other)).entity_id
    if not await merge_candidates.reopen(database, reader, (first, second)):
        raise Invalid(
            f"Nobody has rejected a merge of {name!r} and {other!r}, or only for people without your access tags, too"
        )
    by_id = await entities.get_many(database, reader, [first, second])
    return by_id[first], by_id[second]


def merge_confidence(evidence: Mapping[str, str], shared: int) -> float:
    """Return the confidence, in [0, 1], of a merge with this evidence and so many shared neighbours."""
    doubts = [
        1 - _EVIDENCE_CONFIDENCE[field] for field in evidence if field in _EVIDENCE_CONFIDENCE
    ]
    if "name" in evidence:
        doubts.append(
            1 - min(0.9, 0.2 + 0.5 * float(evidence["name"]) + 0.2 * shared / (shared + 2))
        )
    return round(1 - math.prod(doubts), 3)


def _aliases(subjects: Sequence[MergeSubject]) -> Iterable[tuple[EntityId, str]]:
    for subject in subjects:
        for alias in _SEPARATOR.split(subject.attributes.get("aliases", "")):
            if normalize_name(alias):
                yield subject.id, normalize_name(alias)


def _evidence_by_pair(evidence: Sequence[MergeEvidence]) -> dict[Pair, dict[str, str]]:
    by_pair: dict[Pair, dict[str, str]] = {}
    for sign in sorted(evidence, key=lambda sign: (sign.field, sign.value), reverse=True):
        pair = (min(sign.one, sign.other), max(sign.one, sign.other))
        by_pair.setdefault(pair, {})[sign.field] = sign.value
    return by_pair


def _proposal(
    left: Entity, right: Entity, evidence: Mapping[str, str], shared: Sequence[Entity]
) -> MergeProposal:
    first, second = sorted((left, right), key=lambda entity: (-entity.chunk_count, entity.ref))
    return MergeProposal(
        one=first,
        other=second,
        confidence=merge_confidence(evidence, len(shared)),
        evidence=dict(sorted(evidence.items())),
        shared_neighbours=tuple(sorted(neighbour.name for neighbour in shared)),
        attributes=(),
    )


async def _with_attributes(
    database: Database, reader: Reader, proposals: Sequence[MergeProposal]
) -> list[MergeProposal]:
    ids = {entity.id for proposal in proposals for entity in proposal.entities}
    attributes = await entity_passages.get_attributes(database, reader, sorted(ids))
    return [
        replace(
            proposal,
            attributes=tuple(attributes.get(entity.id, {}) for entity in proposal.entities),
        )
        for proposal in proposals
    ]
