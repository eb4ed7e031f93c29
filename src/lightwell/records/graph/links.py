"""Links as one reader sees them, and people's decisions about them.

A link applies to readers who share with its decider a class of each side, as a merge does. What a reader sees of a pair is
combined from the rows whose two classes that reader sees: evidence, status, and the decisions that are learned from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.ids import DocumentId, EntityId
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import CERTAIN, MAX_LEARNED, SYMMETRIC, LinkCursor, LinkId, LinkStatus
from lightwell.records.database import Database, repeatable
from lightwell.records.graph import link_proposals
from lightwell.records.graph.link_proposals import SubjectKey
from lightwell.records.locks import lock_project
from lightwell.records.rows import fetch, fetch_values

# `about` limits the result, but not the decisions that are learned from. Links that documents state are many: they are
# listed only for an entity. A proposal is left out where links that are stated or confirmed say it already, directly or of entities
# that are the same as its ends: `one` holds each end with these, also through proposals that are certain, since whoever
# confirms them has said it.
_LIST = """
WITH RECURSIVE merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), visible AS MATERIALIZED (
    SELECT coalesce(pair_id, link_id) AS pair_id, from_ref, to_ref, link_type, status, evidence, decided_by, decided_at,
           expires_at, document_id, link_id, points, points_rule
    FROM entity_links
    WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND sees(%(classes)s, to_class_id)
      AND pair_id IS NOT NULL
    UNION ALL
    SELECT link_id, from_ref, to_ref, link_type, status, evidence, '', NULL, expires_at, document_id, link_id, points, points_rule
    FROM entity_links
    WHERE project_id = %(project_id)s AND sees(%(classes)s, class_id) AND pair_id IS NULL
      AND (from_ref = ANY(%(about)s::uuid[]) OR to_ref = ANY(%(about)s::uuid[]) OR link_id = ANY(%(only)s::uuid[]))
), counted AS MATERIALIZED (
    SELECT pair_id, count(*) AS rows, max(points) AS points, max(points_rule) AS rule, (array_agg(link_id))[1] AS link_id
    FROM visible WHERE points_rule IS NOT NULL GROUP BY 1
), feature AS (
    SELECT pair_id, said.name, max(said.points::float8) AS points
    FROM counted JOIN visible USING (pair_id)
    CROSS JOIN LATERAL jsonb_each_text(visible.evidence -> 'points') AS said (name, points)
    WHERE counted.rows > 1
    GROUP BY 1, 2
), pattern AS MATERIALIZED (
    SELECT pair_id, points, rule, link_id, NULL::jsonb AS evidence FROM counted WHERE rows = 1
    UNION ALL
    SELECT pair_id, sum(points), string_agg(name, ' ' ORDER BY name COLLATE "C"), NULL::uuid, jsonb_object_agg(name, points)
    FROM feature GROUP BY 1
), latest AS MATERIALIZED (
    SELECT DISTINCT ON (pair_id) pair_id, from_ref, to_ref, link_type, status, decided_by, decided_at, document_id,
           evidence ->> 'relation' AS relation
    FROM visible ORDER BY pair_id, decided_at DESC NULLS LAST, status, from_ref, document_id
), offered AS MATERIALIZED (
    SELECT pair_id, max((evidence ->> 'prior')::float8) AS prior,
           bool_or(expires_at IS NULL OR expires_at > now()) AS is_open,
           CASE WHEN bool_and(expires_at IS NOT NULL) THEN max(expires_at) END AS expires_at
    FROM visible WHERE status = 'proposed' GROUP BY 1
), learned AS MATERIALIZED (
    SELECT latest.link_type, pattern.rule,
           greatest(-%(max_learned)s, least(%(max_learned)s,
               ln((count(*) FILTER (WHERE latest.status = 'confirmed') + 1)::float8
                  / (count(*) FILTER (WHERE latest.status = 'rejected') + 1)))) AS points
    FROM latest JOIN pattern USING (pair_id) WHERE latest.decided_at IS NOT NULL GROUP BY 1, 2
), judged AS (
    SELECT latest.*, pattern.evidence, pattern.link_id, pattern.rule, offered.prior, coalesce(learned.points, 0) AS learned,
           CASE WHEN latest.status = 'proposed' THEN offered.expires_at END AS expires_at,
           CASE WHEN latest.status = 'proposed' AND NOT offered.is_open THEN 'expired' ELSE latest.status END AS state,
           CASE latest.status WHEN 'confirmed' THEN 1 WHEN 'rejected' THEN 0
                ELSE 1 / (1 + exp(-(offered.prior + pattern.points + coalesce(learned.points, 0)))) END AS confidence
    FROM latest
    LEFT JOIN pattern USING (pair_id)
    LEFT JOIN offered USING (pair_id)
    LEFT JOIN learned ON learned.link_type = latest.link_type AND learned.rule = pattern.rule
                     AND latest.status = 'proposed'
), same (near, far, is_decided) AS MATERIALIZED (
    SELECT ends.near, ends.far, state = 'confirmed'
    FROM judged CROSS JOIN LATERAL (VALUES (from_ref, to_ref), (to_ref, from_ref)) AS ends (near, far)
    WHERE link_type = 'same_as' AND (state = 'confirmed' OR state = 'proposed' AND confidence >= %(certain)s)
    UNION ALL
    SELECT ends.near, ends.far, true
    FROM merged CROSS JOIN LATERAL (VALUES (entity_id, root_id), (root_id, entity_id)) AS ends (near, far)
), one (entity_id, same_id, is_decided) AS (
    SELECT from_ref, from_ref, true FROM judged WHERE state = 'proposed'
    UNION SELECT to_ref, to_ref, true FROM judged WHERE state = 'proposed'
    UNION
    SELECT one.entity_id, same.far, one.is_decided AND same.is_decided FROM one JOIN same ON same.near = one.same_id
), said AS MATERIALIZED (
    SELECT near_id, far_id, link_type FROM confirmed_links((SELECT array_agg(DISTINCT same_id) FROM one), %(classes)s)
), known AS MATERIALIZED (
    SELECT judged.pair_id
    FROM judged
    JOIN one AS near ON near.entity_id = judged.from_ref
    JOIN said ON said.near_id = near.same_id AND said.link_type <> 'same_as'
     AND (said.link_type = judged.link_type OR judged.link_type = 'related_to')
    JOIN one AS far ON far.entity_id = judged.to_ref AND far.same_id = said.far_id
    WHERE state = 'proposed'
    UNION
    SELECT judged.pair_id FROM judged JOIN one ON one.entity_id = judged.from_ref AND one.same_id = judged.to_ref
    WHERE state = 'proposed' AND one.is_decided
    UNION
    SELECT judged.pair_id FROM judged JOIN said ON said.near_id = judged.from_ref AND said.far_id = judged.to_ref
    WHERE state = 'proposed' AND said.link_type = 'same_as' AND judged.link_type = 'same_as'
), weight AS MATERIALIZED (
    SELECT subject_id, sum(mention_count) AS chunks FROM profiles
    WHERE subject_id IN (SELECT from_ref FROM latest UNION SELECT to_ref FROM latest) AND sees(%(classes)s, class_id)
    GROUP BY 1
), ranked AS (
    SELECT judged.*, round((judged.confidence * ln(1 + near.chunks + far.chunks))::numeric, 6)::float8 AS usefulness
    FROM judged
    JOIN weight AS near ON near.subject_id = judged.from_ref
    JOIN weight AS far ON far.subject_id = judged.to_ref
    WHERE (%(status)s::text IS NULL OR judged.state = %(status)s)
      AND (%(type)s::text IS NULL OR judged.link_type = %(type)s)
      AND (%(about)s::uuid[] IS NULL OR judged.from_ref = ANY(%(about)s) OR judged.to_ref = ANY(%(about)s))
      AND (%(only)s::uuid[] IS NULL OR judged.pair_id = ANY(%(only)s))
      AND coalesce((SELECT root_id FROM merged WHERE entity_id = judged.from_ref), judged.from_ref)
          <> coalesce((SELECT root_id FROM merged WHERE entity_id = judged.to_ref), judged.to_ref)
      AND (%(only)s::uuid[] IS NOT NULL OR judged.pair_id NOT IN (SELECT pair_id FROM known))
)
SELECT ranked.pair_id AS id, from_ref AS source, to_ref AS target, link_type AS type, state AS status, confidence, usefulness,
       coalesce(evidence, (SELECT said.evidence -> 'points' FROM entity_links AS said WHERE said.link_id = ranked.link_id), '{}')
           AS points,
       learned, decided_by, decided_at, ranked.expires_at, coalesce(relation, '') AS relation,
       (SELECT document.source_url FROM source_documents AS document
        WHERE document.document_id = ranked.document_id AND sees(%(classes)s, document.class_id)) AS stated_by
FROM ranked
WHERE %(after_usefulness)s::float8 IS NULL OR usefulness < %(after_usefulness)s
   OR (usefulness = %(after_usefulness)s AND ranked.pair_id > %(after_id)s)
ORDER BY usefulness DESC, ranked.pair_id LIMIT %(limit)s
"""

_CLASSES = """
SELECT subject_id AS entity_id, class_id FROM profiles
WHERE subject_id = ANY(%(entities)s) AND sees(%(classes)s, class_id) ORDER BY 1, 2
"""

_MEMBERS = "SELECT unnest(with_merged(%(entities)s, %(classes)s))"

# Each side is stored in all classes in which the decider knows it. Rows keep the evidence of their own two classes.
_DECIDE = """
INSERT INTO entity_links AS link (
    link_id, project_id, from_ref, to_ref, class_id, to_class_id, pair_id, link_type, directional, confidence, evidence,
    created_by, status, decided_by, decided_at)
SELECT gen_random_uuid(), %(project_id)s, %(source)s, %(target)s, near.class_id, far.class_id,
       link_key(%(project_id)s, %(source)s, %(target)s, %(type)s), %(type)s, %(directional)s, %(confidence)s, '{}', 'user',
       %(status)s, %(by)s, now()
FROM profiles AS near CROSS JOIN profiles AS far
WHERE near.subject_id = %(source)s AND sees(%(classes)s, near.class_id)
  AND far.subject_id = %(target)s AND sees(%(classes)s, far.class_id)
ORDER BY near.class_id, far.class_id
ON CONFLICT (pair_id, class_id, to_class_id) WHERE pair_id IS NOT NULL DO UPDATE
SET status = excluded.status, confidence = excluded.confidence, created_by = excluded.created_by,
    decided_by = excluded.decided_by, decided_at = excluded.decided_at, expires_at = NULL
RETURNING pair_id
"""

_REMOVE = """
DELETE FROM entity_links
WHERE project_id = %(project_id)s AND pair_id = %(pair)s AND decided_at IS NOT NULL
  AND sees(%(classes)s, class_id) AND sees(%(classes)s, to_class_id)
RETURNING from_ref, class_id, to_ref, to_class_id
"""

_VISIBLE_SUBJECTS = """
SELECT profile.subject_id, profile.class_id
FROM profiles AS profile JOIN entities AS entity ON entity.entity_id = profile.subject_id
WHERE entity.project_id = %(project_id)s AND profile.subject = 'entity' AND sees(%(classes)s, profile.class_id)
  AND entity.entity_ref NOT LIKE 'kg:%%'
  AND (%(about)s::uuid[] IS NULL OR profile.subject_id = ANY(%(about)s))
"""

# The links that people decided last.
_DECIDED = """
SELECT pair_id FROM entity_links
WHERE project_id = %(project_id)s AND pair_id IS NOT NULL AND decided_at IS NOT NULL
  AND sees(%(classes)s, class_id) AND sees(%(classes)s, to_class_id)
GROUP BY 1 ORDER BY max(decided_at) DESC, 1 LIMIT %(limit)s
"""

_QUOTE = """
SELECT chunk.chunk_text AS text, document.source_url AS url, document.title, document.document_id,
       chunk.start_offset AS start
FROM document_entity_mentions AS mention
JOIN document_chunks AS chunk USING (chunk_id) JOIN source_documents AS document USING (document_id)
WHERE mention.entity_id = %(entity)s AND sees(%(classes)s, mention.class_id) AND sees(%(classes)s, chunk.class_id)
  AND NOT document.is_deleted AND position(lower(%(value)s) IN lower(chunk.chunk_text)) > 0
ORDER BY document.updated_at DESC, document.source_url COLLATE "C", chunk.chunk_index LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkQuery:
    """Selects links of a reader: by status and type, with one of the entities `about`, or those with the ids `only`."""

    status: LinkStatus | None = None
    type: LinkType | None = None
    about: Sequence[EntityId] | None = None
    only: Sequence[UUID] | None = None
    after: LinkCursor | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLink:
    """A link as its reader's rows combine it; `points` by the name of the evidence."""

    id: LinkId
    source: EntityId
    target: EntityId
    type: LinkType
    status: LinkStatus
    confidence: float
    usefulness: float
    points: Mapping[str, float]
    learned: float
    decided_by: str
    decided_at: datetime | None
    expires_at: datetime | None
    relation: str
    stated_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPair:
    """Two entities and the type of a link from the first to the second."""

    source: EntityId
    target: EntityId
    type: LinkType

    def ordered(self) -> "LinkPair":
        """Return the pair as it is stored: that of a symmetric type in the order of the ids."""
        if self.type in SYMMETRIC and self.source.int > self.target.int:
            return LinkPair(source=self.target, target=self.source, type=self.type)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage that names a value, with its document; it starts at the character `start` of the document's text."""

    text: str
    url: str
    title: str
    document_id: DocumentId
    start: int


async def list_links(database: Database, reader: Reader, query: LinkQuery) -> list[StoredLink]:
    """Return the reader's links that the query selects, by descending usefulness, then by id."""
    return await database.rows(
        _LIST,
        {
            **reader.parameters,
            "max_learned": MAX_LEARNED,
            "certain": CERTAIN,
            "status": query.status.value if query.status else None,
            "type": query.type.value if query.type else None,
            "about": None if query.about is None else list(query.about),
            "only": None if query.only is None else list(query.only),
            "after_usefulness": query.after.usefulness if query.after else None,
            "after_id": query.after.id if query.after else None,
            "limit": query.limit,
        },
        into=StoredLink,
    )


async def list_decided(database: Database, reader: Reader, *, limit: int) -> list[UUID]:
    """Return the ids of up to `limit` links that somebody decided, the latest first."""
    return await database.values(_DECIDED, {**reader.parameters, "limit": limit})


async def list_members(database: Database, reader: Reader, entity: EntityId) -> list[EntityId]:
    """Return the entity with those that are merged with it for the reader."""
    return await database.values(_MEMBERS, {"entities": [entity], **reader.parameters})


async def list_subject_keys(
    database: Database, reader: Reader, entities: Sequence[EntityId]
) -> list[SubjectKey]:
    """Return each entity with each of the reader's classes that knows it."""
    parameters = {"entities": list(entities), **reader.parameters}
    return await database.rows(_CLASSES, parameters, into=SubjectKey)


async def find_passage(
    database: Database, reader: Reader, entity: EntityId, value: str
) -> Passage | None:
    """Return the reader's latest passage that mentions the entity and contains the value, in any case."""
    parameters = {"entity": entity, "value": value, **reader.parameters}
    return await database.row(_QUOTE, parameters, into=Passage)


@repeatable
async def decide(
    database: Database, reader: Reader, pair: LinkPair, status: LinkStatus
) -> LinkId | None:
    """Store a decision for readers who share a class of each side with the reader's own classes; None if these know not both."""
    stored = pair.ordered()
    facts: dict[str, object] = {
        "project_id": reader.project_id,
        "classes": reader.own_classes,
        "source": stored.source,
        "target": stored.target,
        "type": stored.type.value,
        "directional": stored.type not in SYMMETRIC,
        "confidence": 1.0 if status is LinkStatus.CONFIRMED else 0.0,
        "status": status.value,
        "by": reader.user,
    }
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        links = await fetch_values(connection, _DECIDE, facts)
    return links[0] if links else None


@repeatable
async def remove_decision(database: Database, reader: Reader, link: LinkId) -> bool:
    """Delete a decision in the reader's own classes, and have both ends proposed for anew; return whether there was one."""
    facts = {
        "project_id": reader.project_id,
        "classes": reader.own_classes,
        "pair": link,
    }
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        rows = await fetch(connection, _REMOVE, facts)
        changed = {
            end for *source, target, to_class in rows for end in (tuple(source), (target, to_class))
        }
        await link_proposals.mark_changed(connection, reader.project_id, sorted(changed))
    return bool(rows)


@repeatable
async def request_proposals(
    database: Database, reader: Reader, about: Sequence[EntityId] | None
) -> None:
    """Have links proposed anew for these entities, None for all that the reader sees, in the classes that the reader sees."""
    facts = {
        **reader.parameters,
        "about": None if about is None else list(about),
    }
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        subjects = await fetch(connection, _VISIBLE_SUBJECTS, facts)
        changed = [(entity, class_id) for entity, class_id in subjects]
        await link_proposals.mark_changed(connection, reader.project_id, changed)
