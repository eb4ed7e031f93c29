"""Proposed links: the entities whose profiles changed, the keys under which others find them, and the stored proposals.

Everything here is about one entity in one access class at a time, and a proposal about two of these, so no row depends on what
readers of its two classes do not see.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from lightwell.domain.ids import ClassId, EntityId, ProjectId
from lightwell.domain.link_keys import MAX_BLOCK, LinkKey, matching_keys
from lightwell.domain.link_scoring import ScoredLink
from lightwell.domain.link_subjects import COMPANY_KINDS, PROJECT_KINDS, LinkSubject
from lightwell.domain.links import CERTAIN, SYMMETRIC, WEAK_DAYS, evidence_pattern
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch, make
from lightwell.text.identifiers import find_identifiers, find_urls

_MAX_CHUNKS, _MAX_COMPANIES = 50, 20


@dataclass(frozen=True, slots=True, order=True)
class SubjectKey:
    """An entity as one access class knows it."""

    entity_id: EntityId
    class_id: ClassId


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPairLink:
    """A scored link, and the access classes in which its two ends are known."""

    link: ScoredLink
    source_class: ClassId
    target_class: ClassId


_TAKE = """
WITH taken AS (
    DELETE FROM link_subjects
    WHERE (entity_id, class_id) IN (SELECT entity_id, class_id FROM link_subjects WHERE project_id = %(project_id)s
                                    ORDER BY entity_id, class_id LIMIT %(limit)s)
    RETURNING entity_id, class_id
)
SELECT entity_id, class_id FROM taken ORDER BY entity_id, class_id
"""

_TOUCH = """
INSERT INTO link_subjects (entity_id, class_id, project_id)
SELECT DISTINCT changed.entity_id, changed.class_id, %(project_id)s::uuid
FROM unnest(%(entities)s::uuid[], %(classes)s::integer[]) AS changed (entity_id, class_id)
JOIN entities AS entity ON entity.entity_id = changed.entity_id AND entity.entity_ref NOT LIKE 'kg:%%'
ORDER BY 1, 2
ON CONFLICT (entity_id, class_id) DO NOTHING
"""

# Of the companies that a class links to an entity, only those count that it belongs to: an account manager is no employee of
# the customer. A project belongs to none, so any company that it is linked to is one that it is for.
_SUBJECTS = """
SELECT profile.subject_id AS id, profile.class_id, entity.entity_ref AS ref, profile.entity_kind AS kind,
       profile.display_name AS name, coalesce(profile.attributes, '{}') AS attributes, company.names AS company_names,
       company.domains AS company_domains,
       ARRAY(SELECT chunk.chunk_text
             FROM source_documents AS document JOIN document_chunks AS chunk USING (document_id)
             WHERE document.project_id = %(project_id)s AND document.item_ref = entity.entity_ref
               AND NOT document.is_deleted AND chunk.class_id = profile.class_id
             ORDER BY document.updated_at DESC, chunk.chunk_id LIMIT %(most)s) AS texts,
       ARRAY(SELECT name FROM (SELECT names FROM document_entity_mentions
                               WHERE entity_id = profile.subject_id AND class_id = profile.class_id AND is_own
                               ORDER BY chunk_id DESC LIMIT 1) AS own
             CROSS JOIN LATERAL unnest(own.names) AS name) AS aliases
FROM unnest(%(entities)s::uuid[], %(classes)s::integer[]) AS wanted (entity_id, class_id)
JOIN profiles AS profile ON profile.subject_id = wanted.entity_id AND profile.class_id = wanted.class_id
JOIN entities AS entity ON entity.entity_id = profile.subject_id
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(DISTINCT display_name), '{}') AS names,
           coalesce(array_agg(DISTINCT domain) FILTER (WHERE domain <> ''), '{}') AS domains
    FROM (
        SELECT DISTINCT company.subject_id, company.display_name, company.attributes ->> 'domain' AS domain
        FROM (
            SELECT to_ref AS entity_id FROM entity_links
            WHERE from_ref = profile.subject_id AND class_id = profile.class_id AND document_id IS NOT NULL
              AND (link_type = 'belongs_to' OR profile.entity_kind = ANY(%(projects)s))
            UNION
            SELECT from_ref FROM entity_links
            WHERE to_ref = profile.subject_id AND class_id = profile.class_id AND document_id IS NOT NULL
              AND profile.entity_kind = ANY(%(projects)s)
        ) AS stated
        JOIN profiles AS company
          ON company.subject_id = stated.entity_id AND company.class_id = profile.class_id
         AND company.entity_kind = ANY(%(companies)s)
        WHERE profile.entity_kind <> ALL(%(companies)s)
        ORDER BY 1 LIMIT %(most_companies)s
    ) AS company
) AS company
"""

_DELETE_KEYS = """
DELETE FROM entity_keys USING unnest(%(entities)s::uuid[], %(classes)s::integer[]) AS taken (entity_id, class_id)
WHERE entity_keys.entity_id = taken.entity_id AND entity_keys.class_id = taken.class_id
"""

_STORE_KEYS = """
INSERT INTO entity_keys (entity_id, class_id, project_id, kind, value)
SELECT entity_id, class_id, %(project_id)s, kind, value
FROM unnest(%(key_entities)s::uuid[], %(key_classes)s::integer[], %(kinds)s::text[], %(values)s::text[])
    AS given (entity_id, class_id, kind, value)
ORDER BY 1, 2, kind, value
"""

# A key that many entities of a class have is not followed in that class, whatever other classes hold.
_CANDIDATES = """
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(key_entities)s::uuid[], %(key_classes)s::integer[], %(kinds)s::text[], %(values)s::text[],
                         %(wanted)s::text[]) AS given (entity_id, class_id, kind, value, wanted)
), followed AS MATERIALIZED (
    SELECT sought.kind, sought.value, other.class_id, array_agg(other.entity_id) AS entities
    FROM (SELECT kind, value FROM given UNION SELECT wanted, value FROM given) AS sought
    JOIN entity_keys AS other
      ON other.project_id = %(project_id)s AND other.kind = sought.kind AND md5(other.value) = md5(sought.value)
     AND other.value = sought.value
    GROUP BY sought.kind, sought.value, other.class_id HAVING count(*) <= %(max_block)s
)
SELECT DISTINCT given.entity_id, given.class_id, other.entity_id, far.class_id
FROM given
JOIN followed AS own ON own.kind = given.kind AND own.value = given.value AND own.class_id = given.class_id
JOIN followed AS far ON far.kind = given.wanted AND far.value = given.value
CROSS JOIN LATERAL unnest(far.entities) AS other (entity_id)
WHERE other.entity_id <> given.entity_id
ORDER BY 1, 2, 3, 4
"""

_STORE = """
INSERT INTO entity_links AS link (
    link_id, project_id, from_ref, to_ref, class_id, to_class_id, pair_id, link_type, directional, confidence, evidence,
    rule, created_by, status, expires_at)
SELECT gen_random_uuid(), %(project_id)s, source, target, source_class, target_class,
       link_key(%(project_id)s, source, target, link_type), link_type, directional, confidence, evidence, rule,
       'system', 'proposed', CASE WHEN confidence < %(certain)s THEN now() + make_interval(days => %(weak_days)s) END
FROM unnest(%(sources)s::uuid[], %(targets)s::uuid[], %(types)s::text[], %(source_classes)s::integer[],
            %(target_classes)s::integer[], %(directional)s::boolean[], %(confidences)s::real[], %(evidence)s::jsonb[],
            %(rules)s::text[])
    AS given (source, target, link_type, source_class, target_class, directional, confidence, evidence, rule)
ORDER BY 3, 4, link_type, 5, 6
ON CONFLICT (pair_id, class_id, to_class_id) WHERE pair_id IS NOT NULL DO UPDATE
SET confidence = excluded.confidence, evidence = excluded.evidence, rule = excluded.rule,
    expires_at = excluded.expires_at
WHERE link.status = 'proposed' AND link.rule <> excluded.rule
"""


def _withdraw(end: LiteralString, end_class: LiteralString) -> LiteralString:
    return f"""
DELETE FROM entity_links AS link USING unnest(%(entities)s::uuid[], %(classes)s::integer[]) AS taken (entity_id, class_id)
WHERE link.{end} = taken.entity_id AND link.{end_class} = taken.class_id AND link.status = 'proposed'
  AND link.pair_id IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM unnest(%(sources)s::uuid[], %(targets)s::uuid[], %(types)s::text[], %(source_classes)s::integer[],
                         %(target_classes)s::integer[])
          AS kept (source, target, link_type, source_class, target_class)
      WHERE kept.source = link.from_ref AND kept.target = link.to_ref AND kept.link_type = link.link_type
        AND kept.source_class = link.class_id AND kept.target_class = link.to_class_id)
"""  # noqa: S608 - only our own words


_WITHDRAW_SOURCES = _withdraw("from_ref", "class_id")
_WITHDRAW_TARGETS = _withdraw("to_ref", "to_class_id")


async def mark_changed(
    connection: Connection, project_id: ProjectId, subjects: Sequence[tuple[object, object]]
) -> None:
    """Record that profiles of these entities in these classes changed; entities that only texts name are left out."""
    facts = {
        "project_id": project_id,
        "entities": [entity for entity, _ in subjects],
        "classes": [class_id for _, class_id in subjects],
    }
    await connection.execute(_TOUCH, facts)


async def take_changed(
    connection: Connection, project_id: ProjectId, *, limit: int
) -> list[SubjectKey]:
    """Remove up to `limit` changed subjects from the queue and return them."""
    parameters = {"project_id": project_id, "limit": limit}
    return await fetch(connection, _TAKE, parameters, into=SubjectKey)


async def load_subjects(
    connection: Connection, project_id: ProjectId, keys: Iterable[SubjectKey]
) -> dict[SubjectKey, LinkSubject]:
    """Return what each class says of each entity; those that a class no longer mentions are missing."""
    parameters = _subject_parameters(project_id, keys)
    return dict(await fetch(connection, _SUBJECTS, parameters, into=_subject))


async def read_subjects(
    database: Database, project_id: ProjectId, keys: Iterable[SubjectKey]
) -> dict[SubjectKey, LinkSubject]:
    """Return what each class says of each entity, outside a transaction; the keys are what a reader may see."""
    parameters = _subject_parameters(project_id, keys)
    return dict(await database.rows(_SUBJECTS, parameters, into=_subject))


async def store_keys(
    connection: Connection,
    project_id: ProjectId,
    taken: Sequence[SubjectKey],
    keys: Mapping[SubjectKey, frozenset[LinkKey]],
) -> None:
    """Replace the keys of these subjects."""
    await connection.execute(_DELETE_KEYS, _arrays(taken))
    rows = [
        (subject, key) for subject, subject_keys in keys.items() for key in sorted(subject_keys)
    ]
    await connection.execute(
        _STORE_KEYS,
        {
            "project_id": project_id,
            "key_entities": [subject.entity_id for subject, _ in rows],
            "key_classes": [subject.class_id for subject, _ in rows],
            "kinds": [key.kind for _, key in rows],
            "values": [key.value for _, key in rows],
        },
    )


async def find_candidates(
    connection: Connection, project_id: ProjectId, keys: Mapping[SubjectKey, frozenset[LinkKey]]
) -> list[tuple[SubjectKey, SubjectKey]]:
    """Return each subject with the others that share one of its keys."""
    rows = [
        (subject, key, wanted)
        for subject, subject_keys in keys.items()
        for key, wanted in matching_keys(subject_keys)
    ]
    parameters: dict[str, object] = {
        "project_id": project_id,
        "max_block": MAX_BLOCK,
        "key_entities": [subject.entity_id for subject, _, _ in rows],
        "key_classes": [subject.class_id for subject, _, _ in rows],
        "kinds": [key.kind for _, key, _ in rows],
        "values": [key.value for _, key, _ in rows],
        "wanted": [wanted for _, _, wanted in rows],
    }
    return [
        (SubjectKey(entity, class_id), SubjectKey(other, other_class))
        for entity, class_id, other, other_class in await fetch(connection, _CANDIDATES, parameters)
    ]


async def replace_proposals(
    connection: Connection,
    project_id: ProjectId,
    taken: Sequence[SubjectKey],
    links: Sequence[ClassPairLink],
) -> None:
    """Store these proposals, and withdraw those of the taken subjects that are not among them; decisions stay."""
    scored = [pair.link for pair in links]
    facts: dict[str, object] = {
        "project_id": project_id,
        "certain": CERTAIN,
        "weak_days": WEAK_DAYS,
        "sources": [link.source.id for link in scored],
        "targets": [link.target.id for link in scored],
        "types": [link.type.value for link in scored],
        "source_classes": [pair.source_class for pair in links],
        "target_classes": [pair.target_class for pair in links],
        "directional": [link.type not in SYMMETRIC for link in scored],
        "confidences": [link.confidence for link in scored],
        # Points by the name of the evidence, and no word of what is compared.
        "evidence": [
            Jsonb(
                {
                    "prior": link.prior,
                    "points": {evidence.name: evidence.points for evidence in link.evidence},
                }
            )
            for link in scored
        ],
        "rules": [evidence_pattern(link.evidence) for link in scored],
        **_arrays(taken),
    }
    for statement in (_WITHDRAW_SOURCES, _WITHDRAW_TARGETS, _STORE):
        await connection.execute(statement, facts)


def _arrays(subjects: Sequence[SubjectKey]) -> dict[str, object]:
    return {
        "entities": [subject.entity_id for subject in subjects],
        "classes": [subject.class_id for subject in subjects],
    }


def _subject_parameters(project_id: ProjectId, keys: Iterable[SubjectKey]) -> dict[str, object]:
    return {
        "project_id": project_id,
        "companies": sorted(COMPANY_KINDS),
        "projects": sorted(PROJECT_KINDS),
        "most": _MAX_CHUNKS,
        "most_companies": _MAX_COMPANIES,
        **_arrays(sorted(set(keys))),
    }


def _subject(
    *,
    id: EntityId,
    class_id: ClassId,
    attributes: Mapping[str, object],
    texts: Sequence[str],
    **columns: Any,
) -> tuple[SubjectKey, LinkSubject]:
    subject = make(
        LinkSubject,
        id=id,
        attributes={field: str(value) for field, value in attributes.items()},
        said_identifiers=frozenset(word for text in texts for word in find_identifiers(text)),
        said_urls=frozenset(url for text in texts for url in find_urls(text)),
        **columns,
    )
    return SubjectKey(id, class_id), subject
